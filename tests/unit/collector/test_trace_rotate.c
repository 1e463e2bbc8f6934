/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flight recorder: a file keeps its newest part and all of its names, stays below its size, and
 * is whole whenever its writer dies.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "record.h"
#include "session_fixture.h"
#include "trace_check.h"
#include "trace_file.h"
#include "trace_output.h"
#include "trace_reader.h"
#include "trace_rows.h"
#include "trace_writer.h"

#define MIB	   (1024u * 1024)
#define MAX_BYTES  (4u * MIB)
#define FLUSH_ROWS 4000u
#define NAMES	   50u

static char dir[512], path[600], copy_path[600];
static int dir_fd;
static struct trace_writer *writer;

static void create(uint64_t max_bytes, uint64_t keep_ns)
{
	const struct trace_writer_options options = {
		.clock_kind = 3,
		.start_realtime_ns = 1,
		.compression_level = 1,
		.tail_interval_ms = 50,
		.max_bytes = max_bytes,
		.keep_ns = keep_ns,
	};
	struct error err = {0};

	unlink(path);
	if (trace_writer_create(dir_fd, "rotated.gtrace", &options, &writer, &err) < 0)
		fail_msg("%s", err.text);
	for (uint64_t id = 1; id <= NAMES; id++)
		trace_writer_name(writer, NAME_API, id, "aFunction", NULL);
}

/* Calls whose object is noise, so that a row takes about ten bytes. */
static void add_calls(uint32_t first, uint32_t count)
{
	for (uint32_t id = first; id < first + count; id++) {
		struct record_call call = {
			.call = {.head = {.kind = RECORD_KIND_call, .size_bytes = sizeof(call)},
				 .begin_ticks = 1000 + (uint64_t)id * 100,
				 .end_ticks = 1050 + (uint64_t)id * 100,
				 .call_id = id,
				 .api = (uint16_t)(id % NAMES + 1)},
			.object = id * 0x9e3779b97f4a7c15ull,
		};

		assert_int_equal(trace_writer_add(writer, 1, &call, sizeof(call), NULL), 0);
	}
}

static uint64_t file_bytes(void)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return (uint64_t)status.st_size;
}

/* The newest calls without a gap, all of which have their names. Returns how many. */
static uint32_t expect_newest(const char *from, uint32_t last)
{
	struct trace_rows rows;
	struct trace *trace;
	struct error err = {0};
	uint32_t count, first;

	if (trace_open(from, &trace, &err) < 0)
		fail_msg("%s", err.text);
	for (uint64_t id = 1; id <= NAMES; id++)
		assert_string_equal(trace_name(trace, NAME_API, id), "aFunction");
	assert_int_equal(trace_rows_load(trace, &rows), 0);
	count = (uint32_t)rows.kinds[RECORD_KIND_call].count;
	first = last - count + 1;
	for (uint32_t i = 0; i < count; i++) {
		const struct record_call *call = trace_rows_at(&rows, RECORD_KIND_call, i);

		assert_int_equal(call->call.call_id, first + i);
	}
	trace_rows_free(&rows);
	trace_close(trace);
	return count;
}

static void expect_whole(void)
{
	struct trace_check check;
	struct error err = {0};

	assert_int_equal(trace_check(path, &check, &err), 0);
	assert_true(trace_check_is_clean(&check));
	assert_true(check.index_is_right);
	trace_check_fini(&check);
}

static void expect_no_other_file(void)
{
	DIR *open_dir = opendir(dir);
	struct dirent *entry;
	unsigned int files = 0;

	while ((entry = readdir(open_dir)))
		files += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	closedir(open_dir);
	assert_int_equal(files, 1);
}

static uint64_t info_number(const char *key)
{
	struct trace *trace;
	struct error err = {0};
	uint64_t number;

	assert_int_equal(trace_open(path, &trace, &err), 0);
	number = trace_info(trace, key) ? strtoull(trace_info(trace, key), NULL, 10) : 0;
	trace_close(trace);
	return number;
}

static void a_file_stays_below_its_size_and_keeps_the_newest(void **state)
{
	const uint32_t total = 3000000;
	uint64_t largest = 0;

	(void)state;
	create(MAX_BYTES, 0);
	for (uint32_t id = 1; id <= total; id += FLUSH_ROWS) {
		add_calls(id, FLUSH_ROWS);
		assert_int_equal(trace_writer_flush(writer, NULL), 0);
		if (file_bytes() > largest)
			largest = file_bytes();
	}
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
	/* The tail of uncompressed rows is not final: it may stand above. */
	assert_in_range(largest, MAX_BYTES / 2, MAX_BYTES + 4 * MIB);
	assert_in_range(file_bytes(), MAX_BYTES / 3, MAX_BYTES);
	assert_in_range(expect_newest(path, total), 100000, total / 2);
	expect_whole();
	expect_no_other_file();
	assert_true(info_number("rotation.dropped_segments") > 8);
	assert_in_range(info_number("rotation.dropped_bytes"), 3 * MAX_BYTES, 20 * MAX_BYTES);
}

static void a_file_below_its_size_keeps_everything(void **state)
{
	(void)state;
	create(MAX_BYTES, 0);
	add_calls(1, 100000);
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
	assert_int_equal(expect_newest(path, 100000), 100000);
	assert_int_equal(info_number("rotation.dropped_segments"), 0);
}

static void the_last_part_is_kept_at_least_as_long_as_asked(void **state)
{
	const struct timespec pause = {.tv_nsec = 4000000};
	const uint64_t keep_ns = 160000000; /* 40 pauses */
	uint32_t id = 1;

	(void)state;
	create(0, keep_ns);
	for (int i = 0; i < 250; i++, id += 2000) {
		add_calls(id, 2000);
		assert_int_equal(trace_writer_flush(writer, NULL), 0);
		nanosleep(&pause, NULL);
	}
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
	expect_whole();
	assert_true(info_number("rotation.dropped_segments") > 0);
	/* Pauses are longer on a busy machine, never shorter: time to keep is at most 40 of them.
	 */
	assert_in_range(expect_newest(path, id - 1), 2000, (id - 1) / 2);
}

/* ---- death ---- */

/* The writer as seen from its writes, at some of which it might have died. */
static struct {
	unsigned int writes, looked_at;
	uint32_t flushed; /* calls that were said to be on disk */
} life;

/* Who reads waits for a writer that lives; what a dead one leaves is looked at in a copy. */
static void copy_file(void)
{
	int in = open(path, O_RDONLY | O_CLOEXEC);
	int out = open(copy_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(in >= 0 && out >= 0);
	while (sendfile(out, in, NULL, MIB) > 0)
		;
	assert_int_equal(lseek(out, 0, SEEK_END), lseek(in, 0, SEEK_END));
	close(in);
	close(out);
}

/* What was being written may have arrived whole or not. */
static void expect_flushed(void)
{
	struct trace_rows rows;
	uint32_t last_id = 0;

	copy_file();
	trace_rows_of_file(copy_path, &rows);
	for (size_t i = 0; i < rows.kinds[RECORD_KIND_call].count; i++) {
		const struct record_call *call = trace_rows_at(&rows, RECORD_KIND_call, i);

		last_id = call->call.call_id > last_id ? call->call.call_id : last_id;
	}
	trace_rows_free(&rows);
	assert_in_range(last_id, life.flushed, life.flushed + 20000);
	expect_newest(copy_path, last_id);
	life.looked_at++;
}

static ssize_t dying_pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	const char *rest = data;
	size_t half = bytes / 2;

	life.writes++;
	if (life.writes < 150 || life.writes % 17)
		return pwrite(fd, data, bytes, offset);
	assert_int_equal(pwrite(fd, data, half, offset), half);
	expect_flushed();
	assert_int_equal(pwrite(fd, rest + half, bytes - half, offset + (off_t)half), bytes - half);
	return (ssize_t)bytes;
}

static void a_writer_may_die_at_any_write(void **state)
{
	(void)state;
	memset(&life, 0, sizeof(life));
	create(MAX_BYTES, 0);
	trace_output_pwrite = dying_pwrite;
	for (uint32_t id = 1; life.writes < 450; id += 20000) {
		add_calls(id, 20000);
		assert_int_equal(trace_writer_flush(writer, NULL), 0);
		life.flushed = id + 19999;
	}
	trace_output_pwrite = pwrite;
	assert_in_range(life.looked_at, 16, 24);
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
	assert_true(info_number("rotation.dropped_segments") > 0);
	unlink(copy_path);
}

static ssize_t no_second_file(int fd, const void *data, size_t bytes, off_t offset)
{
	struct stat ours, there;

	if (fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino != there.st_ino) {
		errno = ENOSPC;
		return -1;
	}
	return pwrite(fd, data, bytes, offset);
}

static void without_room_for_a_second_file_everything_stays_and_it_is_said(void **state)
{
	struct trace *trace;
	struct error err = {0};

	(void)state;
	create(MAX_BYTES, 0);
	trace_output_pwrite = no_second_file;
	for (uint32_t id = 1; id <= 1000000; id += 50000) {
		add_calls(id, 50000);
		assert_int_equal(trace_writer_flush(writer, NULL), 0);
	}
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
	trace_output_pwrite = pwrite;
	assert_int_equal(expect_newest(path, 1000000), 1000000);
	expect_whole();
	expect_no_other_file();
	assert_int_equal(trace_open(path, &trace, &err), 0);
	assert_non_null(strstr(trace_info(trace, "rotation.failed"), "No space left"));
	trace_close(trace);
}

static int make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "%s", session_make_dir());
	snprintf(path, sizeof(path), "%s/rotated.gtrace", dir);
	snprintf(copy_path, sizeof(copy_path), "%s/copy.gtrace", dir);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0;
}

static int remove_dir(void **state)
{
	(void)state;
	close(dir_fd);
	session_remove_dir(dir);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_stays_below_its_size_and_keeps_the_newest),
		cmocka_unit_test(a_file_below_its_size_keeps_everything),
		cmocka_unit_test(the_last_part_is_kept_at_least_as_long_as_asked),
		cmocka_unit_test(a_writer_may_die_at_any_write),
		cmocka_unit_test(without_room_for_a_second_file_everything_stays_and_it_is_said),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
