/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that nvcc built, with the simulated runtime linked in every way that nvcc has, must run
 * on the simulated driver: same output, launches with mangled names in cuLaunchKernel, exact
 * copies. SIMTEST_PROGRAMS is the folder of the programs.
 */
#include "simtest_child.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char expected[] = "properties cudaSuccess\n"
			       "name NVIDIA A100-SXM4-80GB\n"
			       "stream cudaSuccess\n"
			       "malloc cudaSuccess\n"
			       "launch cudaSuccess\n"
			       "launch-ex cudaSuccess\n"
			       "launch-by-address cudaSuccess\n"
			       "synchronize cudaSuccess\n"
			       "elapsed cudaSuccess\n"
			       "time positive\n"
			       "attributes cudaSuccess\n"
			       "occupancy cudaSuccess\n"
			       "blocks some\n"
			       "copies exact\n"
			       "symbols exact\n"
			       "too-large-block cudaErrorInvalidConfiguration\n"
			       "error-is-gone cudaSuccess\n"
			       "unknown-kernel cudaErrorInvalidDeviceFunction\n"
			       "free cudaSuccess\n"
			       "stream-destroy cudaSuccess\n";

static void run_program(const char *name)
{
	char path[1024], output[4096];
	const char *const settings[] = {"LD_LIBRARY_PATH=" SIMTEST_LIBRARIES, NULL};

	snprintf(path, sizeof(path), "%s/%s", SIMTEST_PROGRAMS, name);
	assert_int_equal(simtest_child_exec(path, settings, output, sizeof(output)), 0);
	assert_string_equal(output, expected);
}

static void check_launch(const struct simtest_log *log, const char *function, size_t n,
			 const char *name, const char *grid, const char *block)
{
	const struct simtest_line *line = simtest_log_find(log, "call", function, n);

	assert_non_null(line);
	assert_string_equal(simtest_log_value(line, "name"), name);
	assert_string_equal(simtest_log_value(line, "grid"), grid);
	assert_string_equal(simtest_log_value(line, "block"), block);
}

static void check_launches(const char *suffix)
{
	struct simtest_log *log = simtest_log_read();
	char launch[64], launch_ex[64];

	snprintf(launch, sizeof(launch), "cuLaunchKernel%s", suffix);
	snprintf(launch_ex, sizeof(launch_ex), "cuLaunchKernelEx%s", suffix);
	check_launch(log, launch, 0, "_Z7add_onePfi", "4,2,1", "256,1,1");
	assert_string_equal(simtest_log_value(simtest_log_find(log, "call", launch, 0), "shared"),
			    "512");
	check_launch(log, launch, 1, "_Z5scaleIdEvPT_S0_", "7,1,1", "32,1,1");
	check_launch(log, launch, 2, "_Z7add_onePfi", "5,1,1", "128,1,1");
	check_launch(log, launch_ex, 0, "_Z7add_onePfi", "3,1,1", "64,1,1");
	assert_int_equal(simtest_log_count(log, "call", launch), 3);
	assert_int_equal(simtest_log_count(log, "call", launch_ex), 1);
	simtest_log_free(log);
}

static void shared_runtime_runs_nvcc_program(void **state)
{
	(void)state;
	run_program("simrt_program-shared");
	check_launches("");
}

static void static_runtime_runs_nvcc_program(void **state)
{
	(void)state;
	run_program("simrt_program-static");
	check_launches("");
}

static void runtime_linked_by_hand_runs_nvcc_program(void **state)
{
	(void)state;
	run_program("simrt_program-none");
	check_launches("");
}

static void relocatable_device_code_runs(void **state)
{
	(void)state;
	run_program("simrt_program-rdc");
	check_launches("");
}

static void per_thread_streams_reach_the_ptsz_functions(void **state)
{
	struct simtest_log *log;

	(void)state;
	run_program("simrt_program-ptds");
	check_launches("_ptsz");
	log = simtest_log_read();
	assert_true(simtest_log_count(log, "call", "cuMemcpyHtoD_v2_ptds") > 0);
	assert_int_equal(simtest_log_count(log, "call", "cuMemcpyHtoD_v2"), 0);
	simtest_log_free(log);
}

static void runtime_log_names_launch_and_copy(void **state)
{
	struct simtest_log *log;
	const struct simtest_line *line;

	(void)state;
	run_program("simrt_program-shared");
	log = simtest_log_read();
	line = simtest_log_find(log, "rt", "__cudaLaunchKernel", 0);
	assert_string_equal(simtest_log_value(line, "name"), "_Z7add_onePfi");
	assert_string_equal(simtest_log_value(line, "grid"), "4,2,1");
	line = simtest_log_find(log, "rt", "cudaMemcpy", 0);
	assert_string_equal(simtest_log_value(line, "bytes"), "1048576");
	assert_string_equal(simtest_log_value(line, "direction"), "h2d");
	/* cudaMemcpyDefault: device to pinned host. */
	line = simtest_log_find(log, "rt", "cudaMemcpyAsync", 1);
	assert_string_equal(simtest_log_value(line, "direction"), "d2h");
	simtest_log_free(log);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_runtime_runs_nvcc_program),
		cmocka_unit_test(static_runtime_runs_nvcc_program),
		cmocka_unit_test(runtime_linked_by_hand_runs_nvcc_program),
		cmocka_unit_test(relocatable_device_code_runs),
		cmocka_unit_test(per_thread_streams_reach_the_ptsz_functions),
		cmocka_unit_test(runtime_log_names_launch_and_copy),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
