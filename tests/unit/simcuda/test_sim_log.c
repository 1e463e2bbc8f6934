/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the simulated driver tells: the exact log, the tool interface, correlation, named costs.
 */
#include "sim_scenario.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>

static char path[128];

static const char *log_path(const char *name)
{
	snprintf(path, sizeof(path), "/tmp/gputrace_sim_%s_%d.log", name, (int)getpid());
	unlink(path);
	return path;
}

struct log_text {
	char bytes[1 << 20];
};

static const char *read_log(void)
{
	static struct log_text text;
	FILE *file = fopen(path, "re");
	size_t size;

	CHECK(file != NULL);
	size = fread(text.bytes, 1, sizeof(text.bytes) - 1, file);
	text.bytes[size] = '\0';
	fclose(file);
	return text.bytes;
}

/* Lines that contain all of the pieces; `first` may be NULL. */
static unsigned count_lines(const char *text, const char *kind, const char *first,
			    const char *second)
{
	unsigned count = 0;

	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		char one[5000];
		size_t length = strcspn(line, "\n");

		CHECK(length < sizeof(one) && line[length] == '\n');
		memcpy(one, line, length);
		one[length] = '\0';
		if (strncmp(one, kind, strlen(kind)) == 0 && one[strlen(kind)] == '\t' &&
		    (!first || strstr(one, first)) && (!second || strstr(one, second)))
			count++;
	}
	return count;
}

static void log_everything(void)
{
	struct simcuda_cost cost = {.fixed_ns = 2000};
	char host[256], line[256];
	CUdeviceptr first, second;
	const char *text;
	CUstream stream;

	open_device(0);
	first = device_alloc(1000);
	second = device_alloc(24);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemcpyHtoD(first, host, 256));
	OK(cuMemcpyDtoHAsync(host, first, 100, stream));
	OK(cuMemsetD32Async(first, 9, 50, stream));
	OK(cuLaunchKernel(simcuda_library_kernel("a_kernel", &cost), 2, 3, 4, 32, 2, 1, 512, stream,
			  NULL, NULL));
	CHECK_RESULT(cuMemFree(77), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFree(second));
	simcuda_log("blas", "cublasSgemm_v2", 0, "m=%d\tn=%d", 3, 4);
	OK(cuCtxSynchronize());
	text = read_log();
	snprintf(line, sizeof(line), "\tcuMemAlloc_v2\t0\tbytes=1000\taddress=0x%" PRIx64,
		 (uint64_t)first);
	CHECK(count_lines(text, "call", line, NULL) == 1);
	CHECK(count_lines(text, "live", "\t1000", NULL) == 2);
	CHECK(count_lines(text, "live", "\t1024", NULL) == 1);
	CHECK(count_lines(text, "live", NULL, NULL) == 3);
	CHECK(count_lines(text, "call", "cuMemFree_v2\t1\taddress=0x4d", NULL) == 1);
	CHECK(count_lines(text, "call", "cuMemcpyHtoD_v2\t0\t", "async=0\tdirection=h2d") == 1);
	snprintf(line, sizeof(line), "bytes=100\tstream=0x%" PRIx64 "\tasync=1\tdirection=d2h",
		 (uint64_t)(uintptr_t)stream);
	CHECK(count_lines(text, "call", "cuMemcpyDtoHAsync_v2\t0\t", line) == 1);
	snprintf(line, sizeof(line),
		 "name=a_kernel\tgrid=2,3,4\tblock=32,2,1\tshared=512\tstream=0x%" PRIx64,
		 (uint64_t)(uintptr_t)stream);
	CHECK(count_lines(text, "call", "cuLaunchKernel\t0", line) == 1);
	CHECK(count_lines(text, "blas", "cublasSgemm_v2\t0\tm=3\tn=4", NULL) == 1);
	CHECK(count_lines(text, "gpu", "\tkernel\t", "name=a_kernel") == 1);
	CHECK(count_lines(text, "gpu", "\tcopy\t", "bytes=256\tdirection=h2d") == 1);
	CHECK(count_lines(text, "gpu", "\tcopy\t", "bytes=100\tdirection=d2h") == 1);
	CHECK(count_lines(text, "gpu", "\tset\t", "bytes=200") == 1);
	CHECK(count_lines(text, "gpu", NULL, NULL) == 4);
}

static void the_log_has_every_call_and_all_gpu_work(void **state)
{
	(void)state;
	run_scenario(log_everything, "SIMCUDA_LOG", log_path("all"), NULL);
	run_scenario(log_everything, "SIMCUDA_TIME_SCALE", "0", "SIMCUDA_LOG", log_path("all"),
		     NULL);
	unlink(path);
}

static void log_and_die(void)
{
	open_device(0);
	for (int i = 0; i < 100; i++)
		device_alloc(10);
	kill(getpid(), SIGKILL);
}

static void the_log_is_complete_up_to_a_kill(void **state)
{
	const char *where = log_path("kill");
	const char *text;
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0) {
		setenv("SIMCUDA_LOG", where, 1);
		log_and_die();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	text = read_log();
	assert_int_equal(count_lines(text, "call", "cuMemAlloc_v2", NULL), 100);
	assert_int_equal(count_lines(text, "live", "\t1000", NULL), 1);
	unlink(path);
}

static void log_by_pid(void)
{
	char expected[256];

	open_device(0);
	device_alloc(10);
	snprintf(expected, sizeof(expected), "/tmp/gputrace_sim_pid_%d.x", (int)getpid());
	CHECK(access(expected, R_OK) == 0);
	unlink(expected);
}

static void the_log_name_can_hold_the_pid(void **state)
{
	(void)state;
	run_scenario(log_by_pid, "SIMCUDA_LOG", "/tmp/gputrace_sim_pid_%p.x", NULL);
}

static struct {
	struct simcuda_activity activity[16];
	char last_function[64];
	uint32_t last_correlation;
	int last_domain, last_result;
	unsigned enters, exits;
	atomic_uint activities; /* also counted by the driver's thread */
} heard;

static void hear_api(int domain, int site, const char *function, uint32_t correlation, int result,
		     const void *arguments)
{
	(void)arguments;
	snprintf(heard.last_function, sizeof(heard.last_function), "%s", function);
	heard.last_domain = domain;
	heard.last_correlation = correlation;
	heard.last_result = result;
	if (site)
		heard.exits++;
	else
		heard.enters++;
}

static void hear_activity(const struct simcuda_activity *activity)
{
	CHECK(heard.activities < 16);
	heard.activity[heard.activities++] = *activity;
}

static const struct simcuda_tool tool = {.api = hear_api, .activity = hear_activity};

static void watch(void)
{
	struct simcuda_cost cost = {.fixed_ns = 5000000};
	uint32_t runtime, inside;
	uint64_t before;
	CUdeviceptr memory;
	char *pinned;

	open_device(0);
	memory = device_alloc(1000);
	OK(cuMemAllocHost((void **)&pinned, 1000));
	simcuda_attach_tool(&tool);
	before = simcuda_gpu_clock_ns();
	CHECK_RESULT(cuMemFree(3), CUDA_ERROR_INVALID_VALUE);
	CHECK(heard.enters == 1 && heard.exits == 1 && heard.last_domain == 1);
	CHECK(strcmp(heard.last_function, "cuMemFree_v2") == 0);
	CHECK(heard.last_result == CUDA_ERROR_INVALID_VALUE);
	/* Driver calls inside a runtime call share its correlation. */
	runtime = simcuda_runtime_enter("cudaLaunchKernel");
	OK(cuLaunchKernel(simcuda_library_kernel("seen", &cost), 2, 1, 1, 64, 1, 1, 48, NULL, NULL,
			  NULL));
	inside = heard.last_correlation;
	simcuda_runtime_exit("cudaLaunchKernel", runtime, 0);
	CHECK(heard.last_domain == 2 && runtime == inside && runtime == heard.last_correlation);
	OK(cuMemcpyHtoDAsync(memory, pinned, 1000, NULL));
	CHECK(heard.last_correlation != runtime);
	OK(cuStreamSynchronize(NULL));
	simcuda_deliver();
	CHECK(heard.activities == 3);
	CHECK(heard.activity[0].kind == 1 && strcmp(heard.activity[0].name, "seen") == 0);
	CHECK(heard.activity[0].correlation == runtime && heard.activity[0].grid[0] == 2);
	CHECK(heard.activity[0].end_ns - heard.activity[0].begin_ns == 5000000);
	CHECK(heard.activity[0].begin_ns > before && heard.activity[0].shared_dynamic == 48);
	CHECK(heard.activity[1].kind == 2 && heard.activity[1].direction == 1);
	CHECK(heard.activity[1].source_kind == 2 && heard.activity[1].destination_kind == 3);
	CHECK(heard.activity[1].begin_ns >= heard.activity[0].end_ns);
	CHECK(heard.activity[2].kind == 4 && heard.activity[2].sync_type == 3);
	CHECK(heard.activity[2].end_ns >= heard.activity[1].end_ns);
	CHECK(simcuda_gpu_clock_ns() >= heard.activity[2].end_ns);
	simcuda_attach_tool(NULL);
	heard.enters = 0;
	OK(cuCtxSynchronize());
	CHECK(heard.enters == 0);
}

static void the_tool_hears_calls_and_finished_work(void **state)
{
	(void)state;
	run_scenario(watch, NULL);
}

static void wait_for_delivery(void)
{
	struct simcuda_cost cost = {.fixed_ns = 1000};
	const struct timespec pause = {.tv_nsec = 1000000};

	open_device(0);
	simcuda_attach_tool(&tool);
	OK(cuLaunchKernel(simcuda_library_kernel("seen", &cost), 1, 1, 1, 32, 1, 1, 0, NULL, NULL,
			  NULL));
	for (int i = 0; i < 5000 && atomic_load(&heard.activities) == 0; i++)
		nanosleep(&pause, NULL);
	CHECK(atomic_load(&heard.activities) == 1);
}

static void finished_work_is_delivered_without_being_asked_for(void **state)
{
	(void)state;
	run_scenario(wait_for_delivery, NULL);
}

static double modelled_us(const char *kernel, unsigned blocks)
{
	CUfunction function = simcuda_library_kernel(kernel, NULL);
	uint64_t duration;

	heard.activities = 0;
	OK(cuLaunchKernel(function, blocks, 1, 1, 1000, 1, 1, 0, NULL, NULL, NULL));
	simcuda_deliver();
	CHECK(heard.activities == 1);
	duration = heard.activity[0].end_ns - heard.activity[0].begin_ns;
	return (double)duration * 1e-3;
}

static int is_about(double value, double expected)
{
	return value > expected * 0.999 && value < expected * 1.001;
}

static void cost_kernels(void)
{
	open_device(0);
	simcuda_attach_tool(&tool);
	/* 1e6 threads; 2039 GB/s, 19.5 TFLOP/s. */
	CHECK(is_about(modelled_us("memory_bound", 1000), 50 + 1e8 / 2039e9 * 1e6));
	CHECK(is_about(modelled_us("compute_bound_kernel", 1000), 20 + 1e11 / 19.5e12 * 1e6));
	CHECK(is_about(modelled_us("fixed", 1000), 777));
	CHECK(is_about(modelled_us("unknown", 1000), 1.7 + 16e6 / 2039e9 * 1e6));
}

static void named_kernels_cost_what_the_file_says(void **state)
{
	FILE *file = fopen(log_path("costs"), "we");

	(void)state;
	assert_non_null(file);
	fputs("# name, ns, bytes and flops per thread\n"
	      "^memory_b\t50000\t100\t1\n"
	      "compute\t20000\t1\t100000\n"
	      "^fixed$\t777000\t0\t0\n",
	      file);
	fclose(file);
	run_scenario(cost_kernels, "SIMCUDA_KERNEL_COSTS", path, "SIMCUDA_TIME_SCALE", "0", NULL);
	unlink(path);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_log_has_every_call_and_all_gpu_work),
		cmocka_unit_test(the_log_is_complete_up_to_a_kill),
		cmocka_unit_test(the_log_name_can_hold_the_pid),
		cmocka_unit_test(the_tool_hears_calls_and_finished_work),
		cmocka_unit_test(finished_work_is_delivered_without_being_asked_for),
		cmocka_unit_test(named_kernels_cost_what_the_file_says),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
