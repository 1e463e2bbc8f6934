/* SPDX-License-Identifier: Apache-2.0 */
/* Lines between clock records, and hostile ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "ring.h"
#include "trace_clock.h"

#define START_REALTIME 1700000000000000000ull

static struct trace_clock timeline;
static uint64_t start_ticks;

static void add(uint64_t ticks, uint64_t monotonic_ns, uint64_t gpu_ns)
{
	const struct record_clock record = {
		.ticks = ticks,
		.monotonic_ns = monotonic_ns,
		.realtime_ns = monotonic_ns ? START_REALTIME + monotonic_ns - 1000 : 0,
		.gpu_ns = gpu_ns,
	};

	assert_int_equal(trace_clock_add(&timeline, &record), 0);
}

static void settle(uint32_t kind)
{
	assert_int_equal(trace_clock_settle(&timeline, kind, START_REALTIME, start_ticks, 2e9), 0);
}

static int end(void **state)
{
	(void)state;
	trace_clock_fini(&timeline);
	start_ticks = 0;
	return 0;
}

static void ticks_follow_the_line_between_two_records(void **state)
{
	(void)state;
	add(20000, 2000, 0);
	add(30000, 12000, 0); /* one tick per ns from here */
	add(50000, 22000, 0); /* two ticks per ns up to here */
	settle(RING_CLOCK_TSC);
	assert_int_equal(trace_clock_ns(&timeline.host, 20000), 1000);
	assert_int_equal(trace_clock_ns(&timeline.host, 25000), 6000);
	assert_int_equal(trace_clock_ns(&timeline.host, 40000), 16000);
	assert_int_equal(trace_clock_ns(&timeline.host, 60000), 26000); /* the last line goes on */
	assert_int_equal(trace_clock_ns(&timeline.host, 19000), 0);
	assert_int_equal(trace_clock_ns(&timeline.host, 18000), -1000);
}

static void one_record_and_the_nominal_rate_are_enough(void **state)
{
	(void)state;
	add(20000, 2000, 0);
	settle(RING_CLOCK_TSC);
	assert_int_equal(trace_clock_ns(&timeline.host, 20000), 1000);
	assert_int_equal(trace_clock_ns(&timeline.host, 24000), 3000);
}

static void gpu_times_are_tied_through_ticks(void **state)
{
	(void)state;
	add(20000, 2000, 0);
	add(40000, 12000, 0);
	add(24000, 0, 7000000); /* of the shim's flush thread: only ticks and GPU */
	add(36000, 0, 7006000);
	settle(RING_CLOCK_TSC);
	assert_int_equal(trace_clock_ns(&timeline.gpu, 7000000), 3000);
	assert_int_equal(trace_clock_ns(&timeline.gpu, 7003000), 6000);
	assert_int_equal(timeline.last_gpu_ns, 7006000);
}

static void an_import_counts_from_its_record(void **state)
{
	(void)state;
	add(5000, 0, 0);
	settle(0);
	assert_int_equal(trace_clock_ns(&timeline.host, 5000), 0);
	assert_int_equal(trace_clock_ns(&timeline.host, 4000), -1000);
	assert_int_equal(trace_clock_ns(&timeline.gpu, 7000), 2000);
}

static void records_that_run_backwards_are_left_out(void **state)
{
	(void)state;
	add(20000, 2000, 0);
	add(30000, 1000, 0);
	add(30000, 1000, 0);
	add(40000, 12000, 0);
	settle(RING_CLOCK_TSC);
	assert_int_equal(timeline.host.count, 2);
	assert_int_equal(trace_clock_ns(&timeline.host, 30000), 6000);
}

static void extreme_times_do_not_overflow(void **state)
{
	(void)state;
	add(1, 1, 1);
	add(2, UINT64_MAX / 2, 2);
	add(UINT64_MAX, UINT64_MAX - 1, UINT64_MAX);
	settle(RING_CLOCK_TSC);
	trace_clock_ns(&timeline.host, UINT64_MAX);
	trace_clock_ns(&timeline.host, 0);
	trace_clock_ns(&timeline.gpu, UINT64_MAX);
	assert_true(timeline.host.count >= 1);
}

static void without_records_ticks_have_the_nominal_rate(void **state)
{
	(void)state;
	settle(RING_CLOCK_TSC);
	assert_int_equal(trace_clock_ns(&timeline.host, 2000), 1000);
}

/* A collector that was killed before its first clock record was on disk. */
static void without_records_ticks_count_from_the_start_of_the_session(void **state)
{
	(void)state;
	start_ticks = 1000000;
	settle(RING_CLOCK_TSC);
	assert_int_equal(trace_clock_ns(&timeline.host, 1002000), 1000);
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(ticks_follow_the_line_between_two_records),
		TEST(one_record_and_the_nominal_rate_are_enough),
		TEST(gpu_times_are_tied_through_ticks),
		TEST(an_import_counts_from_its_record),
		TEST(records_that_run_backwards_are_left_out),
		TEST(extreme_times_do_not_overflow),
		TEST(without_records_ticks_have_the_nominal_rate),
		TEST(without_records_ticks_count_from_the_start_of_the_session),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
