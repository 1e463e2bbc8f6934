/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which operations count, of which kind they are, and the tables over the whole device.
 */
#include "hta_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array_len.h"
#include "xmalloc.h"

#define LANE_OTHER	  HTA_KIND_COUNT /* busy, and of no kind */
#define LANE_COUNT	  (HTA_KIND_COUNT + 1)
#define SHORT_CALL_US	  50
#define DELAYED_LAUNCH_US 100

static const char *const kind_keys[] = {
#define KIND(name, key, label) [HTA_##name] = key,
	HTA_KINDS(KIND)
#undef KIND
};

static const char *const copy_names[] = {
#define COPY(name, key) [HTA_COPY_##name] = key,
	HTA_COPIES(COPY)
#undef COPY
};

const char *hta_kind_key(enum hta_kind kind)
{
	return kind_keys[kind];
}

const char *hta_copy_name(enum hta_copy copy)
{
	return copy_names[copy];
}

/* Kineto's names are readable ones, return type included; ours are mangled, whose plain name stands
 * for the beginning of the readable one. */
enum hta_kind hta_kind_of_op(const struct model *model, const struct gpu_op *op)
{
	const struct model_kernel *kernel;
	const char *name;

	if (op->type != GPU_OP_KERNEL)
		return HTA_MEMORY;
	kernel = &model->kernels[op->detail];
	name = strncmp(kernel->name, "_Z", 2) ? kernel->name : kernel->short_name;
	if (!strncmp(name, "nccl", 4) && strstr(name, "Kernel"))
		return HTA_COMMUNICATION;
	if (!strncmp(name, "Memcpy", 6) || !strncmp(name, "Memset", 6) || !strncmp(name, "dma", 3))
		return HTA_MEMORY;
	if (strstr(kernel->name, "Memcpy") || strstr(kernel->name, "Sync"))
		return HTA_KIND_COUNT;
	return HTA_COMPUTATION;
}

bool hta_scope_has(const struct hta_scope *scope, const struct gpu_op *op)
{
	if (scope->launched_before_ns == INT64_MAX)
		return true;
	return op->call != MODEL_NONE &&
	       scope->model->calls[op->call].begin_ns < scope->launched_before_ns;
}

/* With two steps of torch.profiler or more: where the last one begins. */
static int64_t last_step_begin(const struct model *model)
{
	int64_t last_ns = INT64_MAX;
	size_t count = 0;

	for (size_t i = 0; i < model->step_mark_count; i++) {
		if (model->step_marks[i].kind != STEP_MARK_TORCH)
			continue;
		last_ns = model->step_marks[i].begin_ns; /* they are in the order of time */
		count++;
	}
	return count > 1 ? last_ns : INT64_MAX;
}

/* Everything from `from_ns` to `to_ns`, in which no operation begins. */
static void sweep_advance(struct hta_tables *tables, const int64_t *lane_end, int64_t from_ns,
			  int64_t to_ns)
{
	while (from_ns < to_ns) {
		unsigned int kinds = 0;
		int64_t until_ns = to_ns;
		bool is_busy = false;

		for (int lane = 0; lane < LANE_COUNT; lane++) {
			if (lane_end[lane] <= from_ns)
				continue;
			is_busy = true;
			if (lane < HTA_KIND_COUNT)
				kinds |= 1u << lane;
			if (lane_end[lane] < until_ns)
				until_ns = lane_end[lane];
		}
		if (kinds)
			tables->kinds_ns[kinds] += until_ns - from_ns;
		if (!is_busy)
			tables->idle_ns += until_ns - from_ns;
		from_ns = until_ns;
	}
}

static void sweep_device(const struct hta_scope *scope, struct hta_tables *tables)
{
	const struct model *model = scope->model;
	const struct model_device *device = &model->devices[scope->device];
	int64_t lane_end[LANE_COUNT], begin_ns = 0, end_ns = 0, now_ns = 0;

	for (int lane = 0; lane < LANE_COUNT; lane++)
		lane_end[lane] = INT64_MIN;
	for (size_t i = device->first_op; i < device->first_op + device->op_count; i++) {
		const struct gpu_op *op = &model->ops[i];
		enum hta_kind kind;

		if (!hta_scope_has(scope, op))
			continue;
		kind = hta_kind_of_op(model, op);
		if (!tables->operations++)
			begin_ns = now_ns = end_ns = op->begin_ns;
		sweep_advance(tables, lane_end, now_ns, op->begin_ns);
		now_ns = op->begin_ns;
		if (op->end_ns > lane_end[kind])
			lane_end[kind] = op->end_ns;
		if (op->end_ns > end_ns)
			end_ns = op->end_ns;
	}
	sweep_advance(tables, lane_end, now_ns, end_ns);
	tables->kernel_ns = end_ns - begin_ns;
	for (unsigned int kinds = 1; kinds < HTA_KIND_SETS; kinds++) {
		bool computes = kinds >> HTA_COMPUTATION & 1;
		bool communicates = kinds >> HTA_COMMUNICATION & 1;

		if (computes)
			tables->compute_ns += tables->kinds_ns[kinds];
		if (communicates)
			tables->communication_ns += tables->kinds_ns[kinds];
		if (computes && communicates)
			tables->overlapped_ns += tables->kinds_ns[kinds];
	}
	tables->non_compute_ns = tables->kernel_ns - tables->idle_ns - tables->compute_ns;
}

static int compare_kernels(const void *left, const void *right)
{
	const struct hta_kernel *a = left, *b = right;

	if (a->sum_us != b->sum_us)
		return a->sum_us < b->sum_us ? 1 : -1;
	return (a->kernel > b->kernel) - (a->kernel < b->kernel);
}

/* Mean and deviation in one pass, by Welford's recurrence. */
static void kernels_build(const struct hta_scope *scope, struct hta_tables *tables)
{
	const struct model *model = scope->model;
	const struct model_device *device = &model->devices[scope->device];
	size_t used = 0;

	tables->kernels = xcalloc(model->kernel_count + 1, sizeof(*tables->kernels));
	for (size_t i = device->first_op; i < device->first_op + device->op_count; i++) {
		const struct gpu_op *op = &model->ops[i];
		struct hta_kernel *kernel;
		double us = (double)(op->end_ns - op->begin_ns) / 1e3, off;

		if (op->type != GPU_OP_KERNEL || !hta_scope_has(scope, op))
			continue;
		kernel = &tables->kernels[op->detail];
		kernel->kernel = op->detail;
		kernel->kind = hta_kind_of_op(model, op);
		if (!kernel->count++)
			kernel->min_us = us;
		kernel->sum_us += us;
		kernel->min_us = us < kernel->min_us ? us : kernel->min_us;
		kernel->max_us = us > kernel->max_us ? us : kernel->max_us;
		off = us - kernel->mean_us;
		kernel->mean_us += off / (double)kernel->count;
		kernel->std_us += off * (us - kernel->mean_us);
	}
	for (size_t i = 0; i < model->kernel_count; i++) {
		struct hta_kernel *kernel = &tables->kernels[i];

		if (!kernel->count || kernel->kind > HTA_COMMUNICATION)
			continue;
		kernel->std_us =
			kernel->count > 1 ? sqrt(kernel->std_us / (double)(kernel->count - 1)) : 0;
		tables->kernels[used++] = *kernel;
	}
	tables->kernel_count = used;
	if (used)
		qsort(tables->kernels, used, sizeof(*tables->kernels), compare_kernels);
}

static bool is_launch_api(const char *api)
{
	static const char *const launches[] = {"cudaLaunchKernel", "cudaLaunchKernelExC",
					       "cudaMemcpyAsync", "cudaMemsetAsync"};

	for (size_t i = 0; i < ARRAY_LEN(launches); i++) {
		if (!strcmp(launches[i], api))
			return true;
	}
	return false;
}

static void launches_build(const struct hta_scope *scope, struct hta_tables *tables)
{
	const struct model *model = scope->model;
	const struct model_device *device = &model->devices[scope->device];
	struct value_list calls = {0}, works = {0}, delays = {0};

	for (size_t i = device->first_op; i < device->first_op + device->op_count; i++) {
		const struct gpu_op *op = &model->ops[i];
		const struct host_call *call;
		double call_us, work_us, delay_us;

		if (op->call == MODEL_NONE || !hta_scope_has(scope, op))
			continue;
		call = &model->calls[op->call];
		if (!is_launch_api(model->apis[call->api]))
			continue;
		call_us = (double)(call->end_ns - call->begin_ns) / 1e3;
		work_us = (double)(op->end_ns - op->begin_ns) / 1e3;
		delay_us = op->begin_ns > call->end_ns ? (double)(op->begin_ns - call->end_ns) / 1e3
						       : 0;
		value_list_add(&calls, call_us);
		value_list_add(&works, work_us);
		value_list_add(&delays, delay_us);
		tables->short_kernels += call_us <= SHORT_CALL_US && work_us < call_us;
		tables->slow_calls += call_us > SHORT_CALL_US;
		tables->delayed_launches += delay_us > DELAYED_LAUNCH_US;
	}
	tables->launch_call_us = value_stats_of(&calls);
	tables->launch_gpu_us = value_stats_of(&works);
	tables->launch_delay_us = value_stats_of(&delays);
	value_list_free(&calls);
	value_list_free(&works);
	value_list_free(&delays);
}

void hta_tables_build(const struct model *model, size_t device, struct hta_tables *tables)
{
	struct hta_scope scope = {model, device, last_step_begin(model)};

	memset(tables, 0, sizeof(*tables));
	tables->is_cut = scope.launched_before_ns != INT64_MAX;
	sweep_device(&scope, tables);
	kernels_build(&scope, tables);
	launches_build(&scope, tables);
	hta_streams_build(&scope, tables);
	hta_bandwidth_build(&scope, tables);
}

void hta_tables_free(struct hta_tables *tables)
{
	free(tables->streams);
	free(tables->kernels);
	memset(tables, 0, sizeof(*tables));
}
