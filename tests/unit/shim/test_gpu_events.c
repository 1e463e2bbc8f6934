/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of events on a driver that only keeps times: what is measured, what is not and why, and
 * that no event is touched whose context is gone.
 */
#include "../../../shim/gpu_events.h"

#include <pthread.h>
#include <string.h>

#include "event_bench.h"

static void begin_call(struct call *call, struct thread *thread, uint16_t flags)
{
	memset(call, 0, sizeof(*call));
	call->thread = thread_now = thread;
	call->flags = flags;
}

static void end_call(struct call *call, const void *stream, int status)
{
	call->status = status;
	call->correlation = call->thread->correlation;
	call->thread->correlation = 0;
	gpu_events_after(call, stream);
}

static void copy_with(struct thread *thread, const void *stream, uint16_t flags, uint64_t took_ns,
		      int status)
{
	struct call call;
	begin_call(&call, thread, flags);
	gpu_events_before(&call, GPU_EVENTS_COPY, stream);
	uint64_t now_ns = ticks_monotonic();
	if (took_ns)
		bench_busy_until_ns =
			(now_ns > bench_busy_until_ns ? now_ns : bench_busy_until_ns) + took_ns;
	end_call(&call, stream, status);
	struct record_copy copy = {.call = {.correlation = call.correlation, .flags = flags},
				   .size_bytes = 4096,
				   .direction = COPY_H2D};
	gpu_events_told_copy(thread, &copy);
}

static void copy(uint64_t took_ns)
{
	copy_with(&bench_own, &bench_contexts[0], CALL_ASYNC, took_ns, 0);
}

static void launch(void)
{
	struct call call;
	begin_call(&call, &bench_own, 0);
	gpu_events_before(&call, GPU_EVENTS_LAUNCH, NULL);
	end_call(&call, NULL, 0);
	struct record_launch launch = {.call = {.correlation = call.correlation}, .kernel = 99};
	gpu_events_told_launch(&bench_own, &launch);
	bench_own.last_ticks = ticks_monotonic();
}

static void collect(void)
{
	struct thread *before = thread_now;
	const void *was_current = bench_current;
	thread_now = &bench_reader;
	event_reader_collect(&bench_reader);
	thread_now = before;
	bench_current = was_current;
}

static uint64_t counted(enum event_count what)
{
	return atomic_load(&event_counts[what]);
}

static void wait_until_idle(void)
{
	while (ticks_monotonic() <= bench_busy_until_ns)
		;
}

static void a_copy_is_written_with_the_time_between_its_events(void **state)
{
	(void)state;
	copy(30000000); /* the stream is busy from here on, also on a busy machine */
	copy(2000000);
	collect();
	assert_int_equal(bench_written_count, 0); /* neither is over */
	wait_until_idle();
	collect();
	assert_int_equal(bench_written_count, 2);
	const struct record_gpu_copy *second = &bench_written[1].copy;
	uint64_t took_ns = second->gpu.end_ns - second->gpu.begin_ns;
	assert_in_range(took_ns, 2000000 - 2, 2000000 + 2);
	assert_int_equal(second->gpu.head.kind, RECORD_KIND_gpu_copy);
	assert_int_equal(second->size_bytes, 4096);
	assert_int_equal(second->direction, COPY_H2D);
	assert_int_equal(second->is_async, 1);
	assert_true(bench_written[0].gpu.correlation != second->gpu.correlation);
	/* On the host's clock, up to the width of the anchor. */
	uint64_t doubt_ns = event_reader_doubt_ns() + 200;
	assert_in_range(second->gpu.end_ns, bench_busy_until_ns - doubt_ns,
			bench_busy_until_ns + doubt_ns);
	assert_int_equal(counted(EVENT_COUNT_COPIES), 2);
}

static void launches_are_sampled_but_those_of_collectives_are_not(void **state)
{
	(void)state;
	bench_own.last_ticks = ticks_monotonic();
	for (int i = 0; i < 20; i++)
		launch();
	collect();
	/* 5000 a second of one thread: one in 200 us. */
	assert_in_range(bench_written_count, 1, 19);
	uint32_t before = bench_written_count;
	bench_own.in_collective = 1;
	for (int i = 0; i < 20; i++)
		launch();
	collect();
	assert_int_equal(bench_written_count, before + 20);
	assert_int_equal(bench_written[before].kernel.kernel, 99);
	assert_int_equal(counted(EVENT_COUNT_LAUNCHES), before + 20);
}

static void the_driver_is_not_called_while_a_capture_is_open_or_at_exit(void **state)
{
	(void)state;
	atomic_store(&streams_open_captures, 1);
	copy(0);
	launch();
	atomic_store(&streams_open_captures, 0);
	bench_is_exiting = true;
	copy(0);
	assert_int_equal(bench_driver_calls, 0);
	assert_int_equal(counted(EVENT_COUNT_CAPTURE), 3);
}

static void a_capture_that_began_inside_the_call_gets_no_event(void **state)
{
	struct call call;
	(void)state;
	begin_call(&call, &bench_own, 0);
	gpu_events_before(&call, GPU_EVENTS_COPY, NULL);
	atomic_store(&streams_open_captures, 1);
	uint32_t before = bench_driver_calls;
	end_call(&call, NULL, 0);
	assert_int_equal(bench_driver_calls, before);
	assert_int_equal(bench_own.event_pair, 0);
	assert_int_equal(counted(EVENT_COUNT_CAPTURE), 1);
}

static void a_call_that_fails_is_not_measured_and_its_events_are_used_again(void **state)
{
	(void)state;
	for (int i = 0; i < 5 * (int)EVENT_PAIRS; i++)
		copy_with(&bench_own, NULL, 0, 0, 1);
	collect();
	assert_int_equal(bench_written_count, 0);
	assert_true(bench_events_made <= 2 * EVENT_PAIRS);
	assert_int_equal(counted(EVENT_COUNT_FULL), 0);
}

static void a_full_pool_counts_and_serves_again_when_it_was_read(void **state)
{
	(void)state;
	bench_busy_until_ns = ticks_monotonic() + 400000000;
	for (uint32_t i = 0; i < EVENT_PAIRS + 100; i++)
		copy(0);
	assert_int_equal(counted(EVENT_COUNT_FULL), 100);
	wait_until_idle();
	collect();
	assert_int_equal(bench_written_count, EVENT_PAIRS);
	uint32_t made = bench_events_made;
	for (uint32_t i = 0; i < EVENT_PAIRS; i++)
		copy(0);
	collect();
	assert_int_equal(bench_written_count, 2 * EVENT_PAIRS);
	assert_int_equal(bench_events_made, made);
}

static void contexts_have_pools_of_their_own_and_a_ninth_is_counted(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i <= EVENT_CONTEXTS; i++) {
			bench_current = &bench_contexts[1 + i];
			copy(0);
		}
		collect();
	}
	assert_int_equal(bench_written_count, 3 * EVENT_CONTEXTS);
	assert_int_equal(counted(EVENT_COUNT_FULL), 3);
	assert_int_equal(bench_events_made, EVENT_CONTEXTS * (2 * 3 + 1));
}

static void nothing_of_a_context_that_went_is_touched(void **state)
{
	struct call call;
	(void)state;
	bench_busy_until_ns = ticks_monotonic() + 1000000000;
	copy(0);
	copy(0);
	begin_call(&call, &bench_own, 0);
	gpu_events_before(&call, GPU_EVENTS_COPY, NULL);
	event_bench_context_goes(&bench_contexts[1]);
	/* event_at() fails the test where an event that is gone is used. */
	end_call(&call, NULL, 0);
	bench_busy_until_ns = 0;
	collect();
	assert_int_equal(bench_written_count, 0);
	assert_int_equal(counted(EVENT_COUNT_GONE), 3);
	/* Another context, perhaps at the same address, begins with events of its bench_own. */
	for (uint32_t i = 0; i < 2 * EVENT_PAIRS; i++) {
		copy(0);
		if (i % 500 == 499)
			collect();
	}
	collect();
	assert_int_equal(bench_written_count, 2 * EVENT_PAIRS);
	for (uint32_t i = 0; i < EVENT_PAIRS; i++)
		assert_int_equal(event_pools[0].pairs[i].state, PAIR_FREE);
}

static void a_primary_context_that_others_hold_keeps_its_events(void **state)
{
	struct call call;
	(void)state;
	gpu_events_learn_primary(&bench_contexts[1], 0);
	copy(0);
	collect();
	uint32_t made = bench_events_made;
	for (bench_primary_active = 1; bench_primary_active >= 0; bench_primary_active--) {
		begin_call(&call, &bench_own, 0);
		gpu_events_release();
		call.status = 0;
		gpu_events_released(&call, 0);
		/* One pair is one that the pool made before, or not. */
		for (uint32_t i = 0; i < EVENT_PAIRS; i++)
			copy(0);
		collect();
		assert_true(bench_events_made <=
			    (bench_primary_active ? 1u : 2u) * 2 * EVENT_PAIRS + 2);
		assert_true(bench_events_made >= made);
	}
	assert_true(bench_events_made > 2 * EVENT_PAIRS + 2); /* gone at last: made anew */
	assert_int_equal(bench_written_count, 2 * EVENT_PAIRS + 1);
}

static void the_reader_rests_while_it_is_paused(void **state)
{
	(void)state;
	copy(0);
	event_reader_pause();
	collect();
	assert_int_equal(bench_written_count, 0);
	event_reader_resume();
	collect();
	assert_int_equal(bench_written_count, 1);
}

static void refusals_of_the_driver_are_counted(void **state)
{
	(void)state;
	bench_refuse_create = 1;
	copy(0);
	bench_refuse_create = 0;
	bench_refuse_record = 1;
	copy(0);
	bench_refuse_record = 0;
	assert_int_equal(counted(EVENT_COUNT_FAILED), 2);
	copy(0);
	collect();
	assert_int_equal(bench_written_count, 1);
}

static void an_event_that_cannot_be_read_ends_measuring_in_its_context(void **state)
{
	(void)state;
	copy(0);
	copy(0);
	bench_refuse_query = 700;
	collect();
	bench_refuse_query = 0;
	uint32_t made = bench_events_made;
	for (int i = 0; i < 10; i++)
		copy(0);
	collect();
	assert_int_equal(bench_written_count, 0);
	assert_int_equal(counted(EVENT_COUNT_FAILED), 12);
	assert_int_equal(bench_events_made, made);
	bench_current = &bench_contexts[2];
	copy(0);
	collect();
	assert_int_equal(bench_written_count, 1);
}

static void a_question_that_a_capture_forbids_is_asked_again(void **state)
{
	(void)state;
	copy(0);
	bench_refuse_query = 900;
	collect();
	bench_refuse_query = 0;
	collect();
	assert_int_equal(bench_written_count, 1);
}

static void default_streams_of_threads_are_theirs(void **state)
{
	(void)state;
	copy_with(&bench_own, NULL, CALL_PER_THREAD_STREAM, 0, 0);
	assert_int_equal(bench_own_records, 2);
	copy_with(&bench_own, NULL, 0, 0, 0);
	copy_with(&bench_own, &bench_contexts[0], CALL_PER_THREAD_STREAM, 0,
		  0); /* names its stream */
	assert_int_equal(bench_own_records, 2);
	collect();
	assert_int_equal(bench_written_count, 3);
	assert_true(bench_written[0].gpu.stream != 0);
	assert_int_equal(bench_written[1].gpu.stream, 0);
}

static void the_end_tells_what_was_and_was_not_measured(void **state)
{
	(void)state;
	assert_null(gpu_events_start());
	copy(0);
	bench_busy_until_ns = ticks_monotonic() + 60000000000u; /* hangs */
	copy(0);
	atomic_store(&streams_open_captures, 1);
	copy(0);
	atomic_store(&streams_open_captures, 0);
	gpu_events_finish();
	assert_string_equal(bench_told,
			    "1 copies and 0 launches measured, 2 not (while a capture was open "
			    "1, all pairs in use 0, refused by the driver 0, context gone 0, "
			    "not over at the end 1)");
	assert_int_equal(gpu_events_on, 0);
}

static void *copy_for_a_while(void *argument)
{
	struct thread *thread = argument;
	bench_current = &bench_contexts[1 + thread->thread_id % 3];
	for (int i = 0; i < 20000; i++)
		copy_with(thread, NULL, CALL_PER_THREAD_STREAM & (uint16_t) - (i & 1), 0,
			  i % 7 == 0);
	return NULL;
}

static void threads_share_the_pools_with_the_reader(void **state)
{
	static struct thread threads[4];
	pthread_t handles[4];
	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		threads[i] = (struct thread){.is_live = 1, .thread_id = i};
		assert_int_equal(pthread_create(&handles[i], NULL, copy_for_a_while, &threads[i]),
				 0);
	}
	for (int i = 0; i < 50; i++) {
		collect();
		/* Other bench_contexts come and go meanwhile. */
		event_reader_pause();
		event_pool_drop(&bench_contexts[9]);
		event_reader_resume();
	}
	for (int i = 0; i < 4; i++)
		pthread_join(handles[i], NULL);
	collect();
	uint64_t issued = 4 * (20000 - 20000 / 7 - 1);
	assert_int_equal(counted(EVENT_COUNT_COPIES), bench_written_count);
	assert_true(counted(EVENT_COUNT_COPIES) > 0);
	/* A failed call may have found no pair either. */
	assert_true(counted(EVENT_COUNT_COPIES) + counted(EVENT_COUNT_FULL) >= issued);
	assert_true(counted(EVENT_COUNT_COPIES) <= issued);
	assert_int_equal(counted(EVENT_COUNT_FAILED) + counted(EVENT_COUNT_GONE), 0);
	assert_true(bench_events_made <= 3 * (2 * EVENT_PAIRS + 1));
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup(name, event_bench_begin)
	const struct CMUnitTest tests[] = {
		TEST(a_copy_is_written_with_the_time_between_its_events),
		TEST(launches_are_sampled_but_those_of_collectives_are_not),
		TEST(the_driver_is_not_called_while_a_capture_is_open_or_at_exit),
		TEST(a_capture_that_began_inside_the_call_gets_no_event),
		TEST(a_call_that_fails_is_not_measured_and_its_events_are_used_again),
		TEST(a_full_pool_counts_and_serves_again_when_it_was_read),
		TEST(contexts_have_pools_of_their_own_and_a_ninth_is_counted),
		TEST(nothing_of_a_context_that_went_is_touched),
		TEST(a_primary_context_that_others_hold_keeps_its_events),
		TEST(the_reader_rests_while_it_is_paused),
		TEST(refusals_of_the_driver_are_counted),
		TEST(an_event_that_cannot_be_read_ends_measuring_in_its_context),
		TEST(a_question_that_a_capture_forbids_is_asked_again),
		TEST(default_streams_of_threads_are_theirs),
		TEST(the_end_tells_what_was_and_was_not_measured),
		TEST(threads_share_the_pools_with_the_reader),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
