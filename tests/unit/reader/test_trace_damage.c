/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damage everywhere: every byte of a small trace flipped, files cut at every byte. Reading gives
 * what is undamaged or one sentence, checking notices, recovering makes a whole file of the rest.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crc32c.h"
#include "error.h"
#include "trace_check.h"
#include "trace_reader.h"
#include "trace_recover.h"

#define CUT_BYTES 65536 /* at the end of a file, each of them */

/* Every byte; a sanitizer, which makes opening a file ten times as slow, gets a part of them. */
#ifdef __SANITIZE_ADDRESS__
#define BYTE_STEP 7
#else
#define BYTE_STEP 1
#endif

static char path[4096];
static char recovered_path[4096];

struct bytes {
	uint8_t *data;
	size_t count;
};

static struct bytes load_golden(const char *name)
{
	const char *folder = getenv("GPUTRACE_TEST_TRACES");
	struct bytes bytes;
	char golden[4096];
	FILE *file;

	assert_non_null(folder);
	snprintf(golden, sizeof(golden), "%s/v2/%s", folder, name);
	file = fopen(golden, "rb");
	assert_non_null(file);
	bytes.data = malloc(1 << 20);
	bytes.count = fread(bytes.data, 1, 1 << 20, file);
	assert_true(bytes.count > 0 && bytes.count < 1 << 20);
	fclose(file);
	return bytes;
}

/*
 * With one CPU the reader decodes without threads: starting them tens of thousands of times for a
 * file of a few chunks is most of the time otherwise. Some positions are read with all CPUs.
 */
static void allow_cpus(size_t position)
{
	static cpu_set_t all;
	cpu_set_t one;

	if (CPU_COUNT(&all) == 0)
		assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), position % 32 == 5 ? &all : &one), 0);
}

static int write_copy(const struct bytes *bytes)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes->data, bytes->count), (ssize_t)bytes->count);
	return fd;
}

static uint32_t rows_digest; /* of what was read last */

static int count_rows(void *context, const struct trace_batch *batch)
{
	*(uint64_t *)context += batch->count;
	rows_digest += crc32c(batch->rows, (size_t)batch->row_bytes * batch->count);
	return 0;
}

/* Rows that a reader gets, or UINT64_MAX when it says why it cannot. */
static uint64_t read_all(const char *from, uint16_t *session_end)
{
	struct trace *trace;
	struct error err = {0};
	uint64_t rows = 0;

	rows_digest = 0;
	if (trace_open(from, &trace, &err) < 0) {
		assert_true(err.code < 0);
		assert_true(strlen(err.text) > strlen("Cannot open "));
		return UINT64_MAX;
	}
	assert_int_equal(trace_read(trace, UINT64_MAX, count_rows, &rows, &err), 0);
	if (session_end)
		*session_end = trace_health(trace)->session_end;
	trace_close(trace);
	return rows;
}

/* Checks the file at `path`; whether it is clean, ended. */
static bool check_is_clean(bool *has_end)
{
	struct trace_check check;
	struct error err = {0};
	bool is_clean = false;

	if (trace_check(path, &check, &err) == 0)
		is_clean = trace_check_is_clean(&check);
	else
		assert_true(strlen(err.text) > strlen("Cannot check "));
	if (has_end)
		*has_end = check.session_end != 0;
	trace_check_fini(&check);
	return is_clean;
}

/* What is recovered is whole and has what a reader gets from the damaged file. */
static void expect_recovery(uint64_t rows)
{
	struct trace_recovery recovery;
	struct trace_check check;
	struct error err = {0};
	int fd = open(recovered_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc = trace_recover(path, fd, &recovery, &err);

	close(fd);
	if (rc < 0) {
		assert_true(strlen(err.text) > strlen("Cannot recover "));
		return;
	}
	assert_int_equal(trace_check(recovered_path, &check, &err), 0);
	assert_true(trace_check_is_clean(&check));
	assert_int_not_equal(check.session_end, 0);
	trace_check_fini(&check);
	if (rows != UINT64_MAX)
		assert_int_equal(read_all(recovered_path, NULL),
				 rows + (recovery.lost_records > 0));
}

/* Every `step`-th byte. `settled_bytes`: a tail that a group stands for now, which lies there
 * still. */
static void expect_flips_noticed(const char *name, size_t step, size_t chunks, size_t settled_bytes)
{
	struct bytes golden = load_golden(name);
	int fd = write_copy(&golden);
	uint64_t all_rows = read_all(path, NULL);
	uint32_t all_digest = rows_digest;
	size_t unnoticed = 0;

	assert_true(check_is_clean(NULL));
	for (size_t at = 0; at < golden.count; at += step * BYTE_STEP) {
		uint8_t flipped = golden.data[at] ^ (uint8_t)(at % 3 ? 0xff : 1u << at % 8);
		uint64_t rows;
		bool is_clean;

		allow_cpus(at);
		assert_int_equal(pwrite(fd, &flipped, 1, (off_t)at), 1);
		is_clean = check_is_clean(NULL);
		rows = read_all(path, NULL);
		assert_true(rows == UINT64_MAX || rows <= all_rows);
		/* What is not noticed does no harm. */
		if (is_clean)
			assert_true(rows == all_rows && rows_digest == all_digest);
		unnoticed += is_clean;
		if (at % 16 == 0)
			expect_recovery(rows);
		assert_int_equal(pwrite(fd, &golden.data[at], 1, (off_t)at), 1);
	}
	/* What fills up to a multiple of 8 has no checksum: at most 15 bytes for each chunk. */
	assert_in_range(unnoticed, 0, 15 * chunks + settled_bytes);
	close(fd);
	free(golden.data);
}

static void a_flipped_byte_is_noticed_wherever_it_is(void **state)
{
	(void)state;
	expect_flips_noticed("train.gtrace", 1, 13, 0);
}

static void so_is_one_of_convolutions_allocations_and_totals(void **state)
{
	(void)state;
	expect_flips_noticed("conv.gtrace", 5, 11, 1024);
	expect_flips_noticed("allocations.gtrace", 5, 13, 1024);
	expect_flips_noticed("summary.gtrace", 5, 11, 1024);
}

static void expect_cuts(const char *name)
{
	struct bytes golden = load_golden(name);
	size_t least = golden.count > CUT_BYTES ? golden.count - CUT_BYTES : 0;
	int fd = write_copy(&golden);
	uint64_t all_rows = read_all(path, NULL);
	uint64_t last_rows = all_rows;

	for (size_t left = golden.count; left-- > least;) {
		uint16_t session_end = 0;
		uint64_t rows;

		if (left % BYTE_STEP)
			continue;
		allow_cpus(left);
		assert_int_equal(ftruncate(fd, (off_t)left), 0);
		rows = read_all(path, &session_end);
		if (rows == UINT64_MAX)
			rows = 0;
		/* The less there is, the less is read: nothing is made up. */
		assert_true(rows <= last_rows);
		last_rows = rows;
		if (left % 64 == 0) {
			bool has_end;

			assert_true(check_is_clean(&has_end) || left < 64 || has_end);
			expect_recovery(rows ? rows : UINT64_MAX);
		}
	}
	close(fd);
	free(golden.data);
}

static void a_file_cut_at_any_byte_gives_what_is_before_the_cut(void **state)
{
	(void)state;
	expect_cuts("train.gtrace");
	expect_cuts("summary.gtrace");
}

static void a_killed_file_cut_at_any_byte_gives_what_is_before_the_cut(void **state)
{
	(void)state;
	expect_cuts("train_killed.gtrace");
}

static int make_paths(void **state)
{
	const char *folder = getenv("TMPDIR");

	(void)state;
	snprintf(path, sizeof(path), "%s/damage.%d.gtrace", folder ? folder : "/tmp",
		 (int)getpid());
	snprintf(recovered_path, sizeof(recovered_path), "%s/damage.%d.recovered.gtrace",
		 folder ? folder : "/tmp", (int)getpid());
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	unlink(path);
	unlink(recovered_path);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flipped_byte_is_noticed_wherever_it_is),
		cmocka_unit_test(so_is_one_of_convolutions_allocations_and_totals),
		cmocka_unit_test(a_file_cut_at_any_byte_gives_what_is_before_the_cut),
		cmocka_unit_test(a_killed_file_cut_at_any_byte_gives_what_is_before_the_cut),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, make_paths, remove_files);
}
