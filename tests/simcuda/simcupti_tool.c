/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated CUPTI's link to the simulated driver, its options from the environment, and the
 * last error of a thread.
 *
 * SIMCUDA_CUPTI_FAULT is a comma list:
 *   busy           cuptiSubscribe returns 39: another subscriber is there
 *   zero-times=K   every K-th record has start = end = 0
 *   drop=K         every K-th record is lost and counted
 *   no-KIND        enabling the kind fails; KIND is kernel, memcpy, memcpy2, memset, sync,
 *                  graph, memory, pool or a number
 *   fail=FUNCTION  each call of the function returns 27 (not supported) and does nothing;
 *                  fail=FUNCTION:RESULT another result
 *   shuffle        full buffers come back in another order: third, first, second
 *   empty-buffer   a buffer without a byte in it comes back before each real one
 *   overhead=NS    each flush tells that it took so long
 *   migrations=N   each flush finds N migrations of managed memory
 *   no-counters    managed memory cannot be watched on this GPU
 *   clock-step=NS  the clock of everything steps by NS at the eighth cuptiGetTimestamp
 *   early=N        the first N kernels have times from two seconds before their own
 *   null-buffer    the client's completion function gets a NULL buffer before each real one
 *   reorder        records lie in their buffer in reverse order
 * SIMCUDA_CUPTI_LOG names a file to which each call adds a line: process id and function.
 */
#include "simcupti_internal.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

static pthread_once_t options_once = PTHREAD_ONCE_INIT, driver_once = PTHREAD_ONCE_INIT;
static struct simcupti_options options;
static _Thread_local CUptiResult last_error;

static struct {
	void (*attach_tool)(const struct simcuda_tool *tool);
	void (*deliver)(void);
	uint64_t (*clock_ns)(void);
	CUresult (*get_context)(CUcontext *context);
	CUresult (*get_context_id)(CUcontext context, unsigned long long *id);
	CUresult (*get_device)(CUdevice *device);
	CUresult (*function_name)(const char **name, CUfunction function);
	CUresult (*kernel_name)(const char **name, CUkernel kernel);
	uint64_t (*graph_id)(const void *handle);
} driver;

static const struct {
	const char *name;
	int kind;
} kind_names[] = {
	{"kernel", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL},
	{"concurrent_kernel", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL},
	{"memcpy", CUPTI_ACTIVITY_KIND_MEMCPY},
	{"memcpy2", CUPTI_ACTIVITY_KIND_MEMCPY2},
	{"memset", CUPTI_ACTIVITY_KIND_MEMSET},
	{"sync", CUPTI_ACTIVITY_KIND_SYNCHRONIZATION},
	{"synchronization", CUPTI_ACTIVITY_KIND_SYNCHRONIZATION},
	{"runtime", CUPTI_ACTIVITY_KIND_RUNTIME},
	{"driver", CUPTI_ACTIVITY_KIND_DRIVER},
	{"graph", CUPTI_ACTIVITY_KIND_GRAPH_TRACE},
	{"memory", CUPTI_ACTIVITY_KIND_MEMORY2},
	{"pool", CUPTI_ACTIVITY_KIND_MEMORY_POOL},
};

static int parse_kind(const char *text)
{
	for (size_t i = 0; i < sizeof(kind_names) / sizeof(kind_names[0]); i++) {
		if (!strcasecmp(kind_names[i].name, text))
			return kind_names[i].kind;
	}
	return atoi(text);
}

static void parse_failing_call(const char *text)
{
	const char *result = strchr(text, ':');
	size_t length = result ? (size_t)(result - text) : strlen(text);

	snprintf(options.failing_call, sizeof(options.failing_call), "%.*s", (int)length, text);
	options.failing_result = result ? atoi(result + 1) : CUPTI_ERROR_NOT_SUPPORTED;
}

static void parse_fault(const char *fault)
{
	int kind;

	if (!strcmp(fault, "busy"))
		options.is_busy = true;
	else if (!strcmp(fault, "null-buffer"))
		options.has_null_buffer = true;
	else if (!strcmp(fault, "reorder"))
		options.is_reordering = true;
	else if (!strcmp(fault, "shuffle"))
		options.is_shuffling = true;
	else if (!strcmp(fault, "empty-buffer"))
		options.has_empty_buffer = true;
	else if (!strncmp(fault, "fail=", 5))
		parse_failing_call(fault + 5);
	else if (!strncmp(fault, "overhead=", 9))
		options.overhead_ns = strtoull(fault + 9, NULL, 10);
	else if (!strcmp(fault, "no-counters"))
		options.has_no_counters = true;
	else if (!strncmp(fault, "migrations=", 11))
		options.migrations = strtoull(fault + 11, NULL, 10);
	else if (!strncmp(fault, "clock-step=", 11))
		options.clock_step_ns = strtoll(fault + 11, NULL, 10);
	else if (!strncmp(fault, "early=", 6))
		options.early_kernels = strtoull(fault + 6, NULL, 10);
	else if (!strncmp(fault, "zero-times=", 11))
		options.zero_times_every = strtoull(fault + 11, NULL, 10);
	else if (!strncmp(fault, "drop=", 5))
		options.drop_every = strtoull(fault + 5, NULL, 10);
	else if (!strncmp(fault, "no-", 3)) {
		kind = parse_kind(fault + 3);
		if (kind > 0 && kind < SIMCUPTI_KINDS)
			options.is_failing[kind] = true;
	}
}

static void read_options(void)
{
	const char *version = getenv("SIMCUDA_CUPTI_VERSION"),
		   *faults = getenv("SIMCUDA_CUPTI_FAULT");
	char list[512], *rest = NULL;

	options.version =
		version && *version ? (uint32_t)strtoul(version, NULL, 10) : CUPTI_API_VERSION;
	options.log = getenv("SIMCUDA_CUPTI_LOG");
	if (!faults || strlen(faults) >= sizeof(list))
		return;
	memcpy(list, faults, strlen(faults) + 1);
	for (char *fault = strtok_r(list, ",", &rest); fault; fault = strtok_r(NULL, ",", &rest))
		parse_fault(fault);
}

const struct simcupti_options *simcupti_options(void)
{
	pthread_once(&options_once, read_options);
	return &options;
}

static void find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		return;
	*(void **)&driver.deliver = dlsym(library, "simcuda_deliver");
	*(void **)&driver.clock_ns = dlsym(library, "simcuda_gpu_clock_ns");
	*(void **)&driver.get_context = dlsym(library, "cuCtxGetCurrent");
	*(void **)&driver.get_context_id = dlsym(library, "cuCtxGetId");
	*(void **)&driver.get_device = dlsym(library, "cuCtxGetDevice");
	*(void **)&driver.function_name = dlsym(library, "cuFuncGetName");
	*(void **)&driver.kernel_name = dlsym(library, "cuKernelGetName");
	*(void **)&driver.graph_id = dlsym(library, "simcuda_graph_id");
	*(void **)&driver.attach_tool = dlsym(library, "simcuda_attach_tool");
	if (!driver.deliver || !driver.clock_ns || !driver.get_context || !driver.get_context_id)
		driver.attach_tool = NULL;
}

/* Calls of one thread nest: runtime in driver, and what the client's callback does in it. */
static _Thread_local struct {
	struct simcupti_frame frames[SIMCUPTI_DEPTH_MAX];
	unsigned depth;
	bool is_inside; /* a call of ours is going on, which nobody wants to hear of */
} thread;

static void api(int domain, int site, const char *function, uint32_t correlation, int result,
		const void *arguments)
{
	struct simcupti_frame *frame;

	if (thread.is_inside)
		return;
	if (site == 0) {
		if (thread.depth++ >= SIMCUPTI_DEPTH_MAX)
			return;
		frame = &thread.frames[thread.depth - 1];
		*frame =
			(struct simcupti_frame){.correlation = correlation, .arguments = arguments};
		if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
			simcupti_memory_enter(function, frame);
		if (!simcupti_callback_is_wanted() && !simcupti_activity_wants_api(domain))
			return;
		frame->cbid = simcupti_cbid_find(domain, function);
		frame->begin_ns = simcupti_now_ns();
		simcupti_callback_fire(domain, site, function, frame, result);
		return;
	}
	/* An exit without an enter belongs to a call that began before the tool was attached. */
	if (!thread.depth || thread.depth-- > SIMCUPTI_DEPTH_MAX)
		return;
	frame = &thread.frames[thread.depth];
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
		simcupti_memory_exit(function, frame, result);
	if (!frame->begin_ns)
		return;
	simcupti_callback_fire(domain, site, function, frame, result);
	simcupti_activity_take_api(domain, frame, result);
}

static const struct simcuda_tool tool = {
	.api = api, .activity = simcupti_activity_take, .graph = simcupti_callback_graph};

CUptiResult simcupti_attach(void)
{
	pthread_once(&driver_once, find_driver);
	if (!driver.attach_tool)
		return CUPTI_ERROR_NOT_INITIALIZED;
	driver.attach_tool(&tool);
	return CUPTI_SUCCESS;
}

void simcupti_detach(void)
{
	if (driver.attach_tool)
		driver.attach_tool(NULL);
}

void simcupti_deliver(void)
{
	if (driver.attach_tool)
		driver.deliver();
}

static _Atomic(unsigned) times_asked;

int64_t simcupti_step_ns(void)
{
	return times_asked >= 8 ? simcupti_options()->clock_step_ns : 0;
}

uint64_t simcupti_now_ns(void)
{
	struct timespec now;

	pthread_once(&driver_once, find_driver);
	if (driver.attach_tool)
		return driver.clock_ns() + (uint64_t)simcupti_step_ns();
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t simcupti_graph_id(const void *handle)
{
	pthread_once(&driver_once, find_driver);
	return driver.graph_id ? driver.graph_id(handle) : 0;
}

CUcontext simcupti_current_context(uint32_t *id)
{
	CUcontext context = NULL;
	unsigned long long number = 0;

	thread.is_inside = true;
	if (!driver.attach_tool || driver.get_context(&context) != CUDA_SUCCESS)
		context = NULL;
	if (context && driver.get_context_id(context, &number) != CUDA_SUCCESS)
		number = 0;
	thread.is_inside = false;
	*id = (uint32_t)number;
	return context;
}

void simcupti_set_quiet(bool is_quiet)
{
	thread.is_inside = is_quiet;
}

/* What a launch launches: the first parameter, or the second one after a configuration. */
const char *simcupti_kernel_name(const char *function, const void *arguments)
{
	const char *name = NULL;
	CUfunction launched;

	if (!arguments || strncmp(function, "cuLaunch", 8) ||
	    !strncmp(function, "cuLaunchHost", 12))
		return NULL;
	memcpy(&launched,
	       (const char *)arguments + (strstr(function, "KernelEx") ? sizeof(void *) : 0),
	       sizeof(launched));
	thread.is_inside = true;
	if (!driver.function_name || driver.function_name(&name, launched))
		name = NULL;
	if (!name && driver.kernel_name && driver.kernel_name(&name, (CUkernel)launched))
		name = NULL;
	thread.is_inside = false;
	return name;
}

/* Only of the context that is current, which is the one that callbacks name. */
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *device)
{
	SIMCUPTI_ENTER();
	uint32_t id;
	CUdevice ordinal = 0;
	CUresult result = CUDA_ERROR_INVALID_CONTEXT;

	if (!device || !context || simcupti_current_context(&id) != context)
		return simcupti_return(CUPTI_ERROR_INVALID_CONTEXT);
	thread.is_inside = true;
	if (driver.get_device)
		result = driver.get_device(&ordinal);
	thread.is_inside = false;
	*device = (uint32_t)ordinal;
	return result == CUDA_SUCCESS ? CUPTI_SUCCESS
				      : simcupti_return(CUPTI_ERROR_INVALID_CONTEXT);
}

CUptiResult simcupti_call(const char *function)
{
	const struct simcupti_options *now = simcupti_options();
	char line[96];

	if (now->log) {
		int length = snprintf(line, sizeof(line), "%d %s\n", (int)getpid(), function);
		int file = open(now->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

		if (file < 0 || write(file, line, (size_t)length) != length)
			abort(); /* a test would take the missing line for a call not made */
		close(file);
	}
	return strcmp(now->failing_call, function) != 0 ? CUPTI_SUCCESS
							: (CUptiResult)now->failing_result;
}

CUptiResult simcupti_return(CUptiResult result)
{
	if (result != CUPTI_SUCCESS)
		last_error = result;
	return result;
}

CUptiResult cuptiGetLastError(void)
{
	CUptiResult result = last_error;

	last_error = CUPTI_SUCCESS;
	return result;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
	SIMCUPTI_ENTER();
	if (!version)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	*version = simcupti_options()->version;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
	SIMCUPTI_ENTER();
	if (!timestamp)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	times_asked++;
	*timestamp = simcupti_now_ns();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
	if (!text)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	switch ((int)result) {
#define SIMCUPTI_RESULT(name)                                                                      \
	case name:                                                                                 \
		*text = #name;                                                                     \
		return CUPTI_SUCCESS;
#include "simcupti_results.inc"
#undef SIMCUPTI_RESULT
	default:
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	}
}
