/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes over the steady operations: the fastest kernel of every kind and size first, then the
 * sums.
 */
#include "comm_survey.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "map.h"
#include "work_survey.h"

struct survey_pass {
	const struct model *model;
	struct comm_survey *survey;
	struct map fastest;	  /* kind, size and communicator -> ns */
	struct map group_kernels; /* index of ops -> index of collectives + 1 */
	int64_t longest_ns[COMM_KINDS];
	uint32_t longest_call[COMM_KINDS];
	uint64_t *sizes;
	size_t size_count, size_capacity;
};

/* What the kernel moved, for all calls that share it. */
struct moved {
	uint8_t kind;
	uint64_t bytes, hash;
};

static struct moved moved_by(const struct survey_pass *pass, const struct gpu_op *op)
{
	const struct model *model = pass->model;
	struct moved moved = {0, 0, 0};
	const uint64_t *first = map_find(&pass->group_kernels, (uint64_t)(op - model->ops));
	size_t i;

	if (!first) {
		moved.kind = comm_kernel_of(model->kernels[op->detail].name).kind;
		return moved;
	}
	i = (size_t)*first - 1;
	moved.kind = model->collectives[i].kind;
	moved.hash = model->collectives[i].hash;
	for (; i < model->collective_count && model->collectives[i].op == op - model->ops; i++)
		moved.bytes += model->collectives[i].size_bytes;
	return moved;
}

static uint64_t key_of(const struct moved *moved)
{
	return map_mix(map_mix(moved->bytes, moved->hash), moved->kind);
}

static void find_fastest(void *context, const struct gpu_op *op)
{
	struct survey_pass *pass = context;
	uint64_t length_ns = (uint64_t)(op->end_ns - op->begin_ns), *slot;
	struct moved moved;
	bool is_new;

	if (op->type != GPU_OP_KERNEL || op->kernel_class != KERNEL_COMMUNICATION)
		return;
	moved = moved_by(pass, op);
	if (!moved.bytes)
		return;
	slot = map_slot(&pass->fastest, key_of(&moved), &is_new);
	if (is_new || length_ns < *slot)
		*slot = length_ns;
}

static void add_size(struct survey_pass *pass, uint64_t bytes)
{
	if (pass->size_count == pass->size_capacity)
		pass->sizes = array_grow(pass->sizes, &pass->size_capacity, sizeof(*pass->sizes));
	pass->sizes[pass->size_count++] = bytes;
}

static void add_op(void *context, const struct gpu_op *op)
{
	struct survey_pass *pass = context;
	struct comm_survey *survey = pass->survey;
	int64_t length_ns = op->end_ns - op->begin_ns;
	struct comm_use *use;
	struct moved moved;

	if (op->type != GPU_OP_KERNEL || op->kernel_class != KERNEL_COMMUNICATION)
		return;
	moved = moved_by(pass, op);
	use = &survey->kinds[moved.kind < COMM_KINDS ? moved.kind : 0];
	use->busy_ns += length_ns;
	use->kernels++;
	use->bytes += moved.bytes;
	survey->all.busy_ns += length_ns;
	survey->all.kernels++;
	survey->all.bytes += moved.bytes;
	if (length_ns > pass->longest_ns[use - survey->kinds]) {
		pass->longest_ns[use - survey->kinds] = length_ns;
		pass->longest_call[use - survey->kinds] = op->call;
	}
	if (!moved.bytes || length_ns <= 0)
		return;
	survey->sized++;
	survey->sized_ns += length_ns;
	survey->transfer_ns += (int64_t)*map_find(&pass->fastest, key_of(&moved));
	if ((double)moved.bytes / (double)length_ns > survey->best_rate)
		survey->best_rate = (double)moved.bytes / (double)length_ns;
	if (!collective_is_message(moved.kind)) {
		survey->sums++;
		add_size(pass, moved.bytes);
	}
}

static int compare_sizes(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

void comm_survey_build(const struct model *model, size_t device, struct comm_survey *survey)
{
	struct survey_pass pass = {.model = model, .survey = survey};

	memset(survey, 0, sizeof(*survey));
	for (size_t i = 0; i < COMM_KINDS; i++)
		pass.longest_call[i] = MODEL_NONE;
	for (size_t i = model->collective_count; i-- > 0;) {
		if (model->collectives[i].op != MODEL_NONE)
			*map_slot(&pass.group_kernels, model->collectives[i].op, NULL) = i + 1;
	}
	work_visit_steady(model, device, find_fastest, &pass);
	work_visit_steady(model, device, add_op, &pass);
	for (uint8_t kind = 1; kind < COMM_KINDS; kind++) {
		if (survey->kinds[kind].busy_ns > survey->kinds[survey->main_kind].busy_ns)
			survey->main_kind = kind;
	}
	survey->call = pass.longest_call[survey->main_kind];
	if (pass.size_count) {
		qsort(pass.sizes, pass.size_count, sizeof(*pass.sizes), compare_sizes);
		survey->median_bytes = pass.sizes[pass.size_count / 2];
	}
	free(pass.sizes);
	map_fini(&pass.fastest);
	map_fini(&pass.group_kernels);
}

double comm_survey_transfer_share(const struct comm_survey *survey)
{
	return survey->sized_ns > 0 ? (double)survey->transfer_ns / (double)survey->sized_ns : 1;
}
