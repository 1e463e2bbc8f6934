/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of version 2 that the recorder made of programs on the simulated stack, with the kinds of
 * records that training_trace.c does not have: convolutions, what CUPTI told of memory and pools,
 * totals. What a released version wrote must read the same for ever.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "record.h"
#include "trace_check.h"
#include "trace_reader.h"
#include "trace_rows.h"

static struct trace *open_recorded(const char *name, struct trace_rows *rows)
{
	const char *folder = getenv("GPUTRACE_TEST_TRACES");
	struct trace_check check;
	struct trace *trace;
	struct error err = {0};
	char path[4096];

	assert_non_null(folder);
	snprintf(path, sizeof(path), "%s/v2/%s.gtrace", folder, name);
	assert_int_equal(trace_check(path, &check, &err), 0);
	assert_true(trace_check_is_clean(&check));
	assert_int_equal(check.session_end, SESSION_EXITED);
	trace_check_fini(&check);
	if (trace_open(path, &trace, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(trace_rows_load(trace, rows), 0);
	assert_int_equal(trace_health(trace)->lost_total, 0);
	assert_string_equal(trace_info(trace, "host.name"), "node17");
	return trace;
}

/* ---- convolutions ---- */

struct wanted_conv {
	const char *api;
	uint32_t call_id, status;
	uint32_t batch, channels_in, channels_out, height, width, filter_height, filter_width;
	uint8_t dimensions, op, layout, type, type_compute, math_flags;
};

#define LAYER 16, 34, 128, 56, 48, 3, 5, 2
#define PLAN  8, 20, 64, 32, 32, 3, 3, 2
#define HALF  CONV_CHANNELS_LAST, ELEMENT_F16, ELEMENT_F32
#define FLOAT CONV_CHANNELS_FIRST, ELEMENT_F32, ELEMENT_F32

static const struct wanted_conv wanted_convs[] = {
	{"cudnnConvolutionForward", 11, 0, LAYER, CONV_FORWARD, HALF, 0},
	{"cudnnConvolutionBackwardData", 13, 0, LAYER, CONV_BACKWARD_DATA, HALF, 0},
	{"cudnnConvolutionBackwardFilter", 15, 0, LAYER, CONV_BACKWARD_FILTER, HALF, 0},
	{"cudnnConvolutionForward", 17, 0, LAYER, CONV_FORWARD, FLOAT, 1},
	{"cudnnConvolutionForward", 21, 0, LAYER, CONV_FORWARD, FLOAT, 2},
	{"cudnnConvolutionForward", 23, 2000, 0, 0, 0, 0, 0, 0, 0, 0, CONV_FORWARD, 0, 0, 0, 0},
	{"cudnnBackendExecute", 26, 0, PLAN, CONV_FORWARD, HALF, 0},
	{"cudnnBackendExecute", 1, 0, PLAN, CONV_FORWARD, HALF, 0},
};

static void expect_conv(const struct trace *trace, const struct record_conv *conv,
			const struct wanted_conv *wanted)
{
	assert_string_equal(trace_name(trace, NAME_API, conv->call.api), wanted->api);
	assert_int_equal(conv->call.call_id, wanted->call_id);
	assert_int_equal(conv->call.status, wanted->status);
	assert_true(conv->call.end_ticks > conv->call.begin_ticks);
	assert_int_equal(conv->batch, wanted->batch);
	assert_int_equal(conv->channels_in, wanted->channels_in);
	assert_int_equal(conv->channels_out, wanted->channels_out);
	assert_int_equal(conv->in[1], wanted->height);
	assert_int_equal(conv->in[2], wanted->width);
	assert_int_equal(conv->filter[1], wanted->filter_height);
	assert_int_equal(conv->filter[2], wanted->filter_width);
	assert_int_equal(conv->dimensions, wanted->dimensions);
	assert_int_equal(conv->op, wanted->op);
	assert_int_equal(conv->layout_x, wanted->layout);
	assert_int_equal(conv->type_x, wanted->type);
	assert_int_equal(conv->type_compute, wanted->type_compute);
	assert_int_equal(conv->math_flags, wanted->math_flags);
}

static void convolutions_keep_their_shapes(void **state)
{
	const size_t count = sizeof(wanted_convs) / sizeof(wanted_convs[0]);
	struct trace_rows rows;
	struct trace *trace = open_recorded("conv", &rows);
	const struct record_conv *last;

	(void)state;
	assert_int_equal(rows.kinds[RECORD_KIND_conv].count, count);
	for (size_t i = 0; i < count; i++)
		expect_conv(trace, trace_rows_at(&rows, RECORD_KIND_conv, i), &wanted_convs[i]);
	last = trace_rows_at(&rows, RECORD_KIND_conv, count - 1);
	assert_int_equal(last->stride[1], 2);
	assert_int_equal(last->out[2], 16);
	assert_int_equal(last->groups, 1);
	assert_int_equal(rows.kinds[RECORD_KIND_gpu_kernel].count, 10);
	trace_rows_free(&rows);
	trace_close(trace);
}

/* ---- what CUPTI told of memory ---- */

static void memory_and_pools_that_cupti_told_of_keep_their_numbers(void **state)
{
	static const uint8_t pool_ops[] = {GPU_POOL_CREATE, GPU_POOL_TRIM, GPU_POOL_DESTROY};
	uint64_t taken = 0, allocations = 0, frees = 0, of_pools = 0;
	struct trace_rows rows;
	struct trace *trace = open_recorded("allocations", &rows);

	(void)state;
	assert_int_equal(rows.kinds[RECORD_KIND_gpu_memory].count, 26);
	for (size_t i = 0; i < 26; i++) {
		const struct record_gpu_memory *memory =
			trace_rows_at(&rows, RECORD_KIND_gpu_memory, i);

		assert_int_equal(memory->gpu.begin_ns, memory->gpu.end_ns);
		assert_int_not_equal(memory->address, 0);
		allocations += memory->op == MEMORY_ALLOC;
		frees += memory->op == MEMORY_FREE;
		of_pools += memory->pool != 0;
		if (memory->op == MEMORY_ALLOC)
			taken += memory->size_bytes;
	}
	assert_int_equal(allocations, 13);
	assert_int_equal(frees, 13);
	assert_int_equal(of_pools, 8);
	assert_int_equal(taken, 3232840244u);
	assert_int_equal(rows.kinds[RECORD_KIND_gpu_pool].count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct record_gpu_pool *pool = trace_rows_at(&rows, RECORD_KIND_gpu_pool, i);

		assert_int_equal(pool->op, pool_ops[i]);
		if (pool->op != GPU_POOL_TRIM)
			continue;
		assert_int_equal(pool->reserved_bytes, 6291456);
		assert_int_equal(pool->used_bytes, 100);
		assert_true(pool->threshold_bytes == UINT64_MAX);
	}
	trace_rows_free(&rows);
	trace_close(trace);
}

/* ---- totals ---- */

struct sum {
	uint64_t rows, count, failed, size_bytes, duration;
};

static struct sum sum_of(const struct trace_rows *rows, uint8_t total_of, uint8_t flags)
{
	struct sum sum = {0};

	for (size_t i = 0; i < rows->kinds[RECORD_KIND_total].count; i++) {
		const struct record_total *total = trace_rows_at(rows, RECORD_KIND_total, i);

		if (total->total_of != total_of || total->flags != flags)
			continue;
		sum.rows++;
		sum.count += total->count;
		sum.failed += total->failed;
		sum.size_bytes += total->size_bytes;
		sum.duration += total->duration;
	}
	return sum;
}

static void totals_keep_their_sums(void **state)
{
	struct trace_rows rows;
	struct trace *trace = open_recorded("summary", &rows);
	struct sum sum;

	(void)state;
	assert_string_equal(trace_info(trace, "recording.mode"), "summary");
	assert_int_equal(rows.kinds[RECORD_KIND_total].count, 47);
	/* Of 6 steps with 16 kernels, which are not in the file by themselves. */
	assert_int_equal(rows.kinds[RECORD_KIND_gpu_kernel].count, 0);
	assert_int_equal(rows.kinds[RECORD_KIND_launch].count, 0);
	sum = sum_of(&rows, RECORD_KIND_gpu_kernel, 0);
	assert_int_equal(sum.rows, 2);
	assert_int_equal(sum.count, 96);
	assert_int_equal(sum.duration, 2 * 3255600);
	sum = sum_of(&rows, RECORD_KIND_launch, 0);
	assert_int_equal(sum.count, 96);
	sum = sum_of(&rows, RECORD_KIND_launch, TOTAL_NESTED);
	assert_int_equal(sum.count, 96);
	sum = sum_of(&rows, RECORD_KIND_copy, 0);
	assert_int_equal(sum.rows, 1);
	assert_int_equal(sum.count, 6);
	assert_int_equal(sum.size_bytes, 24);
	assert_int_equal(sum.failed, 0);
	sum = sum_of(&rows, RECORD_KIND_set, 0);
	assert_int_equal(sum.size_bytes, 134217728);
	trace_rows_free(&rows);
	trace_close(trace);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(convolutions_keep_their_shapes),
		cmocka_unit_test(memory_and_pools_that_cupti_told_of_keep_their_numbers),
		cmocka_unit_test(totals_keep_their_sums),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
