/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kills of the writer at every write, files cut at every byte, bytes that flip: a reader gets every
 * record that was flushed exactly once, or says what is missing.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "record.h"
#include "session_fixture.h"
#include "trace_file.h"
#include "trace_output.h"
#include "trace_reader.h"
#include "trace_rows.h"
#include "trace_writer.h"

#define THREADS 3u
#define MAX_ID	200000u

/* Cut and changed at every byte; a sanitizer, which makes opening a file ten times as slow, gets a
 * part of them. */
#ifdef __SANITIZE_ADDRESS__
#define BYTE_STEP 7
#else
#define BYTE_STEP 1
#endif

static char live_path[512], copy_path[512];

/* What the writer was given and what it said is on disk. */
static struct {
	uint32_t added[THREADS], flushed[THREADS];
	uint64_t snapshots;
	int checking;
} progress;

static uint64_t noise(uint32_t thread, uint32_t id)
{
	uint64_t value = ((uint64_t)thread << 32 | id) * 0x9e3779b97f4a7c15ull;

	return (value ^ (value >> 29)) * 0xbf58476d1ce4e5b9ull;
}

/* Two kinds, so that a group has several chunks; the noise keeps columns from vanishing. */
static uint16_t kind_of(uint32_t id)
{
	return id % 3 ? RECORD_KIND_call : RECORD_KIND_sync;
}

static size_t make_call(struct record_sync *call, uint32_t thread, uint32_t id)
{
	uint16_t size = id % 3 ? sizeof(struct record_call) : sizeof(struct record_sync);

	*call = (struct record_sync){
		.call = {.head = {.kind = kind_of(id), .size_bytes = size},
			 .begin_ticks = 1000 + (uint64_t)id * 777 + noise(thread, id) % 512,
			 .end_ticks = 2000 + (uint64_t)id * 777 + noise(thread, id) % 4096,
			 .call_id = id,
			 .api = (uint16_t)(id % 5)},
		.object = noise(thread, id),
	};
	return size;
}

static void copy_file(const char *from, const char *to, long bytes)
{
	static char buffer[1 << 20];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ssize_t done;

	assert_true(in >= 0 && out >= 0);
	while (bytes != 0 && (done = read(in, buffer, sizeof(buffer))) > 0) {
		if (bytes > 0 && done > bytes)
			done = bytes;
		assert_int_equal(write(out, buffer, (size_t)done), done);
		bytes -= bytes > 0 ? done : 0;
	}
	close(in);
	close(out);
}

/* Calls per thread; fails on one that is there twice or not as it was written, and on a gap. */
static void count_calls(const struct trace_rows *rows, uint32_t counts[THREADS], int gaps_allowed)
{
	static uint8_t seen[THREADS][MAX_ID + 1];

	memset(counts, 0, THREADS * sizeof(*counts));
	memset(seen, 0, sizeof(seen));
	for (uint16_t kind = RECORD_KIND_call; kind <= RECORD_KIND_sync; kind++) {
		for (size_t i = 0; i < rows->kinds[kind].count; i++) {
			const struct record_call *call = trace_rows_at(rows, kind, i);
			uint32_t thread = rows->kinds[kind].threads[i];
			uint32_t id = call->call.call_id;
			struct record_sync expected;

			assert_true(thread < THREADS && id > 0 && id <= MAX_ID);
			assert_memory_equal(call, &expected, make_call(&expected, thread, id));
			assert_int_equal(seen[thread][id]++, 0);
			if (id > counts[thread])
				counts[thread] = id;
		}
	}
	for (uint32_t thread = 0; thread < THREADS && !gaps_allowed; thread++) {
		for (uint32_t id = 1; id <= counts[thread]; id++)
			assert_int_equal(seen[thread][id], 1);
	}
}

/* As if the writer had been killed now. */
static void check_snapshot(void)
{
	uint32_t counts[THREADS];
	struct trace_rows rows;

	copy_file(live_path, copy_path, -1);
	trace_rows_of_file(copy_path, &rows);
	count_calls(&rows, counts, 0);
	for (uint32_t thread = 0; thread < THREADS; thread++)
		assert_in_range(counts[thread], progress.flushed[thread], progress.added[thread]);
	trace_rows_free(&rows);
	progress.snapshots++;
}

static void write_part(int fd, const char *data, size_t from, size_t to, off_t offset)
{
	if (to > from)
		assert_int_equal(pwrite(fd, data + from, to - from, offset + (off_t)from),
				 to - from);
}

/* Writes in pieces and looks after each of them. */
static ssize_t dying_pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	const size_t stops[] = {1,	   bytes / 8,	  bytes / 3,
				bytes / 2, bytes / 4 * 3, bytes / 16 * 15,
				bytes - 1, bytes};
	size_t done = 0;

	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		if (stops[i] <= done || stops[i] > bytes)
			continue;
		write_part(fd, data, done, stops[i], offset);
		done = stops[i];
		if (progress.checking)
			check_snapshot();
	}
	return (ssize_t)bytes;
}

static void begin(struct trace_writer **writer)
{
	const struct trace_writer_options options = {.clock_kind = 3,
						     .start_realtime_ns = 1,
						     .compression_level = 1,
						     .tail_interval_ms = 50};
	struct error err = {0};

	memset(&progress, 0, sizeof(progress));
	unlink(live_path);
	if (trace_writer_create(AT_FDCWD, live_path, &options, writer, &err) < 0)
		fail_msg("%s", err.text);
}

static void add_calls(struct trace_writer *writer, uint32_t thread, uint32_t count)
{
	struct record_sync call;

	for (uint32_t i = 0; i < count; i++) {
		size_t size = make_call(&call, thread, progress.added[thread] + 1);

		progress.added[thread]++;
		assert_int_equal(trace_writer_add(writer, thread, &call, size, NULL), 0);
	}
}

static void flush(struct trace_writer *writer)
{
	assert_int_equal(trace_writer_flush(writer, NULL), 0);
	memcpy(progress.flushed, progress.added, sizeof(progress.added));
}

/* ---- kills ---- */

static void a_kill_while_small_tails_pile_up_loses_nothing(void **state)
{
	struct trace_writer *writer;

	(void)state;
	begin(&writer);
	trace_output_pwrite = dying_pwrite;
	for (uint32_t round = 0; round < 700; round++) {
		/* Looking at each of hundreds of equal steps would take long and show nothing. */
		progress.checking = round < 20 || (round > 500 && round < 530);
		add_calls(writer, round % THREADS, 1 + round % 4);
		if (round % 50 == 0)
			trace_writer_name(writer, NAME_API, 1 + round, "some name", NULL);
		flush(writer);
	}
	assert_true(progress.snapshots > 100);
	progress.checking = 1;
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
	trace_output_pwrite = pwrite;
	check_snapshot();
}

static void a_kill_while_a_large_tail_becomes_columns_loses_nothing(void **state)
{
	struct trace_writer *writer;

	(void)state;
	begin(&writer);
	trace_output_pwrite = dying_pwrite;
	progress.checking = 1;
	for (uint32_t round = 0; round < 8; round++) {
		for (uint32_t thread = 0; thread < THREADS; thread++)
			add_calls(writer, thread, 3000 + 1000 * thread);
		flush(writer);
	}
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
	trace_output_pwrite = pwrite;
	check_snapshot();
}

/* A small tail and then a burst: the columns are longer than the tail that they replace. */
static void a_kill_while_columns_are_longer_than_the_tail_loses_nothing(void **state)
{
	struct trace_writer *writer;

	(void)state;
	begin(&writer);
	trace_output_pwrite = dying_pwrite;
	progress.checking = 1;
	for (uint32_t round = 0; round < 3; round++) {
		add_calls(writer, 0, 2);
		flush(writer);
		add_calls(writer, 1, 50000);
		flush(writer);
	}
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
	trace_output_pwrite = pwrite;
	check_snapshot();
}

/* ---- files that are cut or changed ---- */

static void expect_clear_answer(uint32_t expected_total)
{
	struct trace_rows rows;
	struct trace *trace;
	uint32_t counts[THREADS];
	struct error err = {0};

	if (trace_open(copy_path, &trace, &err) < 0) {
		assert_true(strlen(err.text) > 10);
		assert_non_null(strstr(err.text, copy_path));
		return;
	}
	assert_int_equal(trace_rows_load(trace, &rows), 0);
	count_calls(&rows, counts, 1);
	if (rows.total < expected_total) {
		const struct trace_health *health = trace_health(trace);

		assert_true(health->session_end == 0 || health->damaged_bytes > 0 ||
			    health->damaged_chunks > 0);
	}
	trace_rows_free(&rows);
	trace_close(trace);
}

static void a_file_cut_at_any_byte_gives_a_clear_answer(void **state)
{
	struct trace_writer *writer;
	long bytes, lowest;
	int fd;

	(void)state;
	begin(&writer);
	for (uint32_t round = 0; round < 60; round++) {
		add_calls(writer, round % THREADS, 12);
		flush(writer);
	}
	copy_file(live_path, copy_path, -1); /* with its tail, as a kill leaves it */
	trace_writer_finish(writer, SESSION_EXITED, NULL);
	fd = open(copy_path, O_RDWR);
	bytes = lseek(fd, 0, SEEK_END);
	lowest = bytes > 65536 ? bytes - 65536 : 0;
	for (long length = bytes; length >= lowest; length -= BYTE_STEP) {
		assert_int_equal(ftruncate(fd, length), 0);
		expect_clear_answer(60 * 12);
	}
	close(fd);
}

static void a_complete_file_cut_at_any_byte_gives_a_clear_answer(void **state)
{
	struct trace_writer *writer;
	long bytes;
	int fd;

	(void)state;
	begin(&writer);
	add_calls(writer, 0, 3000);
	trace_writer_name(writer, NAME_API, 1, "cudaMemcpyAsync", NULL);
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
	copy_file(live_path, copy_path, -1);
	fd = open(copy_path, O_RDWR);
	bytes = lseek(fd, 0, SEEK_END);
	assert_true(bytes < 65536);
	for (long length = bytes - 1; length >= 0; length -= BYTE_STEP) {
		assert_int_equal(ftruncate(fd, length), 0);
		expect_clear_answer(3000);
	}
	close(fd);
}

/* Cuts the live file anywhere: where rows are missing it does not say that it has them. How often.
 */
static uint32_t expect_no_empty_promise(uint64_t all_ticks, uint64_t row_count)
{
	uint32_t short_of = 0;
	long bytes;
	int fd;

	copy_file(live_path, copy_path, -1);
	fd = open(copy_path, O_RDWR);
	bytes = lseek(fd, 0, SEEK_END);
	for (long length = bytes - 1; length >= 0; length -= 7) {
		struct trace_rows rows;
		struct trace *trace;
		struct error err = {0};

		assert_int_equal(ftruncate(fd, length), 0);
		if (trace_open(copy_path, &trace, &err) < 0)
			break;
		assert_int_equal(trace_rows_load(trace, &rows), 0);
		if (rows.total < row_count) {
			assert_true(trace_health(trace)->host_complete_ns <
				    trace_ticks_to_ns(trace, all_ticks));
			short_of++;
		}
		trace_rows_free(&rows);
		trace_close(trace);
	}
	close(fd);
	return short_of;
}

static void a_cut_file_promises_nothing_that_was_cut_off(void **state)
{
	const uint64_t all_ticks = 10000000;
	struct trace_writer *writer;

	(void)state;
	begin(&writer);
	add_calls(writer, 0, 3000);
	trace_writer_complete(writer, all_ticks);
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
	assert_true(expect_no_empty_promise(all_ticks, 3000) > 100);
}

/* A tail has a chunk of each thread: only the last of them may promise for all. */
static void a_cut_tail_of_several_threads_promises_nothing_that_was_cut_off(void **state)
{
	const uint64_t all_ticks = 10000000;
	struct trace_writer *writer;

	(void)state;
	begin(&writer);
	for (uint32_t thread = 0; thread < 3; thread++)
		add_calls(writer, thread, 100);
	trace_writer_complete(writer, all_ticks);
	flush(writer);
	assert_true(expect_no_empty_promise(all_ticks, 300) > 100);
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
}

static void a_byte_that_flips_gives_a_clear_answer(void **state)
{
	struct trace_writer *writer;
	long bytes;
	int fd;

	(void)state;
	begin(&writer);
	add_calls(writer, 0, 40);
	flush(writer);
	add_calls(writer, 1, 40);
	trace_writer_info(writer, "key", "value", NULL);
	for (int finished = 0; finished < 2; finished++) {
		if (finished)
			assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
		else
			flush(writer);
		copy_file(live_path, copy_path, -1);
		fd = open(copy_path, O_RDWR);
		bytes = lseek(fd, 0, SEEK_END);
		for (long at = 0; at < bytes; at += BYTE_STEP) {
			uint8_t byte, flipped;

			assert_int_equal(pread(fd, &byte, 1, at), 1);
			for (unsigned int bit = 0; bit < 8; bit += 3) {
				flipped = (uint8_t)(byte ^ 1u << bit);
				assert_int_equal(pwrite(fd, &flipped, 1, at), 1);
				expect_clear_answer(80);
			}
			assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		}
		close(fd);
	}
}

static int make_paths(void **state)
{
	const char *dir = session_make_dir();

	snprintf(live_path, sizeof(live_path), "%.400s/live.gtrace", dir);
	snprintf(copy_path, sizeof(copy_path), "%.400s/copy.gtrace", dir);
	*state = strdup(dir);
	return 0;
}

static int remove_paths(void **state)
{
	session_remove_dir(*state);
	free(*state);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kill_while_small_tails_pile_up_loses_nothing),
		cmocka_unit_test(a_kill_while_a_large_tail_becomes_columns_loses_nothing),
		cmocka_unit_test(a_kill_while_columns_are_longer_than_the_tail_loses_nothing),
		cmocka_unit_test(a_file_cut_at_any_byte_gives_a_clear_answer),
		cmocka_unit_test(a_complete_file_cut_at_any_byte_gives_a_clear_answer),
		cmocka_unit_test(a_cut_file_promises_nothing_that_was_cut_off),
		cmocka_unit_test(a_cut_tail_of_several_threads_promises_nothing_that_was_cut_off),
		cmocka_unit_test(a_byte_that_flips_gives_a_clear_answer),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, make_paths, remove_paths);
}
