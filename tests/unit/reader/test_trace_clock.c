/* SPDX-License-Identifier: Apache-2.0 */
/* Lines between clock records, and hostile ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

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

/* kineto#384: host times count from boot, GPU times from the epoch, and one record ties them. */
static void two_clock_domains_with_one_anchor_interleave(void **state)
{
	const uint64_t epoch_ns = UINT64_C(1700000000000000000);
	int64_t last_ns = -1;

	add(20000, 2000, epoch_ns);
	settle(RING_CLOCK_TSC);
	for (uint64_t i = 0; i < 100; i++) {
		int64_t launch_ns = trace_clock_ns(&timeline.host, 20000 + i * 2000);
		int64_t kernel_ns = trace_clock_ns(&timeline.gpu, epoch_ns + i * 1000 + 400);
		int64_t wait_ns = trace_clock_ns(&timeline.host, 20000 + i * 2000 + 1600);

		assert_true(last_ns < launch_ns);
		assert_true(launch_ns < kernel_ns);
		assert_true(kernel_ns < wait_ns);
		last_ns = wait_ns;
	}
	end(state);
}

/* Records every 100 ms; from the sixth on the GPU's clock has been set by step_ns, in the middle
 * between two records. Every kernel lies where it ran, to the nanosecond. */
static void check_step(int64_t step_ns)
{
	const uint64_t gpu_ns = UINT64_C(1700000000000000000), period_ns = 100000000;

	for (uint64_t i = 0; i < 11; i++) {
		uint64_t now_ns = i * period_ns;

		add(20000 + 2 * now_ns, 2000 + now_ns,
		    gpu_ns + now_ns + (i > 5 ? (uint64_t)step_ns : 0));
	}
	settle(RING_CLOCK_TSC);
	assert_int_equal(timeline.gpu_steps, 1);
	for (uint64_t ms = 0; ms < 1000; ms++) {
		uint64_t now_ns = ms * 1000000;
		uint64_t shown_ns = gpu_ns + now_ns + (ms > 550 ? (uint64_t)step_ns : 0);

		assert_int_equal(trace_clock_ns(&timeline.gpu, shown_ns),
				 trace_clock_ns(&timeline.host, 20000 + 2 * now_ns));
	}
	assert_int_equal(timeline.last_gpu_ns, gpu_ns + 1000000000 + (uint64_t)step_ns);
}

static void a_gpu_clock_that_is_set_forwards_is_followed(void **state)
{
	(void)state;
	check_step(3000000000);
}

static void a_gpu_clock_that_is_set_back_is_followed(void **state)
{
	check_step(-3000000000);
	end(state);
}

/* Half a second was shown twice: order is kept, and nothing lies outside of the recording. */
static void times_that_a_clock_showed_twice_are_later_ones(void **state)
{
	const uint64_t gpu_ns = UINT64_C(1700000000000000000);

	(void)state;
	for (uint64_t i = 0; i < 20; i++)
		add(20000 + i * 200000000, 2000 + i * 100000000,
		    gpu_ns + i * 100000000 - (i > 9 ? 500000000 : 0));
	settle(RING_CLOCK_TSC);
	assert_int_equal(timeline.gpu_steps, 1);
	assert_int_equal(trace_clock_ns(&timeline.gpu, gpu_ns + 300000000),
			 trace_clock_ns(&timeline.host, 20000 + 3 * 200000000));
	assert_int_equal(trace_clock_ns(&timeline.gpu, gpu_ns + 700000000),
			 trace_clock_ns(&timeline.host, 20000 + UINT64_C(12) * 200000000));
}

/* The simulated GPU's clock may run ten times as fast: that is a rate, and no step. */
static void a_clock_of_another_rate_has_no_steps(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 20; i++)
		add(20000 + i * 200000000, 2000 + i * 100000000, 1000 + i * 1000000000);
	settle(RING_CLOCK_TSC);
	assert_int_equal(timeline.gpu_steps, 0);
	assert_int_equal(trace_clock_ns(&timeline.gpu, 1000 + UINT64_C(5500000000)),
			 trace_clock_ns(&timeline.host, 20000 + UINT64_C(1100000000)));
}

static void a_clock_that_is_set_all_the_time_is_bounded(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		add(20000 + i * 200000000, 2000 + i * 100000000,
		    UINT64_C(1) << 60 >> (i % 2 ? 0 : 1));
	settle(RING_CLOCK_TSC);
	assert_true(timeline.gpu.part_count <= 64);
	trace_clock_ns(&timeline.gpu, UINT64_C(1) << 59);
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

/* Whoever keeps a stretch gets what asking for each time gives. */
static void a_stretch_holds_for_its_times(void **state)
{
	uint64_t random = 88172645463325252ull;

	(void)state;
	for (uint64_t i = 0; i < 20; i++)
		add(20000 + i * 199000123, 2000 + i * 100000000,
		    5000000 + i * 100001000 + (i > 9 ? 3000000000 : 0));
	settle(RING_CLOCK_TSC);
	assert_int_equal(timeline.gpu_steps, 1);
	for (int gpu = 0; gpu < 2; gpu++) {
		const struct clock_line *line = gpu ? &timeline.gpu : &timeline.host;
		struct clock_stretch stretch = trace_clock_stretch(line, 0);
		unsigned int kept = 0;

		for (unsigned int i = 0; i < 20000; i++) {
			uint64_t time = (random = random * 6364136223846793005ull + 1) >> 31;

			kept += clock_stretch_holds(&stretch, time);
			if (!clock_stretch_holds(&stretch, time))
				stretch = trace_clock_stretch(line, time);
			assert_true(clock_stretch_holds(&stretch, time));
			assert_int_equal(clock_stretch_ns(&stretch, time),
					 trace_clock_ns(line, time));
		}
		/* Where a clock was set the nearest line is looked for each time. */
		assert_true(gpu ? kept < 10 : kept > 1000);
	}
}

static void halves_are_rounded_as_llround_does(void **state)
{
	static const double values[] = {0,    0.5,  -0.5, 0.49999999999999994, -0.49999999999999994,
					1.5,  2.5,  -2.5, 4503599627370495.5,  4503599627370497.0,
					1e17, -1e17};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_int_equal(clock_stretch_round(values[i]), llround(values[i]));
	for (int i = -100000; i < 100000; i++)
		assert_int_equal(clock_stretch_round(i * 0.125), llround(i * 0.125));
	assert_int_equal(clock_stretch_round(1e300), INT64_MAX);
	assert_int_equal(clock_stretch_round(-1e300), INT64_MIN);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(ticks_follow_the_line_between_two_records),
		TEST(one_record_and_the_nominal_rate_are_enough),
		TEST(gpu_times_are_tied_through_ticks),
		TEST(an_import_counts_from_its_record),
		TEST(records_that_run_backwards_are_left_out),
		cmocka_unit_test(two_clock_domains_with_one_anchor_interleave),
		TEST(a_gpu_clock_that_is_set_forwards_is_followed),
		cmocka_unit_test(a_gpu_clock_that_is_set_back_is_followed),
		TEST(times_that_a_clock_showed_twice_are_later_ones),
		TEST(a_clock_of_another_rate_has_no_steps),
		TEST(a_clock_that_is_set_all_the_time_is_bounded),
		TEST(extreme_times_do_not_overflow),
		TEST(without_records_ticks_have_the_nominal_rate),
		TEST(without_records_ticks_count_from_the_start_of_the_session),
		cmocka_unit_test_teardown(a_stretch_holds_for_its_times, end),
		cmocka_unit_test(halves_are_rounded_as_llround_does),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
