/* SPDX-License-Identifier: Apache-2.0 */
/* nsys exports made with SQLite: versions with other columns, several processes, damage. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "import_fixture.h"

#define STRINGS                                                                                    \
	"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"                             \
	"INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'kernel<float>'), "       \
	"(3, 'cudaMemcpyAsync_v3020'), (4, 'registered'), (5, 'cudaMalloc_v3020'), "               \
	"(6, 'ampere_sgemm_64x64_tn');"
#define RUNTIME                                                                                    \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, \"end\" INTEGER, globalTid "     \
	"INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);"
#define KERNELS                                                                                    \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, \"end\" INTEGER, deviceId "       \
	"INTEGER, "                                                                                \
	"streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, "      \
	"gridX "                                                                                   \
	"INTEGER, blockX INTEGER);"
#define COPIES                                                                                     \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, \"end\" INTEGER, deviceId "       \
	"INTEGER, "                                                                                \
	"streamId INTEGER, correlationId INTEGER, bytes INTEGER, copyKind INTEGER, srcKind "       \
	"INTEGER, "                                                                                \
	"dstKind INTEGER);"
#define RANGES                                                                                     \
	"CREATE TABLE NVTX_EVENTS (start INTEGER, \"end\" INTEGER, eventType INTEGER, text TEXT, " \
	"globalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER);"

static size_t make_database(const char *sql, char **bytes)
{
	char path[] = "/tmp/gputrace-nsys-test-XXXXXX", *message = NULL;
	sqlite3 *db;
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s", message);
	sqlite3_close(db);
	off_t size = lseek(fd, 0, SEEK_END);
	*bytes = malloc((size_t)size + 1);
	assert_int_equal(pread(fd, *bytes, (size_t)size, 0), size);
	close(fd);
	unlink(path);
	return (size_t)size;
}

static void import_sql(const char *sql, struct imported *out)
{
	char *bytes;
	size_t size = make_database(sql, &bytes);
	import_bytes(bytes, size, false, out);
	free(bytes);
}

static void rows_become_records(void **state)
{
	struct imported in;
	struct record_gpu_kernel kernel;
	struct record_launch launch;
	struct record_copy copy;
	(void)state;
	import_sql(
		STRINGS RUNTIME KERNELS COPIES
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 150, 84000000000, 7, 1, 0), "
		"(200, 260, 84000000000, 8, 3, 0);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 51000000000, 0, 7, 7, 0, 2, "
		"9, 64);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (300, 400, 0, 7, 8, 5000000000, 1, "
		"0, 2);",
		&in);
	if (in.rc)
		fail_msg("%s", in.err.text);
	assert_true(imported_record(&in, RECORD_KIND_gpu_kernel, 0, &kernel, NULL));
	/* Fifty seconds do not fit into 32 bits of nanoseconds. */
	assert_true(kernel.gpu.end_ns - kernel.gpu.begin_ns == 50999999000);
	assert_string_equal(imported_name(&in, NAME_KERNEL, kernel.kernel), "kernel<float>");
	assert_int_equal(kernel.grid[0], 9);
	assert_true(imported_record(&in, RECORD_KIND_launch, 0, &launch, NULL));
	assert_string_equal(imported_name(&in, NAME_API, launch.call.api), "cudaLaunchKernel");
	assert_int_equal(launch.call.correlation, kernel.gpu.correlation);
	assert_true(imported_record(&in, RECORD_KIND_copy, 0, &copy, NULL));
	assert_true(copy.size_bytes == 5000000000);
	assert_int_equal(copy.direction, COPY_H2D);
	assert_int_equal(copy.source_kind, MEMORY_PAGEABLE);
	imported_free(&in);
}

static void processes_keep_their_correlations_apart(void **state)
{
	struct imported in;
	struct record_gpu_kernel one, two;
	struct record_launch first, second;
	(void)state;
	/* globalPid and globalTid: the process stands above 24 bits. */
	import_sql(
		STRINGS RUNTIME KERNELS
		"CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
		"INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (4, 0, 10), (6, 0, 11);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 150, 10 * 16777216 + 1, 7, "
		"1, 0), "
		"(100, 150, 11 * 16777216 + 1, 7, 1, 0);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
		"(1000, 2000, 0, 7, 7, 10 * 16777216, 2, 9, 64), "
		"(1000, 2000, 0, 7, 7, 11 * 16777216, 2, 9, 64);",
		&in);
	if (in.rc)
		fail_msg("%s", in.err.text);
	assert_true(imported_record(&in, RECORD_KIND_gpu_kernel, 0, &one, NULL));
	assert_true(imported_record(&in, RECORD_KIND_gpu_kernel, 1, &two, NULL));
	assert_true(imported_record(&in, RECORD_KIND_launch, 0, &first, NULL));
	assert_true(imported_record(&in, RECORD_KIND_launch, 1, &second, NULL));
	assert_int_not_equal(one.gpu.correlation, two.gpu.correlation);
	assert_int_equal(first.call.correlation, one.gpu.correlation);
	assert_int_equal(second.call.correlation, two.gpu.correlation);
	assert_int_equal(one.gpu.device, 4);
	assert_int_equal(two.gpu.device, 6);
	imported_free(&in);
}

#define TWO_PROCESSES                                                                              \
	STRINGS RUNTIME KERNELS RANGES                                                             \
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES "                                  \
		"(100, 150, 10 * 16777216 + 1, 7, 1, 0), (100, 150, 11 * 16777216 + 1, 7, 1, 0), " \
		"(100, 150, 12 * 16777216 + 1, 8, 1, 0);"                                          \
		"INSERT INTO NVTX_EVENTS VALUES (100, 900, 59, 'ten', 10 * 16777216 + 1, NULL, "   \
		"0, 0), "                                                                          \
		"(100, 900, 59, 'eleven', 11 * 16777216 + 1, NULL, 0, 0);"                         \
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "                                   \
		"(1000, 2000, 0, 7, 7, 10 * 16777216, 2, 9, 64), "                                 \
		"(1000, 2500, 0, 7, 7, 11 * 16777216, 6, 9, 64);"

static void one_process_of_several_is_imported_alone(void **state)
{
	char path[] = "/tmp/gputrace-nsys-test-XXXXXX";
	struct import_options options = {.process = 11, .replace = true};
	struct import_report report;
	struct error err = {0};
	char folder[] = "/tmp/gputrace-nsys-out-XXXXXX", *bytes, name[64];
	size_t size = make_database(TWO_PROCESSES, &bytes);
	int64_t *ids;
	int fd = mkstemp(path), dir_fd;
	(void)state;
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
	free(bytes);
	/* Process 12 made a call and has no GPU work: a launcher. */
	assert_int_equal(import_processes(path, &ids), 2);
	assert_int_equal(ids[0], 10);
	assert_int_equal(ids[1], 11);
	free(ids);
	assert_non_null(mkdtemp(folder));
	dir_fd = open(folder, O_RDONLY | O_DIRECTORY);
	assert_int_equal(import_file(path, dir_fd, "one.gtrace", &options, &report, &err), 0);
	assert_int_equal(report.gpu_records, 1);
	assert_int_equal(report.calls, 1);
	assert_int_equal(report.records, 3); /* and the range */
	options.process = 12;
	assert_int_equal(import_file(path, dir_fd, "one.gtrace", &options, &report, &err), 0);
	assert_int_equal(report.gpu_records, 0);
	options.process = 99;
	assert_int_not_equal(import_file(path, dir_fd, "one.gtrace", &options, &report, &err), 0);
	assert_non_null(strstr(err.text, "nothing of process 99"));
	snprintf(name, sizeof(name), "%s/one.gtrace", folder);
	unlink(name);
	close(dir_fd);
	rmdir(folder);
	unlink(path);
}

static void recordings_of_one_process_have_no_list(void **state)
{
	static const char *const paths[] = {"/dev/null", "/nonexistent", "/tmp"};
	int64_t *ids;
	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_int_equal(import_processes(paths[i], &ids), 0);
		assert_null(ids);
	}
}

static void ranges_become_marks_and_operators(void **state)
{
	struct imported in;
	struct record_mark mark, registered, open;
	struct record_launch launch;
	struct record_gemm gemm;
	(void)state;
	import_sql(
		STRINGS RUNTIME RANGES KERNELS
		"INSERT INTO NVTX_EVENTS VALUES (0, NULL, 75, 'my domain', NULL, NULL, 3, NULL), "
		"(10, 900, 59, 'step 1', 1, NULL, 3, 42), (20, 30, 60, NULL, 1, 4, 0, NULL), "
		"(25, NULL, 59, 'open', 1, NULL, 0, NULL), "
		"(100, 300, 59, 'aten::mm, seq = 3, op_id = 9, sizes = [[4, 8], [8, 2]]', 1, NULL, "
		"0, "
		"NULL);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (150, 200, 1, 7, 1, 0);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2000, 0, 7, 7, 0, 6, 1, 1);",
		&in);
	if (in.rc)
		fail_msg("%s", in.err.text);
	assert_true(imported_record(&in, RECORD_KIND_mark, 0, &mark, NULL));
	assert_string_equal(imported_name(&in, NAME_MARK, mark.name), "step 1");
	assert_string_equal(imported_name(&in, NAME_MARK, mark.domain), "my domain");
	assert_int_equal(mark.value, 42);
	assert_int_equal(mark.type, MARK_RANGE);
	assert_true(imported_record(&in, RECORD_KIND_mark, 1, &registered, NULL));
	assert_string_equal(imported_name(&in, NAME_MARK, registered.name), "registered");
	assert_int_equal(registered.type, MARK_SPAN);
	assert_true(imported_record(&in, RECORD_KIND_mark, 2, &open, NULL));
	assert_int_equal(open.end_ticks, 0);
	assert_true(imported_record(&in, RECORD_KIND_launch, 0, &launch, NULL));
	assert_true(imported_record(&in, RECORD_KIND_gemm, 0, &gemm, NULL));
	assert_int_equal(gemm.m, 2);
	assert_int_equal(gemm.op_a, 'T'); /* as the kernel's name says */
	assert_int_equal(gemm.op_b, 'N');
	assert_int_equal(launch.call.parent_id, gemm.call.call_id);
	imported_free(&in);
}

static void allocations_get_their_sizes(void **state)
{
	struct imported in;
	struct record_memory memory;
	(void)state;
	import_sql(STRINGS RUNTIME
		   "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (correlationId INTEGER, globalPid "
		   "INTEGER, "
		   "address INTEGER, bytes INTEGER, memKind INTEGER);"
		   "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (7, 0, 4096, 1000, 2);"
		   "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (150, 200, 1, 7, 5, 2);",
		   &in);
	if (in.rc)
		fail_msg("%s", in.err.text);
	assert_true(imported_record(&in, RECORD_KIND_memory, 0, &memory, NULL));
	assert_int_equal(memory.size_bytes, 1000);
	assert_int_equal(memory.address, 4096);
	assert_int_equal(memory.op, MEMORY_ALLOC);
	assert_int_equal(memory.call.status, 2);
	imported_free(&in);
}

static void bad_rows_are_counted(void **state)
{
	struct imported in;
	(void)state;
	import_sql(
		STRINGS KERNELS
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2000, 0, 7, 7, 0, 2, 9, 64), "
		"(2000, 1000, 0, 7, 7, 0, 2, 9, 64), ('soon', 2000, 0, 7, 7, 0, 2, 9, 64), "
		"(NULL, NULL, 0, 7, 7, 0, 2, 9, 64), (0, 0, 0, 7, 7, 0, 2, 9, 64), "
		"(1000, 9223372036854775807, 0, 7, 7, 0, 2, 9, 64), "
		"(-9223372036854775808, 5, 0, 7, 7, 0, 2, 9, 64), "
		"(1500, 1600, -5, -7, -7, -1, 99, -9, 64);",
		&in);
	if (in.rc)
		fail_msg("%s", in.err.text);
	assert_int_equal(in.report.gpu_records, 2);
	assert_int_equal(in.report.lost, 6);
	imported_free(&in);
}

static void times_before_the_start_are_kept(void **state)
{
	struct imported in;
	struct record_launch launch;
	(void)state;
	import_sql(STRINGS RUNTIME
		   "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (-3000, -500, 1, 7, 1, 0), "
		   "(100, 200, 1, 8, 1, 0);",
		   &in);
	if (in.rc)
		fail_msg("%s", in.err.text);
	assert_int_equal(in.report.lost, 0);
	assert_true(imported_record(&in, RECORD_KIND_launch, 0, &launch, NULL));
	assert_int_equal(trace_ticks_to_ns(in.trace, launch.call.begin_ticks), 0);
	imported_free(&in);
}

static void other_databases_are_refused(void **state)
{
	static const struct {
		const char *sql, *reason;
	} rows[] = {
		{"CREATE TABLE cookies (a);", "not one that nsys exported"},
		/* A view by that name could run anything. */
		{"CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start;",
		 "not one that nsys exported"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct imported in;
		import_sql(rows[i].sql, &in);
		if (!in.rc || !strstr(in.err.text, rows[i].reason) || in.left_files)
			fail_msg("row %zu: rc %d, \"%s\"", i, in.rc, in.err.text);
		imported_free(&in);
	}
}

static void damaged_databases_are_errors(void **state)
{
	char *bytes;
	size_t size = make_database(STRINGS RUNTIME KERNELS
				    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
				    "(1000, 2000, 0, 7, 7, 0, 2, 9, 64);",
				    &bytes);
	(void)state;
	for (size_t cut = 16; cut < size; cut += 509) {
		struct imported in;
		import_bytes(bytes, cut, false, &in);
		assert_true(in.rc == 0 || in.err.text[0]);
		assert_false(in.left_files);
		imported_free(&in);
	}
	unsigned seed = 7;
	for (int round = 0; round < 300; round++) {
		char *copy = malloc(size);
		memcpy(copy, bytes, size);
		for (int flips = 0; flips < 8; flips++) {
			seed = seed * 1103515245 + 12345;
			copy[16 + (seed >> 8) % (size - 16)] ^= (char)(1u << (seed >> 29));
		}
		struct imported in;
		import_bytes(copy, size, false, &in);
		assert_true(in.rc == 0 || in.err.text[0]);
		imported_free(&in);
		free(copy);
	}
	free(bytes);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_become_records),
		cmocka_unit_test(processes_keep_their_correlations_apart),
		cmocka_unit_test(one_process_of_several_is_imported_alone),
		cmocka_unit_test(recordings_of_one_process_have_no_list),
		cmocka_unit_test(ranges_become_marks_and_operators),
		cmocka_unit_test(allocations_get_their_sizes),
		cmocka_unit_test(bad_rows_are_counted),
		cmocka_unit_test(times_before_the_start_are_kept),
		cmocka_unit_test(other_databases_are_refused),
		cmocka_unit_test(damaged_databases_are_errors),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
