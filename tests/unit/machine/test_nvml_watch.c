/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver's library that hangs, dies or refuses costs numbers, never the owner's time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nvml_watch.h"

static struct nvml_state state;

static void wait_ms(int ms)
{
	const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

/* Waits up to five seconds for an answer; whether there was one. */
static bool start(struct nvml_watch *watch, const char *mode, const char *library)
{
	const char *reason = NULL;

	setenv("ODD_NVML", mode, 1);
	memset(&state, 0, sizeof(state));
	assert_true(nvml_watch_start(watch, library, 0, &reason));
	for (int tries = 0; tries < 500; tries++) {
		if (nvml_watch_take(watch, &state))
			return true;
		if (!nvml_watch_is_alive(watch))
			return nvml_watch_take(watch, &state);
		if (strcmp(mode, "hang") == 0 && tries == 20)
			return false;
		wait_ms(10);
	}
	return false;
}

static const char *odd(void)
{
	const char *library = getenv("GPUTRACE_TEST_NVML");

	if (!library)
		skip();
	return library;
}

static void functions_that_are_missing_or_fail_leave_numbers_unknown(void **unused)
{
	struct nvml_watch watch;

	(void)unused;
	assert_true(start(&watch, "", odd()));
	assert_string_equal(state.reason, "");
	assert_int_equal(state.gpu_count, 1);
	assert_true(nvml_has(&state.gpus[0], NVML_temperature_c));
	assert_int_equal(state.gpus[0].values[NVML_temperature_c], 40);
	assert_false(nvml_has(&state.gpus[0], NVML_power_mw));
	assert_false(nvml_has(&state.gpus[0], NVML_sm_clock_mhz));
	assert_false(nvml_has(&state.gpus[0], NVML_other_processes));
	assert_true(strlen(state.gpus[0].name) < sizeof(state.gpus[0].name));
	nvml_watch_stop(&watch);
}

static void a_state_is_given_once(void **unused)
{
	struct nvml_watch watch;

	(void)unused;
	assert_true(start(&watch, "", odd()));
	assert_false(nvml_watch_take(&watch, &state));
	nvml_watch_stop(&watch);
}

static void a_library_that_hangs_costs_no_time(void **unused)
{
	struct nvml_watch watch;
	struct timespec begin, end;

	(void)unused;
	assert_false(start(&watch, "hang", odd()));
	assert_true(nvml_watch_is_alive(&watch));
	clock_gettime(CLOCK_MONOTONIC, &begin);
	nvml_watch_stop(&watch);
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true(end.tv_sec - begin.tv_sec <= 1);
}

static void a_library_that_dies_takes_nobody_with_it(void **unused)
{
	struct nvml_watch watch;

	(void)unused;
	assert_false(start(&watch, "die", odd()));
	assert_false(nvml_watch_is_alive(&watch));
	nvml_watch_stop(&watch);
}

static void a_refusal_is_passed_on_with_its_reason(void **unused)
{
	struct nvml_watch watch;

	(void)unused;
	assert_true(start(&watch, "refuse", odd()));
	assert_non_null(strstr(state.reason, "Driver Not Loaded (9)"));
	assert_int_equal(state.gpu_count, 0);
	nvml_watch_stop(&watch);
}

static void a_library_that_is_not_there_is_a_reason(void **unused)
{
	struct nvml_watch watch;

	(void)unused;
	assert_true(start(&watch, "", "/nonexistent/libnvidia-ml.so.1"));
	assert_non_null(strstr(state.reason, "could not be loaded"));
	nvml_watch_stop(&watch);
}

static void more_gpus_than_fit_are_cut(void **unused)
{
	struct nvml_watch watch;

	(void)unused;
	assert_true(start(&watch, "many", odd()));
	assert_int_equal(state.gpu_count, NVML_MAX_GPUS);
	nvml_watch_stop(&watch);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_that_are_missing_or_fail_leave_numbers_unknown),
		cmocka_unit_test(a_state_is_given_once),
		cmocka_unit_test(a_library_that_hangs_costs_no_time),
		cmocka_unit_test(a_library_that_dies_takes_nobody_with_it),
		cmocka_unit_test(a_refusal_is_passed_on_with_its_reason),
		cmocka_unit_test(a_library_that_is_not_there_is_a_reason),
		cmocka_unit_test(more_gpus_than_fit_are_cut),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
