/* SPDX-License-Identifier: Apache-2.0 */
/* The writer: what goes in comes out, segments repeat names, nothing that is lost is silent. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "error.h"
#include "record.h"
#include "record_schema.h"
#include "sample_record.h"
#include "session_fixture.h"
#include "trace_chunk.h"
#include "trace_output.h"
#include "trace_reader.h"
#include "trace_rows.h"
#include "trace_writer.h"
#include "trace_writer_internal.h"

static char dir[512], path[600];
static struct trace_writer *writer;

static void create(uint32_t tail_interval_ms)
{
	const struct trace_writer_options options = {.clock_kind = 3,
						     .start_realtime_ns = 1,
						     .compression_level = 1,
						     .tail_interval_ms = tail_interval_ms};
	struct error err = {0};

	unlink(path);
	if (trace_writer_create(AT_FDCWD, path, &options, &writer, &err) < 0)
		fail_msg("%s", err.text);
}

static void finish(void)
{
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
}

static struct trace *open_trace(void)
{
	struct trace *trace;
	struct error err = {0};

	if (trace_open(path, &trace, &err) < 0)
		fail_msg("%s", err.text);
	return trace;
}

static void add_sample(uint16_t kind, uint32_t row)
{
	_Alignas(8) uint8_t record[SAMPLE_MAX_BYTES];
	size_t size = sample_record(record, kind, SAMPLE_RANDOM, row);

	assert_int_equal(trace_writer_add(writer, row % 3, record, size, NULL), 0);
}

static void expect_samples(const struct trace_rows *rows, uint16_t kind, uint32_t count)
{
	_Alignas(8) uint8_t record[SAMPLE_MAX_BYTES];

	assert_int_equal(rows->kinds[kind].count, count);
	for (uint32_t row = 0; row < count; row++) {
		size_t size = sample_record(record, kind, SAMPLE_RANDOM, row);

		assert_memory_equal(trace_rows_at(rows, kind, row), record, size);
		assert_int_equal(rows->kinds[kind].threads[row], row % 3);
	}
}

/* Clocks and losses have a meaning of their own to writer and reader. */
static int is_plain_kind(uint16_t kind)
{
	return record_schema_of(kind)->column_count > 0 && kind != RECORD_KIND_loss &&
	       kind != RECORD_KIND_clock;
}

static void write_all_kinds(uint32_t tail_interval_ms, int finished)
{
	struct trace_rows rows;

	create(tail_interval_ms);
	for (uint32_t row = 0; row < 300; row++) {
		for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++) {
			if (is_plain_kind(kind))
				add_sample(kind, row);
		}
	}
	assert_int_equal(trace_writer_flush(writer, NULL), 0);
	if (finished) {
		finish();
	} else { /* let go as a dying process does */
		flock(writer->output.fd, LOCK_UN);
		close(writer->output.fd);
		writer->output.fd = -1;
	}
	trace_rows_of_file(path, &rows);
	for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++) {
		/* A tail is ordered by thread. */
		if (is_plain_kind(kind) && finished)
			expect_samples(&rows, kind, 300);
		else if (is_plain_kind(kind))
			assert_int_equal(rows.kinds[kind].count, 300);
	}
	trace_rows_free(&rows);
	if (!finished)
		trace_writer_finish(writer, SESSION_KILLED, NULL);
}

static void every_kind_comes_back_from_columns_and_from_the_tail(void **state)
{
	(void)state;
	write_all_kinds(0, 1);
	write_all_kinds(50, 1);
	write_all_kinds(50, 0);
}

static void names_and_descriptions_come_back(void **state)
{
	static const uint16_t kinds[] = {RECORD_KIND_name, RECORD_KIND_device, RECORD_KIND_thread,
					 RECORD_KIND_library, RECORD_KIND_site};
	_Alignas(8) uint8_t record[SAMPLE_MAX_BYTES];
	struct trace *trace;

	(void)state;
	create(50);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (uint64_t number = 1; number < 40; number++) {
			size_t size = sample_text_record(record, kinds[i], number, 48);

			assert_int_equal(trace_writer_add(writer, 1, record, size, NULL), 0);
			assert_int_equal(trace_writer_add(writer, 2, record, size, NULL), 0);
		}
	}
	trace_writer_info(writer, "host.name", "node1", NULL);
	trace_writer_info(writer, "host.name", "node2", NULL);
	trace_writer_info(writer, "empty", "", NULL);
	finish();
	trace = open_trace();
	assert_int_equal(trace_device_count(trace), 39);
	assert_int_equal(trace_thread_count(trace), 39);
	assert_int_equal(trace_library_count(trace), 39);
	assert_int_equal(trace_device(trace, 4)->ordinal, 5);
	assert_string_equal(trace_thread(trace, 0)->name,
			    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
	assert_int_equal(strlen(trace_name(trace, NAME_KERNEL, 39)), 48);
	assert_null(trace_name(trace, NAME_KERNEL, 40));
	assert_null(trace_name(trace, NAME_API, 39));
	assert_int_equal(trace_site(trace, 7)->frame_count, 3);
	assert_null(trace_site(trace, 999));
	assert_string_equal(trace_info(trace, "host.name"), "node2");
	assert_string_equal(trace_info(trace, "empty"), "");
	assert_null(trace_info(trace, "host"));
	trace_close(trace);
}

static void files_are_private_new_and_locked(void **state)
{
	const struct trace_writer_options options = {.compression_level = 1};
	struct trace_writer *second;
	struct error err = {0};
	struct stat status;
	char link_path[620];
	int fd;

	(void)state;
	create(0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(trace_writer_create(AT_FDCWD, path, &options, &second, &err), -EEXIST);
	fd = open(path, O_RDONLY);
	assert_int_equal(flock(fd, LOCK_SH | LOCK_NB), -1);
	finish();
	assert_int_equal(flock(fd, LOCK_SH | LOCK_NB), 0);
	close(fd);
	snprintf(link_path, sizeof(link_path), "%s/link", dir);
	assert_int_equal(symlink("elsewhere", link_path), 0);
	assert_true(trace_writer_create(AT_FDCWD, link_path, &options, &second, &err) < 0);
	unlink(link_path);
}

static void zstd_verifies_the_file(void **state)
{
	char command[1400];

	(void)state;
	if (system("command -v zstd >/dev/null 2>&1") != 0) {
		print_message("zstd(1) is not installed: not checked\n");
		skip();
	}
	create(50);
	for (uint32_t row = 0; row < 5000; row++)
		add_sample(RECORD_KIND_copy, row);
	trace_writer_info(writer, "odd", "x", NULL);
	finish();
	snprintf(command, sizeof(command), "zstd -q -t '%s' && zstd -q -dc '%s' >/dev/null", path,
		 path);
	assert_int_equal(system(command), 0);
}

/* ---- segments ---- */

static uint32_t count_chunks(uint16_t type)
{
	static uint8_t bytes[128 << 20];
	int fd = open(path, O_RDONLY);
	ssize_t size = read(fd, bytes, sizeof(bytes));
	struct chunk_header header;
	uint32_t count = 0;

	for (ssize_t at = TRACE_HEAD_BYTES; at + CHUNK_HEADER_BYTES <= size;
	     at += (ssize_t)chunk_disk_bytes(&header)) {
		assert_true(chunk_header_load(bytes + at, &header));
		count += header.type == type;
	}
	close(fd);
	return count;
}

static void a_segment_that_is_full_is_followed_by_one_that_repeats_the_names(void **state)
{
	uint32_t row = 0;
	struct trace *trace;
	struct trace_rows rows;

	(void)state;
	create(0);
	trace_writer_name(writer, NAME_API, 1, "the name", NULL);
	while (writer->segment < 3)
		add_sample(RECORD_KIND_gemm, row++);
	finish();
	assert_int_equal(count_chunks(CHUNK_SEGMENT), 3);
	assert_true(count_chunks(CHUNK_ROWS) >= 3);
	trace = open_trace();
	assert_string_equal(trace_name(trace, NAME_API, 1), "the name");
	assert_int_equal(trace_rows_load(trace, &rows), 0);
	assert_int_equal(rows.kinds[RECORD_KIND_gemm].count, row);
	trace_rows_free(&rows);
	trace_close(trace);
}

/* ---- losses ---- */

static void records_that_do_not_check_are_counted(void **state)
{
	_Alignas(8) uint8_t record[64] = {0};
	struct trace *trace;

	(void)state;
	create(50);
	bytes_store16(record, 50); /* a kind of a later version */
	bytes_store16(record + 2, 32);
	assert_int_equal(trace_writer_add(writer, 0, record, 32, NULL), 0);
	bytes_store16(record + 2, 31);
	assert_true(trace_writer_add(writer, 0, record, 64, NULL) < 0);
	finish();
	trace = open_trace();
	assert_int_equal(trace_health(trace)->lost[50], 1);
	assert_int_equal(trace_health(trace)->lost[0], 1);
	assert_int_equal(trace_health(trace)->lost_total, 2);
	trace_close(trace);
}

static void losses_are_said_once_whether_in_tail_or_columns(void **state)
{
	const struct record_loss loss = {
		.head = {.kind = RECORD_KIND_loss, .size_bytes = sizeof(loss)},
		.ticks = 5,
		.count = 3,
		.lost_kind = RECORD_KIND_launch,
		.reason = LOSS_RING_FULL,
	};
	struct trace *trace;

	(void)state;
	create(50);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(trace_writer_add(writer, 1, &loss, sizeof(loss), NULL), 0);
		assert_int_equal(trace_writer_flush(writer, NULL), 0);
	}
	flock(writer->output.fd, LOCK_UN);
	trace = open_trace();
	assert_int_equal(trace_health(trace)->lost[RECORD_KIND_launch], 12);
	assert_int_equal(trace_health(trace)->session_end, 0);
	trace_close(trace);
	finish();
	trace = open_trace();
	assert_int_equal(trace_health(trace)->lost[RECORD_KIND_launch], 12);
	assert_int_equal(trace_health(trace)->session_end, SESSION_EXITED);
	trace_close(trace);
}

/* ---- a disk that is full ---- */

static off_t disk_bytes;

static ssize_t full_pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	if (offset >= disk_bytes) {
		errno = ENOSPC;
		return -1;
	}
	if (offset + (off_t)bytes > disk_bytes)
		bytes = (size_t)(disk_bytes - offset);
	return pwrite(fd, data, bytes, offset);
}

static void no_file_is_left_where_not_even_its_head_has_room(void **state)
{
	const struct trace_writer_options options = {.clock_kind = 3};
	const char *empty = session_make_dir();
	int dir_fd = open(empty, O_RDONLY | O_DIRECTORY);
	struct trace_writer *none = NULL;

	(void)state;
	disk_bytes = 0;
	trace_output_pwrite = full_pwrite;
	assert_int_equal(trace_writer_create(dir_fd, "a.gtrace", &options, &none, NULL), -ENOSPC);
	trace_output_pwrite = pwrite;
	assert_null(none);
	assert_int_equal(faccessat(dir_fd, "a.gtrace", F_OK, 0), -1);
	close(dir_fd);
	session_remove_dir(empty);
}

static void fill_disk(off_t capacity, uint32_t rounds)
{
	uint32_t row = 0;
	uint64_t kept, lost;
	struct trace_rows rows;
	struct trace *trace;

	create(50);
	disk_bytes = capacity;
	trace_output_pwrite = full_pwrite;
	for (uint32_t round = 0; round < rounds; round++) {
		for (uint32_t i = 0; i < 20000; i++) {
			_Alignas(8) uint8_t record[SAMPLE_MAX_BYTES];
			size_t size = sample_record(record, RECORD_KIND_copy, SAMPLE_RANDOM, row++);

			trace_writer_add(writer, 0, record, size, NULL);
		}
		trace_writer_flush(writer, NULL);
	}
	kept = trace_writer_lost(writer)[RECORD_KIND_copy];
	finish();
	trace_output_pwrite = pwrite;
	trace = open_trace();
	assert_int_equal(trace_rows_load(trace, &rows), 0);
	lost = trace_health(trace)->lost[RECORD_KIND_copy];
	assert_true(lost >= kept);
	assert_true(lost > 0);
	assert_int_equal(rows.kinds[RECORD_KIND_copy].count + lost, row);
	assert_int_equal(trace_health(trace)->session_end, SESSION_EXITED);
	trace_rows_free(&rows);
	trace_close(trace);
}

static void a_full_disk_costs_records_that_are_counted(void **state)
{
	(void)state;
	fill_disk(1 << 20, 12);
	fill_disk(3 << 20, 12);
	fill_disk(9 << 20, 12);
}

static void a_disk_with_hardly_room_for_the_head_still_says_what_is_lost(void **state)
{
	(void)state;
	fill_disk(1024, 6);
}

static int begin(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "%s", session_make_dir());
	snprintf(path, sizeof(path), "%s/t.gtrace", dir);
	return 0;
}

static int end(void **state)
{
	(void)state;
	session_remove_dir(dir);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_comes_back_from_columns_and_from_the_tail),
		cmocka_unit_test(names_and_descriptions_come_back),
		cmocka_unit_test(files_are_private_new_and_locked),
		cmocka_unit_test(zstd_verifies_the_file),
		cmocka_unit_test(a_segment_that_is_full_is_followed_by_one_that_repeats_the_names),
		cmocka_unit_test(records_that_do_not_check_are_counted),
		cmocka_unit_test(losses_are_said_once_whether_in_tail_or_columns),
		cmocka_unit_test(a_full_disk_costs_records_that_are_counted),
		cmocka_unit_test(a_disk_with_hardly_room_for_the_head_still_says_what_is_lost),
		cmocka_unit_test(no_file_is_left_where_not_even_its_head_has_room),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, begin, end);
}
