/* SPDX-License-Identifier: Apache-2.0 */
/* The reader on golden traces, on corrupt and foreign files, and on files that are still written.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "record.h"
#include "record_schema.h"
#include "trace_file.h"
#include "trace_reader.h"
#include "trace_rows.h"

static const char *trace_dir(void)
{
	const char *dir = getenv("GPUTRACE_TEST_TRACES");

	assert_non_null(dir);
	return dir;
}

static struct trace *open_golden(const char *name)
{
	char path[4096];
	struct trace *trace;
	struct error err = {0};

	snprintf(path, sizeof(path), "%s/%s.gtrace", trace_dir(), name);
	if (trace_open(path, &trace, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(trace_path(trace), path);
	return trace;
}

/* ---- golden traces: what version 1 wrote must read the same for ever ---- */

static void the_golden_trace_has_its_rows(void **state)
{
	struct trace *trace = open_golden("v1/train");
	struct trace_rows rows;
	const struct record_copy *copy;

	(void)state;
	assert_int_equal(trace_rows_load(trace, &rows), 0);
	assert_int_equal(rows.kinds[RECORD_KIND_memory].count, 2);
	assert_int_equal(rows.kinds[RECORD_KIND_copy].count, 8);
	assert_int_equal(rows.kinds[RECORD_KIND_gpu_copy].count, 8);
	assert_int_equal(rows.kinds[RECORD_KIND_sync].count, 8);
	assert_int_equal(rows.kinds[RECORD_KIND_gemm].count, 4 * 98);
	assert_int_equal(rows.kinds[RECORD_KIND_launch].count, 4 * 259);
	assert_int_equal(rows.kinds[RECORD_KIND_gpu_kernel].count, 4 * 259);
	assert_int_equal(rows.kinds[RECORD_KIND_mark].count, 4);
	assert_int_equal(rows.kinds[RECORD_KIND_clock].count, 2);
	assert_int_equal(trace_health(trace)->rows, rows.total);
	copy = trace_rows_at(&rows, RECORD_KIND_copy, 0);
	assert_int_equal(copy->size_bytes, 24 << 20);
	assert_int_equal(copy->source_kind, MEMORY_PAGEABLE);
	assert_int_equal(copy->direction, COPY_H2D);
	assert_string_equal(trace_name(trace, NAME_API, copy->call.api), "cudaMemcpyAsync");
	trace_rows_free(&rows);
	trace_close(trace);
}

static void every_version_of_the_format_gives_the_same_rows(void **state)
{
	struct trace *traces[] = {open_golden("v1/train"), open_golden("v1/train_1_1"),
				  open_golden("v2/train")};
	struct trace_rows rows[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(trace_rows_load(traces[i], &rows[i]), 0);
	for (uint16_t kind = 1; kind < RECORD_KIND_LIMIT; kind++) {
		size_t bytes = (size_t)record_schema_of(kind)->size_bytes;

		for (int i = 1; i < 3; i++) {
			assert_int_equal(rows[0].kinds[kind].count, rows[i].kinds[kind].count);
			if (rows[0].kinds[kind].count > 0)
				assert_memory_equal(rows[0].kinds[kind].rows,
						    rows[i].kinds[kind].rows,
						    bytes * rows[0].kinds[kind].count);
		}
	}
	for (int i = 0; i < 3; i++) {
		trace_rows_free(&rows[i]);
		trace_close(traces[i]);
	}
}

static void the_golden_trace_has_its_descriptions(void **state)
{
	struct trace *trace = open_golden("v1/train");
	const struct record_device *device = trace_device(trace, 0);
	const struct record_site *site = trace_site(trace, 0x51);

	(void)state;
	assert_int_equal(trace_device_count(trace), 1);
	assert_string_equal(device->name, "NVIDIA A100-SXM4-80GB");
	assert_int_equal(device->sm_count, 108);
	assert_null(trace_device(trace, 1));
	assert_string_equal(trace_thread(trace, 0)->name, "python");
	assert_string_equal(trace_info(trace, "host.name"), "node17");
	assert_non_null(site);
	assert_int_equal(site->frame_count, 3);
	assert_int_equal(site->frames[0].line, 41);
	assert_string_equal(trace_name(trace, NAME_PYTHON, site->frames[0].value),
			    "load_batch\x1f/app/train.py");
	assert_int_equal(trace_health(trace)->session_end, SESSION_EXITED);
	assert_int_equal(trace_health(trace)->damaged_bytes, 0);
	assert_int_equal(trace_health(trace)->lost_total, 0);
	trace_close(trace);
}

static void gpu_times_and_host_times_are_on_one_line(void **state)
{
	struct trace *trace = open_golden("v1/train");
	struct trace_rows rows;

	(void)state;
	assert_int_equal(trace_rows_load(trace, &rows), 0);
	for (size_t i = 0; i < rows.kinds[RECORD_KIND_launch].count; i++) {
		const struct record_launch *launch = trace_rows_at(&rows, RECORD_KIND_launch, i);
		const struct record_gpu_kernel *kernel =
			trace_rows_at(&rows, RECORD_KIND_gpu_kernel, i);
		int64_t launch_ns = trace_ticks_to_ns(trace, launch->call.begin_ticks);

		assert_int_equal(launch->call.correlation, kernel->gpu.correlation);
		assert_true(launch_ns > 0);
		assert_true(trace_gpu_to_ns(trace, kernel->gpu.begin_ns) >= launch_ns + 1900);
	}
	assert_true(trace_health(trace)->gpu_complete_ns > 0);
	trace_rows_free(&rows);
	trace_close(trace);
}

static void a_killed_session_says_so_and_how_far_it_goes(void **state)
{
	struct trace *trace = open_golden("v1/train_killed");
	const struct trace_health *health = trace_health(trace);

	(void)state;
	assert_int_equal(health->session_end, 0);
	assert_int_equal(health->damaged_bytes, 0);
	assert_true(health->rows > 500);
	assert_true(health->host_complete_ns > 0);
	trace_close(trace);
}

static void a_trace_without_gpu_records_says_so(void **state)
{
	struct trace *trace = open_golden("v1/train_no_gpu");

	(void)state;
	assert_int_equal(trace_health(trace)->gpu_complete_ns, -1);
	trace_close(trace);
}

static int stop_at_second(void *context, const struct trace_batch *batch)
{
	(void)batch;
	return ++*(int *)context == 2 ? 77 : 0;
}

static void reading_stops_with_the_callers_answer(void **state)
{
	struct trace *trace = open_golden("v1/train");
	int calls = 0;

	(void)state;
	assert_int_equal(trace_read(trace, UINT64_MAX, stop_at_second, &calls, NULL), 77);
	assert_int_equal(calls, 2);
	trace_close(trace);
}

static int only_copies(void *context, const struct trace_batch *batch)
{
	(*(int *)context)++;
	assert_int_equal(batch->kind, RECORD_KIND_copy);
	assert_int_equal(batch->row_bytes, sizeof(struct record_copy));
	return 0;
}

static void only_the_wanted_kinds_are_given(void **state)
{
	static const char *const names[] = {"v1/train", "v1/train_killed"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct trace *trace = open_golden(names[i]);
		int calls = 0;

		assert_int_equal(
			trace_read(trace, 1ull << RECORD_KIND_copy, only_copies, &calls, NULL), 0);
		assert_true(calls > 0);
		trace_close(trace);
	}
}

/* ---- a part of a trace by time ---- */

struct window_check {
	const struct trace *trace;
	int64_t begin_ns, end_ns;
	uint32_t launches, kernels, outside, memory;
};

static int check_window(void *context, const struct trace_batch *batch)
{
	struct window_check *check = context;

	for (uint32_t i = 0; i < batch->count; i++) {
		const void *row = (const char *)batch->rows + (size_t)i * batch->row_bytes;
		int64_t begin_ns;

		if (batch->kind == RECORD_KIND_memory) {
			check->memory++;
			continue;
		}
		if (batch->kind == RECORD_KIND_launch) {
			const struct record_launch *launch = row;

			begin_ns = trace_ticks_to_ns(check->trace, launch->call.begin_ticks);
			check->launches++;
		} else {
			const struct record_gpu_kernel *kernel = row;

			begin_ns = trace_gpu_to_ns(check->trace, kernel->gpu.begin_ns);
			check->kernels++;
		}
		check->outside += begin_ns < check->begin_ns || begin_ns >= check->end_ns;
	}
	return 0;
}

static struct window_check read_window(struct trace *trace, int64_t begin_ns, int64_t end_ns)
{
	struct window_check check = {.trace = trace, .begin_ns = begin_ns, .end_ns = end_ns};

	trace_set_window(trace, begin_ns, end_ns);
	assert_int_equal(trace_read(trace,
				    1ull << RECORD_KIND_launch | 1ull << RECORD_KIND_gpu_kernel |
					    1ull << RECORD_KIND_memory,
				    check_window, &check, NULL),
			 0);
	assert_int_equal(check.outside, 0);
	return check;
}

/* Parts add up to the whole; what outlives events is in every part. */
static void a_window_gives_the_events_that_begin_in_it(void **state)
{
	struct trace *trace = open_golden("v1/train");
	struct window_check all = read_window(trace, INT64_MIN, INT64_MAX);
	struct window_check one = read_window(trace, INT64_MIN, 60000000);
	struct window_check two = read_window(trace, 60000000, 130000000);
	struct window_check three = read_window(trace, 130000000, INT64_MAX);

	(void)state;
	assert_true(one.launches > 0 && two.launches > 0 && three.launches > 0);
	assert_int_equal(one.launches + two.launches + three.launches, all.launches);
	assert_int_equal(one.kernels + two.kernels + three.kernels, all.kernels);
	assert_int_equal(two.memory, all.memory);
	assert_int_equal(read_window(trace, INT64_MAX - 1, INT64_MAX).launches, 0);
	trace_close(trace);
}

/* ---- corrupt and foreign files ---- */

static const struct {
	const char *name;
	const char *refusal;	 /* part of the sentence; NULL: the file is read */
	uint32_t damaged_chunks; /* the rest: when it is read */
	int damaged_bytes;
	int complete; /* all rows of the good trace are there */
} corrupt[] = {
	{"empty", "the file is empty", 0, 0, 0},
	{"text", "not a gputrace trace", 0, 0, 0},
	{"short_head", "not a gputrace trace", 0, 0, 0},
	{"head_only", "no valid chunk", 0, 0, 0},
	{"damaged_head", "head of the trace is damaged", 0, 0, 0},
	{"newer_major", "format version 3.0", 0, 0, 0},
	{"newer_minor", NULL, 0, 0, 1},
	{"cut_in_chunk", NULL, 0, 1, 0},
	{"payload_flipped", NULL, 1, 0, 0},
	{"row_count", NULL, 1, 0, 0},
	{"decoded_bytes", NULL, 1, 0, 0},
	{"payload_bytes", NULL, 0, 1, 0},
	{"unknown_chunk_type", NULL, 0, 0, 0},
	{"zeros_as_records", NULL, 1, 0, 1},
	{"columns_of_zeros", NULL, 0, 0, 1},
	{"unknown_encoding", NULL, 0, 0, 1},
	{"unknown_kind", NULL, 0, 0, 1},
	{"index_beyond_the_file", NULL, 0, 0, 1},
	{"index_points_elsewhere", NULL, 0, 0, 1},
};

static void check_corrupt(size_t i)
{
	char path[4096];
	struct trace *trace;
	struct trace_rows rows;
	struct error err = {0};
	int rc;

	snprintf(path, sizeof(path), "%s/corrupt/%s.gtrace", trace_dir(), corrupt[i].name);
	rc = trace_open(path, &trace, &err);
	if (corrupt[i].refusal) {
		assert_int_equal(rc, -EINVAL);
		if (!strstr(err.text, corrupt[i].refusal) || !strstr(err.text, path))
			fail_msg("%s: \"%s\"", corrupt[i].name, err.text);
		assert_null(trace);
		return;
	}
	if (rc < 0)
		fail_msg("%s", err.text);
	assert_int_equal(trace_rows_load(trace, &rows), 0);
	if (trace_health(trace)->damaged_chunks != corrupt[i].damaged_chunks ||
	    (trace_health(trace)->damaged_bytes > 0) != corrupt[i].damaged_bytes)
		fail_msg("%s: %u damaged chunks, %llu damaged bytes", corrupt[i].name,
			 trace_health(trace)->damaged_chunks,
			 (unsigned long long)trace_health(trace)->damaged_bytes);
	assert_int_equal(rows.kinds[RECORD_KIND_launch].count == 4 * 259 &&
				 rows.kinds[RECORD_KIND_sync].count == 8 &&
				 rows.kinds[RECORD_KIND_copy].count == 8,
			 corrupt[i].complete);
	trace_rows_free(&rows);
	trace_close(trace);
}

static void corrupt_files_get_a_clear_answer(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(corrupt) / sizeof(corrupt[0]); i++)
		check_corrupt(i);
}

static void what_is_no_file_gets_a_clear_answer(void **state)
{
	struct trace *trace;
	struct error err = {0};

	(void)state;
	assert_int_equal(trace_open("/nonexistent/x.gtrace", &trace, &err), -ENOENT);
	assert_string_equal(err.text,
			    "Cannot open /nonexistent/x.gtrace: No such file or directory");
	assert_int_equal(trace_open("/", &trace, &err), -EISDIR);
	assert_int_equal(trace_open("/dev/null", &trace, &err), -EINVAL);
	assert_non_null(strstr(err.text, "not a regular file"));
}

/* ---- files that are still written ---- */

static char locked_path[4096];

static void *let_go_soon(void *argument)
{
	usleep(300000);
	flock(*(int *)argument, LOCK_UN);
	return NULL;
}

static void opening_waits_until_the_writer_lets_go(void **state)
{
	struct timespec before, after;
	struct trace *trace;
	pthread_t thread;
	int fd;

	(void)state;
	snprintf(locked_path, sizeof(locked_path), "%s/v1/train.gtrace", trace_dir());
	fd = open(locked_path, O_RDONLY);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_int_equal(pthread_create(&thread, NULL, let_go_soon, &fd), 0);
	assert_int_equal(trace_open(locked_path, &trace, NULL), 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	pthread_join(thread, NULL);
	assert_true((after.tv_sec - before.tv_sec) * 1000 +
			    (after.tv_nsec - before.tv_nsec) / 1000000 >=
		    250);
	trace_close(trace);
	close(fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_golden_trace_has_its_rows),
		cmocka_unit_test(every_version_of_the_format_gives_the_same_rows),
		cmocka_unit_test(the_golden_trace_has_its_descriptions),
		cmocka_unit_test(gpu_times_and_host_times_are_on_one_line),
		cmocka_unit_test(a_killed_session_says_so_and_how_far_it_goes),
		cmocka_unit_test(a_trace_without_gpu_records_says_so),
		cmocka_unit_test(reading_stops_with_the_callers_answer),
		cmocka_unit_test(only_the_wanted_kinds_are_given),
		cmocka_unit_test(a_window_gives_the_events_that_begin_in_it),
		cmocka_unit_test(corrupt_files_get_a_clear_answer),
		cmocka_unit_test(what_is_no_file_gets_a_clear_answer),
		cmocka_unit_test(opening_waits_until_the_writer_lets_go),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
