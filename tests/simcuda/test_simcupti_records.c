/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the simulated CUPTI equal the driver's own log, have the stride of the version that is
 * reported, and are lost or spoiled on demand. Each case runs in a process of its own.
 */
#include "simtest_cupti.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cublas_v2.h>

#include "simtest_child.h"

static const char *kind_text(int kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return "kernel";
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return "copy";
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return "set";
	default:
		return "";
	}
}

/* gpu CORRELATION KIND BEGIN_NS END_NS stream= bytes= name= direction= */
static bool is_same(const struct simtest_line *line, const struct simtest_record *s)
{
	static const char *const directions[] = {"", "h2d", "d2h", "",	  "",
						 "", "",    "",	   "d2d", "h2h"};
	bool is_kernel = s->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;

	return strtoul(simtest_log_field(line, 1), NULL, 10) == s->correlation &&
	       !strcmp(simtest_log_field(line, 2), kind_text(s->kind)) &&
	       strtoull(simtest_log_field(line, 3), NULL, 10) == s->begin_ns &&
	       strtoull(simtest_log_field(line, 4), NULL, 10) == s->end_ns &&
	       strtoul(simtest_log_value(line, "stream"), NULL, 10) == s->stream &&
	       (is_kernel || strtoull(simtest_log_value(line, "bytes"), NULL, 10) == s->bytes) &&
	       (s->kind != CUPTI_ACTIVITY_KIND_MEMCPY ||
		!strcmp(simtest_log_value(line, "direction"), directions[s->direction])) &&
	       (!is_kernel || !strcmp(simtest_log_value(line, "name"), s->name));
}

/* Every gpu line of the log has its record and every record of the GPU its line. */
static void check_against_log(void)
{
	struct simtest_log *log = simtest_log_read();
	size_t lines = 0, records = 0;

	for (size_t i = 0; i < log->count; i++) {
		size_t matches = 0;

		if (strcmp(simtest_log_field(&log->lines[i], 0), "gpu"))
			continue;
		lines++;
		for (size_t j = 0; j < simtest_cupti.count; j++)
			matches += *kind_text(simtest_cupti.records[j].kind) &&
				   is_same(&log->lines[i], &simtest_cupti.records[j]);
		if (matches != 1)
			fprintf(stderr, "gpu line %zu: correlation %s, kind %s\n", i,
				simtest_log_field(&log->lines[i], 1),
				simtest_log_field(&log->lines[i], 2));
		SIMTEST_EQUAL(matches, 1);
	}
	for (size_t j = 0; j < simtest_cupti.count; j++)
		records += *kind_text(simtest_cupti.records[j].kind) != 0;
	SIMTEST_EQUAL(records, lines);
	SIMTEST_EQUAL(lines, 160);
	simtest_log_free(log);
}

static void check_records(void)
{
	size_t dropped = 1;

	simtest_cupti_start();
	simtest_cupti_work();
	SIMTEST_EQUAL(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
	SIMTEST_EQUAL(simtest_cupti_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 40);
	SIMTEST_EQUAL(simtest_cupti_count(CUPTI_ACTIVITY_KIND_MEMCPY), 80);
	SIMTEST_EQUAL(simtest_cupti_count(CUPTI_ACTIVITY_KIND_MEMSET), 40);
	SIMTEST_CHECK(simtest_cupti_count(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) >= 1);
	check_against_log();
	SIMTEST_EQUAL(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
	SIMTEST_EQUAL(dropped, 0);
	SIMTEST_CHECK(simtest_cupti.buffers >= 2); /* 8 KiB hold some 40 kernel records */
	SIMTEST_EQUAL(simtest_cupti.asked, simtest_cupti.buffers);
}

static void records_equal_the_log_of_the_driver(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_records, NULL), 0);
}

static void records_equal_the_log_in_real_time(void **state)
{
	const char *const settings[] = {"SIMCUDA_TIME_SCALE=1", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(check_records, settings), 0);
}

static void records_equal_the_log_when_reordered(void **state)
{
	const char *const settings[] = {"SIMCUDA_CUPTI_FAULT=reorder", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(check_records, settings), 0);
}

static const char *expected_version;

static void check_version(void)
{
	uint32_t version = 0;

	SIMTEST_EQUAL(cuptiGetVersion(&version), CUPTI_SUCCESS);
	SIMTEST_EQUAL(version, strtoul(expected_version, NULL, 10));
	check_records();
}

static void every_version_has_records_that_can_be_walked(void **state)
{
	static const char *const versions[] = {"18", "19",     "22",	 "24",	  "26",
					       "28", "130000", "130001", "130100"};
	char setting[64];
	const char *const settings[] = {setting, NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		expected_version = versions[i];
		snprintf(setting, sizeof(setting), "SIMCUDA_CUPTI_VERSION=%s", versions[i]);
		assert_int_equal(simtest_child_run(check_version, settings), 0);
	}
}

/* The bytes from one record to the next, which no client may compute but a test may look at. */
static size_t stride_of_first(uint8_t *buffer, size_t valid)
{
	CUpti_Activity *first = NULL, *second = NULL;

	if (cuptiActivityGetNextRecord(buffer, valid, &first) != CUPTI_SUCCESS)
		return 0;
	second = first;
	if (cuptiActivityGetNextRecord(buffer, valid, &second) != CUPTI_SUCCESS)
		return 0;
	return (size_t)((uint8_t *)second - (uint8_t *)first);
}

static void check_strides(void)
{
	static const struct {
		const char *version;
		int kind;
		size_t stride;
	} expected[] = {
		{"18", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 200},
		{"19", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 208},
		{"24", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 208},
		{"24", CUPTI_ACTIVITY_KIND_MEMCPY, 88},
		{"26", CUPTI_ACTIVITY_KIND_MEMCPY, 96},
		{"26", CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 56},
		{"22", CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 40},
		{"22", CUPTI_ACTIVITY_KIND_MEMSET, 88},
		{"130000", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 216},
	};
	const char *version = getenv("SIMCUDA_CUPTI_VERSION");

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		_Alignas(8) uint8_t buffer[512] = {0};
		CUpti_Activity head = {.kind = (CUpti_ActivityKind)expected[i].kind};

		if (strcmp(expected[i].version, version))
			continue;
		memcpy(buffer, &head, sizeof(head));
		memcpy(buffer + expected[i].stride, &head, sizeof(head));
		SIMTEST_EQUAL(stride_of_first(buffer, 2 * expected[i].stride), expected[i].stride);
	}
}

static void strides_are_those_of_the_version(void **state)
{
	static const char *const versions[] = {"18", "19", "22", "24", "26", "130000"};
	char setting[64];
	const char *const settings[] = {setting, NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		snprintf(setting, sizeof(setting), "SIMCUDA_CUPTI_VERSION=%s", versions[i]);
		assert_int_equal(simtest_child_run(check_strides, settings), 0);
	}
}

static void check_drops(void)
{
	size_t dropped = 0, gpu_records;

	simtest_cupti_start();
	SIMTEST_EQUAL(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), CUPTI_SUCCESS);
	simtest_cupti_work();
	SIMTEST_EQUAL(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
	SIMTEST_EQUAL(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
	gpu_records = simtest_cupti.count;
	SIMTEST_EQUAL(dropped, 22); /* every seventh of 160 */
	SIMTEST_EQUAL(gpu_records + dropped, 160);
	SIMTEST_EQUAL(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
	SIMTEST_EQUAL(dropped, 0);
}

static void lost_records_are_counted(void **state)
{
	const char *const settings[] = {"SIMCUDA_CUPTI_FAULT=drop=7", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(check_drops, settings), 0);
}

static void check_small_buffers(void)
{
	size_t dropped = 0;

	simtest_cupti.buffer_bytes = 64;
	simtest_cupti_start();
	simtest_cupti_work();
	SIMTEST_EQUAL(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
	SIMTEST_EQUAL(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
	SIMTEST_EQUAL(dropped, 160); /* no GPU record fits in 64 bytes */
	SIMTEST_EQUAL(simtest_cupti.asked, simtest_cupti.buffers);
}

static void records_without_room_are_counted(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_small_buffers, NULL), 0);
}

static void check_zero_times(void)
{
	size_t without = 0;

	simtest_cupti_start();
	SIMTEST_EQUAL(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), CUPTI_SUCCESS);
	simtest_cupti_work();
	SIMTEST_EQUAL(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
	SIMTEST_EQUAL(simtest_cupti.count, 160);
	for (size_t i = 0; i < simtest_cupti.count; i++)
		without += !simtest_cupti.records[i].begin_ns && !simtest_cupti.records[i].end_ns;
	SIMTEST_EQUAL(without, 16);
}

static void zero_times_come_on_demand(void **state)
{
	const char *const settings[] = {"SIMCUDA_CUPTI_FAULT=zero-times=10", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(check_zero_times, settings), 0);
}

static void check_null_buffers(void)
{
	check_records();
	SIMTEST_EQUAL(simtest_cupti.null_buffers, simtest_cupti.buffers);
}

static void null_buffers_come_on_demand(void **state)
{
	const char *const settings[] = {"SIMCUDA_CUPTI_FAULT=null-buffer", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(check_null_buffers, settings), 0);
}

static void check_peer_copy(void)
{
	void *here = NULL, *there = NULL;

	simtest_cupti_start();
	SIMTEST_EQUAL(cudaMalloc(&here, 1 << 20), cudaSuccess);
	SIMTEST_EQUAL(cudaSetDevice(1), cudaSuccess);
	SIMTEST_EQUAL(cudaMalloc(&there, 1 << 20), cudaSuccess);
	SIMTEST_EQUAL(cudaMemcpy(there, here, 1 << 20, cudaMemcpyDefault), cudaSuccess);
	SIMTEST_EQUAL(cudaDeviceSynchronize(), cudaSuccess);
	SIMTEST_EQUAL(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
	SIMTEST_EQUAL(simtest_cupti_count(CUPTI_ACTIVITY_KIND_MEMCPY2), 1);
	for (size_t i = 0; i < simtest_cupti.count; i++) {
		const struct simtest_record *record = &simtest_cupti.records[i];

		if (record->kind != CUPTI_ACTIVITY_KIND_MEMCPY2)
			continue;
		SIMTEST_EQUAL(record->direction, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
		SIMTEST_EQUAL(record->source_device, 0);
		SIMTEST_EQUAL(record->destination_device, 1);
		SIMTEST_EQUAL(record->bytes, 1 << 20);
	}
}

static void peer_copy_names_both_devices(void **state)
{
	const char *const settings[] = {"SIMCUDA_GPUS=2", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(check_peer_copy, settings), 0);
}

enum { THREADS = 4, SETS = 200 };
static char *set_memory;

static void *set_often(void *argument)
{
	cudaStream_t stream;

	SIMTEST_EQUAL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
	for (int i = 0; i < SETS; i++)
		SIMTEST_EQUAL(cudaMemsetAsync(set_memory, i, 1000 + *(size_t *)argument, stream),
			      cudaSuccess);
	SIMTEST_EQUAL(cudaStreamSynchronize(stream), cudaSuccess);
	return NULL;
}

/* Every record once, whichever thread made the work, delivered it or flushed. */
static void check_threads(void)
{
	size_t sizes[THREADS], per_thread[THREADS] = {0}, dropped = 1;
	pthread_t threads[THREADS];

	SIMTEST_EQUAL(cudaMalloc((void **)&set_memory, 4096), cudaSuccess);
	simtest_cupti_start();
	SIMTEST_EQUAL(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), CUPTI_SUCCESS);
	for (size_t i = 0; i < THREADS; i++) {
		sizes[i] = i;
		SIMTEST_EQUAL(pthread_create(&threads[i], NULL, set_often, &sizes[i]), 0);
	}
	for (int i = 0; i < 50; i++)
		SIMTEST_EQUAL(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
	for (size_t i = 0; i < THREADS; i++)
		SIMTEST_EQUAL(pthread_join(threads[i], NULL), 0);
	SIMTEST_EQUAL(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
	SIMTEST_EQUAL(simtest_cupti.count, THREADS * SETS);
	for (size_t i = 0; i < simtest_cupti.count; i++) {
		SIMTEST_CHECK(simtest_cupti.records[i].bytes - 1000 < THREADS);
		per_thread[simtest_cupti.records[i].bytes - 1000]++;
	}
	for (size_t i = 0; i < THREADS; i++)
		SIMTEST_EQUAL(per_thread[i], SETS);
	SIMTEST_EQUAL(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
	SIMTEST_EQUAL(dropped, 0);
}

static void many_threads_lose_no_record(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_threads, NULL), 0);
}

static void check_incomplete(void)
{
	cublasHandle_t handle;
	const float one = 1, zero = 0;
	uint64_t now_ns = 0;
	float *memory = NULL;

	SIMTEST_EQUAL(cudaMalloc((void **)&memory, 64 << 20), cudaSuccess);
	SIMTEST_EQUAL(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
	simtest_cupti_start();
	/* A tenth of a second on A100; all that counts is whether it is over when it is reported.
	 */
	SIMTEST_EQUAL(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8192, 8192, 16384, &one, memory,
				  8192, memory, 16384, &zero, memory, 8192),
		      CUBLAS_STATUS_SUCCESS);
	SIMTEST_EQUAL(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
	SIMTEST_EQUAL(cuptiGetTimestamp(&now_ns), CUPTI_SUCCESS);
	for (size_t i = 0; i < simtest_cupti.count; i++)
		SIMTEST_CHECK(simtest_cupti.records[i].end_ns <= now_ns);
	SIMTEST_EQUAL(cudaDeviceSynchronize(), cudaSuccess);
	SIMTEST_EQUAL(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
	SIMTEST_EQUAL(simtest_cupti_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
}

static void only_complete_work_has_records(void **state)
{
	const char *const settings[] = {"SIMCUDA_TIME_SCALE=1", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(check_incomplete, settings), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_equal_the_log_of_the_driver),
		cmocka_unit_test(records_equal_the_log_in_real_time),
		cmocka_unit_test(records_equal_the_log_when_reordered),
		cmocka_unit_test(every_version_has_records_that_can_be_walked),
		cmocka_unit_test(strides_are_those_of_the_version),
		cmocka_unit_test(lost_records_are_counted),
		cmocka_unit_test(records_without_room_are_counted),
		cmocka_unit_test(zero_times_come_on_demand),
		cmocka_unit_test(null_buffers_come_on_demand),
		cmocka_unit_test(peer_copy_names_both_devices),
		cmocka_unit_test(many_threads_lose_no_record),
		cmocka_unit_test(only_complete_work_has_records),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
