/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the operations of the steady steps; those of graphs are added up by what stands for
 * the executable. A launch is one operation, or the nodes that have its call.
 */
#include "graph_use.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "map.h"

struct pass {
	const struct model *model;
	struct graph_use *uses;
	size_t count, capacity;
	struct map known;    /* index of kernels -> index of uses */
	struct map launches; /* launch calls that were counted */
};

/* The kernel that stands for the graph of this operation, MODEL_NONE: it is of none. */
static uint32_t graph_of(const struct model *model, const struct gpu_op *op)
{
	const struct host_call *call = op->call != MODEL_NONE ? &model->calls[op->call] : NULL;

	if (op->type == GPU_OP_GRAPH)
		return op->detail;
	if (call && call->kind == RECORD_KIND_launch && model->kernels[call->detail].executable)
		return call->detail;
	return MODEL_NONE;
}

static void add(struct pass *pass, const struct gpu_op *op)
{
	uint32_t kernel = graph_of(pass->model, op);
	struct graph_use *use;
	uint64_t *slot;
	bool is_new;

	if (kernel == MODEL_NONE)
		return;
	slot = map_slot(&pass->known, kernel, &is_new);
	if (is_new) {
		if (pass->count == pass->capacity)
			pass->uses = array_grow(pass->uses, &pass->capacity, sizeof(*pass->uses));
		*slot = pass->count;
		pass->uses[pass->count++] = (struct graph_use){.kernel = kernel, .call = op->call};
	}
	use = &pass->uses[*slot];
	use->gpu_ns += op->end_ns - op->begin_ns;
	use->linked_nodes += op->origin != MODEL_NONE;
	is_new = op->type == GPU_OP_GRAPH;
	if (!is_new) {
		use->has_nodes = true;
		map_slot(&pass->launches, op->call, &is_new);
	}
	use->launches += is_new;
}

static int compare_uses(const void *left, const void *right)
{
	const struct graph_use *a = left, *b = right;

	if (a->gpu_ns != b->gpu_ns)
		return a->gpu_ns < b->gpu_ns ? 1 : -1;
	return (a->kernel > b->kernel) - (a->kernel < b->kernel);
}

struct graph_use *graph_use_build(const struct model *model, size_t device, size_t *count)
{
	const struct step_window *windows = model->devices[device].ledger.windows;
	struct pass pass = {.model = model};

	map_init(&pass.known);
	map_init(&pass.launches);
	for (size_t s = 0; windows && s < model->steps.count; s++) {
		size_t first, limit;

		if (model->steps.items[s].kind != STEP_STEADY)
			continue;
		model_ops_between(model, device, windows[s].begin_ns, windows[s].end_ns, &first,
				  &limit);
		for (size_t i = first; i < limit; i++)
			add(&pass, &model->ops[i]);
	}
	map_fini(&pass.known);
	map_fini(&pass.launches);
	if (pass.count)
		qsort(pass.uses, pass.count, sizeof(*pass.uses), compare_uses);
	*count = pass.count;
	return pass.uses;
}
