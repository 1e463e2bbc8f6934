/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens around every exported driver function: correlation id, tool callbacks, faults, the
 * lock, the wait at the end, and the log line. Also the thread's state and what fork and exit do.
 */
#include "sim_api.h"
#include "sim_capture.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct sim_state sim_state;
const char gputrace_simulated_cuda[] =
	"This is the simulated CUDA driver of gputrace's tests; there is no GPU behind it.";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint last_correlation;
static pthread_key_t thread_key;
static __thread struct sim_thread *this_thread;

void sim_lock(void)
{
	pthread_mutex_lock(&lock);
}

void sim_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void sim_lock_wait(pthread_cond_t *condition, uint64_t deadline_ns)
{
	struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000U),
				 .tv_nsec = (long)(deadline_ns % 1000000000U)};

	if (deadline_ns > 0)
		pthread_cond_timedwait(condition, &lock, &until);
	else
		pthread_cond_wait(condition, &lock);
}

static void free_thread(void *data)
{
	struct sim_thread *thread = data;

	free(thread->log_fields);
	free(thread->live_lines);
	free(thread);
	this_thread = NULL;
}

/* A forked child has no worker thread and, like a real one, no usable driver. */
static void after_fork_in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	if (this_thread)
		this_thread->tid = 0;
	if (sim_state.is_initialised) {
		sim_state.is_forked = true;
		sim_state.has_log = false;
	}
	sim_worker_reset_after_fork();
	sim_meeting_reset_after_fork();
	sim_activity_reset_after_fork();
	sim_log_reset_after_fork();
}

__attribute__((constructor)) static void prepare_process(void)
{
	pthread_key_create(&thread_key, free_thread);
	pthread_atfork(NULL, NULL, after_fork_in_child);
}

__attribute__((destructor)) static void finish_process(void)
{
	if (!sim_state.is_forked && sim_state.has_log)
		sim_activity_deliver(false);
	if (!sim_state.is_forked && sim_link_is_described())
		sim_link_rest(sim_clock_now_ns(), true);
	sim_state.is_exiting = true;
}

struct sim_thread *sim_call_thread(void)
{
	if (!this_thread) {
		this_thread = calloc(1, sizeof(*this_thread));
		if (!this_thread)
			abort();
		pthread_setspecific(thread_key, this_thread);
	}
	if (this_thread->tid == 0)
		this_thread->tid = (int)syscall(SYS_gettid);
	return this_thread;
}

static uint32_t next_correlation(void)
{
	return atomic_fetch_add_explicit(&last_correlation, 1, memory_order_relaxed) + 1;
}

static void tell_tool(int domain, int site, const char *function, uint32_t correlation, int result,
		      const void *arguments)
{
	const struct simcuda_tool *tool =
		atomic_load_explicit(&sim_state.tool, memory_order_acquire);

	if (tool && tool->api)
		tool->api(domain, site, function, correlation, result, arguments);
}

/* The configuration is read by the first cuInit, before anything of it can be observed. */
static void load_configuration(void)
{
	static bool is_loaded;

	if (is_loaded)
		return;
	is_loaded = true;
	sim_clock_load();
	sim_faults_load();
	sim_log_open();
}

CUresult sim_call_begin(struct sim_call *call, const char *function, unsigned flags,
			bool is_per_thread, const void *arguments)
{
	struct sim_thread *thread = sim_call_thread();
	CUresult result;

	memset(call, 0, sizeof(*call));
	call->thread = thread;
	call->function = function;
	call->arguments = arguments;
	call->flags = flags;
	call->is_per_thread = is_per_thread;
	call->correlation =
		thread->runtime_depth > 0 ? thread->runtime_correlation : next_correlation();
	if (sim_state.is_exiting)
		return CUDA_ERROR_DEINITIALIZED;
	if (sim_state.is_forked)
		return CUDA_ERROR_NOT_INITIALIZED;
	tell_tool(1, 0, function, call->correlation, 0, arguments);
	if (flags & SYNC)
		call->begin_ns = sim_clock_now_ns();
	sim_lock();
	call->is_locked = true;
	if (flags & CONFIGURES)
		load_configuration();
	if ((flags & INIT) && !sim_state.is_initialised)
		return CUDA_ERROR_NOT_INITIALIZED;
	if ((flags & INIT) && thread->is_in_host_function)
		return CUDA_ERROR_NOT_PERMITTED;
	if (sim_state.has_faults) {
		result = sim_faults_next(function);
		if (result)
			return result;
	}
	if (sim_state.captures) {
		result = sim_capture_forbids(thread, function);
		if (result)
			return result;
	}
	call->context = sim_context_current(thread);
	if ((flags & CTX) != CTX || call->context)
		return CUDA_SUCCESS;
	return thread->depth > 0 && thread->contexts[thread->depth - 1]
		       ? CUDA_ERROR_CONTEXT_IS_DESTROYED
		       : CUDA_ERROR_INVALID_CONTEXT;
}

void sim_call_wait(struct sim_call *call, uint64_t ns, struct sim_after after)
{
	if (ns > call->wait_ns)
		call->wait_ns = ns;
	call->wait_after = sim_worker_join(call->wait_after, after);
}

static void wait_for(uint64_t ns, struct sim_after after, bool may_spin)
{
	if (ns > 0)
		sim_clock_wait(ns, may_spin);
	if (after.job > 0)
		sim_worker_wait(after);
}

void sim_call_wait_now(struct sim_call *call, uint64_t ns, struct sim_after after)
{
	if (sim_clock_is_over(ns) && sim_worker_is_done(after))
		return;
	sim_unlock();
	wait_for(ns, after, !call->is_waiting_without_spin);
	sim_lock();
}

static void report_sync(const struct sim_call *call)
{
	struct simcuda_activity activity = {
		.kind = 4,
		.begin_ns = call->begin_ns,
		.end_ns = sim_clock_now_ns(),
		.correlation = call->correlation,
		.device = (uint32_t)call->context->device->ordinal,
		.context = call->context->id,
		.stream = call->sync_stream,
		.sync_type = call->sync_type,
	};

	sim_lock();
	sim_activity_add(&activity);
	sim_unlock();
}

/* A pool gives back what it need not keep whenever the host has waited for the device. */
static void release_pools(struct sim_call *call)
{
	sim_lock();
	if (call->context->device && sim_pool_memory_release(call->context->device, false))
		sim_note_live(call);
	sim_unlock();
}

/* As the real driver at the end of the first cuInit: a tool comes before the application's work. */
static void load_injection(void)
{
	static atomic_flag is_loaded = ATOMIC_FLAG_INIT;
	const char *path = getenv("CUDA_INJECTION64_PATH");
	int (*initialise)(void) = NULL;
	void *library;

	if (atomic_flag_test_and_set(&is_loaded) || !path || !*path)
		return;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library)
		*(void **)&initialise = dlsym(library, "InitializeInjection");
	if (initialise)
		initialise();
}

CUresult sim_call_end(struct sim_call *call, CUresult result)
{
	if (call->is_locked) {
		sim_unlock();
		wait_for(call->wait_ns, call->wait_after, !call->is_waiting_without_spin);
		if (call->sync_type && call->context)
			release_pools(call);
		if (call->sync_type && call->context && sim_activity_is_wanted())
			report_sync(call);
		if (sim_state.has_log && (call->flags & LOG)) {
			sim_activity_deliver(false);
			sim_log_call(call, result);
		}
	}
	if ((call->flags & CONFIGURES) && result == CUDA_SUCCESS)
		load_injection();
	if (!sim_state.is_exiting && !sim_state.is_forked)
		tell_tool(1, 1, call->function, call->correlation, (int)result, call->arguments);
	return result;
}

uint32_t simcuda_runtime_enter(const char *function)
{
	struct sim_thread *thread = sim_call_thread();

	if (thread->runtime_depth++ == 0)
		thread->runtime_correlation = next_correlation();
	tell_tool(2, 0, function, thread->runtime_correlation, 0, NULL);
	return thread->runtime_correlation;
}

void simcuda_runtime_exit(const char *function, uint32_t correlation, int result)
{
	struct sim_thread *thread = sim_call_thread();

	if (thread->runtime_depth > 0)
		thread->runtime_depth--;
	tell_tool(2, 1, function, correlation, result, NULL);
}
