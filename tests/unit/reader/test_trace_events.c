/* SPDX-License-Identifier: Apache-2.0 */
/* Events as rows: the same as the whole records, whatever of a trace is read. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "record_schema.h"
#include "trace_events.h"
#include "trace_reader.h"
#include "trace_rows.h"

#define CALLS (0xffffull << 16) /* all kinds that are calls, or may be among them */

static const char *const names[] = {"v1/train", "v2/train", "v2/train_killed"};

static struct trace *open_golden(const char *name)
{
	const char *folder = getenv("GPUTRACE_TEST_TRACES");
	char path[4096];
	struct trace *trace;
	struct error err = {0};

	assert_non_null(folder);
	snprintf(path, sizeof(path), "%s/%s.gtrace", folder, name);
	if (trace_open(path, &trace, &err) < 0)
		fail_msg("%s", err.text);
	return trace;
}

struct comparison {
	struct trace_rows rows;		/* as whole records */
	size_t seen[RECORD_KIND_LIMIT]; /* of these, by events and batches */
	size_t event_count;
};

static void expect_next(struct comparison *comparison, uint16_t kind, const void *record,
			uint32_t thread)
{
	size_t index = comparison->seen[kind]++;

	assert_memory_equal(record, trace_rows_at(&comparison->rows, kind, index),
			    comparison->rows.kinds[kind].row_bytes);
	assert_int_equal(thread, comparison->rows.kinds[kind].threads[index]);
}

static int see_batch(void *context, const struct trace_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++)
		expect_next(context, batch->kind,
			    (const char *)batch->rows + (size_t)i * batch->row_bytes,
			    batch->thread[i]);
	return 0;
}

static int see_events(void *context, const struct trace_events *events)
{
	struct comparison *comparison = context;
	const struct trace_event *row = events->rows;

	for (uint32_t run = 0; run < events->run_count; run++) {
		for (uint32_t left = events->runs[run].rows; left > 0; left--, row++) {
			uint16_t kind = trace_events_kind(events, row->record);
			uint64_t record[EVENT_RECORD_BYTES / 8];

			assert_true(row->record < events->record_count);
			trace_events_fill(events, row, record);
			expect_next(comparison, kind, record, events->runs[run].thread);
		}
	}
	assert_int_equal(row - events->rows, events->row_count);
	comparison->event_count += events->row_count;
	return 0;
}

/* How many of the rows were events. */
static size_t compare(struct trace *trace)
{
	struct comparison comparison = {.event_count = 0};
	size_t event_count;

	assert_int_equal(trace_rows_load(trace, &comparison.rows), 0);
	assert_int_equal(
		trace_read_events(trace, UINT64_MAX, see_batch, see_events, &comparison, NULL), 0);
	for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++)
		assert_int_equal(comparison.seen[kind], comparison.rows.kinds[kind].count);
	event_count = comparison.event_count;
	trace_rows_free(&comparison.rows);
	return event_count;
}

static void rows_of_events_are_the_records(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct trace *trace = open_golden(names[i]);
		size_t event_count = compare(trace);

		/* Version 1 has none. */
		/* Version 1 has none, and what a kill left is the tail, which is rows. */
		assert_true(i == 1 ? event_count > 100 : event_count == 0);
		trace_close(trace);
	}
}

static void a_window_leaves_the_same_of_rows_and_records(void **state)
{
	struct trace *trace = open_golden("v2/train");
	size_t whole = compare(trace), part;

	(void)state;
	trace_set_window(trace, 2000000, 12000000);
	part = compare(trace);
	assert_true(part > 10);
	assert_true(part < whole);
	trace_close(trace);
}

struct thread_counts {
	size_t count[64];
	size_t runs, batches;
};

static int count_batch(void *context, const struct trace_batch *batch)
{
	struct thread_counts *counts = context;

	counts->batches++;
	for (uint32_t i = 0; i < batch->count; i++) {
		assert_true(batch->thread[i] < 64);
		counts->count[batch->thread[i]]++;
	}
	return 0;
}

static int count_run(void *context, uint32_t thread, uint32_t rows)
{
	struct thread_counts *counts = context;

	assert_true(thread < 64);
	counts->runs++;
	counts->count[thread] += rows;
	return 0;
}

static void the_heads_of_chunks_count_what_reading_gives(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct trace *trace = open_golden(names[i]);
		struct thread_counts told = {.runs = 0}, read = {.runs = 0};

		assert_int_equal(
			trace_count_threads(trace, CALLS, count_batch, count_run, &told, NULL), 0);
		assert_int_equal(trace_read(trace, CALLS, count_batch, &read, NULL), 0);
		assert_memory_equal(told.count, read.count, sizeof(told.count));
		assert_true(told.count[1] > 0);
		assert_true(i == 1 ? told.runs > 0 : told.batches > 0);
		trace_close(trace);
	}
}

static int stop(void *context, uint32_t thread, uint32_t rows)
{
	(void)thread;
	(void)rows;
	return ++*(int *)context == 1 ? 77 : 0;
}

static int go_on(void *context, const struct trace_batch *batch)
{
	(void)context;
	(void)batch;
	return 0;
}

static void counting_stops_with_the_callers_answer(void **state)
{
	struct trace *trace = open_golden("v2/train");
	int calls = 0;

	(void)state;
	assert_int_equal(trace_count_threads(trace, CALLS, go_on, stop, &calls, NULL), 77);
	assert_int_equal(calls, 1);
	trace_close(trace);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_events_are_the_records),
		cmocka_unit_test(a_window_leaves_the_same_of_rows_and_records),
		cmocka_unit_test(the_heads_of_chunks_count_what_reading_gives),
		cmocka_unit_test(counting_stops_with_the_callers_answer),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
