/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items are found by a hash of what identifies them. Exposed time comes from a sweep like the
 * ledger's: of each level (compute, communication, copies) it keeps the operation that ends last,
 * which is running at every instant at which the level is busy, so that an instant goes to one
 * operation and the sum over sites is the ledger's part.
 */
#include "stack_cost.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "map.h"

enum level { LEVEL_COMPUTE, LEVEL_COMM, LEVEL_COPY, LEVEL_COUNT };

struct builder {
	const struct model *model;
	struct stack_costs *out;
	struct map known;
	size_t capacity;
};

/* Where the graph was captured that a call launches; 0: it launches none, or nothing is known. */
static uint32_t capture_site_of(const struct model *model, uint32_t call)
{
	const struct host_call *launch = &model->calls[call];

	if (launch->kind != RECORD_KIND_launch || launch->detail >= model->kernel_count)
		return 0;
	return model->kernels[launch->detail].capture_site;
}

/* The item of one leaf below one call; call MODEL_NONE: the launch is not in the file. */
static struct stack_cost *item_of(struct builder *builder, uint32_t call, enum stack_leaf type,
				  uint32_t leaf, uint16_t device)
{
	const struct model *model = builder->model;
	struct stack_cost item = {.type = (uint8_t)type, .leaf = leaf, .device = device};
	uint64_t key, *slot;
	bool is_new;

	if (call != MODEL_NONE) {
		item.site = model_call_site(model, call);
		item.api = model->calls[model_call_root(model, call)].api;
		item.capture_site = capture_site_of(model, call);
		if (type == STACK_LEAF_CALL)
			item.thread = model->calls[call].thread;
	}
	key = map_mix(map_mix(item.capture_site, (uint64_t)item.site << 32 | leaf),
		      (uint64_t)item.api << 48 | (uint64_t)device << 32 |
			      (uint64_t)item.thread << 16 | (uint64_t)type);
	slot = map_slot(&builder->known, key, &is_new);
	if (is_new) {
		struct stack_costs *out = builder->out;

		if (out->count == builder->capacity)
			out->items =
				array_grow(out->items, &builder->capacity, sizeof(*out->items));
		*slot = out->count;
		out->items[out->count++] = item;
	}
	return &builder->out->items[*slot];
}

static struct stack_cost *item_of_op(struct builder *builder, const struct gpu_op *op)
{
	const struct transfer *transfer;

	if (model_op_has_kernel(op))
		return item_of(builder, model_op_call(op), STACK_LEAF_KERNEL, op->detail,
			       op->device);
	if (op->type == GPU_OP_SET)
		return item_of(builder, op->call, STACK_LEAF_SET, 0, op->device);
	transfer = &builder->model->transfers[op->detail];
	return item_of(builder, op->call, STACK_LEAF_COPY, transfer->direction, op->device);
}

static void add_op(struct builder *builder, const struct gpu_op *op)
{
	struct stack_cost *item = item_of_op(builder, op);

	item->gpu_ns += op->end_ns - op->begin_ns;
	if (op->type == GPU_OP_COPY)
		item->bytes += builder->model->transfers[op->detail].size_bytes;
}

static void add_call(struct builder *builder, uint32_t index)
{
	const struct host_call *call = &builder->model->calls[index];
	struct stack_cost *item;

	if (call->flags & CALL_REDUNDANT)
		return;
	item = item_of(builder, index, STACK_LEAF_CALL, 0, MODEL_NO_DEVICE);
	if (call->parent == MODEL_NONE) {
		item->calls++;
		item->host_ns += call->end_ns - call->begin_ns;
	}
	item->launches += call->kind == RECORD_KIND_launch;
	item->copies += call->kind == RECORD_KIND_copy;
	item->syncs += call->kind == RECORD_KIND_sync;
	/* Without GPU times only the calls tell what was copied. */
	if (call->kind == RECORD_KIND_copy && !builder->model->has_gpu_times)
		item->bytes += builder->model->transfers[call->detail].size_bytes;
}

static bool is_in_steady_step(const struct step_list *steps, int64_t time_ns)
{
	size_t low = 0, high = steps->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (steps->items[middle].host_begin_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low && steps->items[low - 1].kind == STEP_STEADY &&
	       time_ns < steps->items[low - 1].host_end_ns;
}

static void add_steady_ops(struct builder *builder, size_t device)
{
	const struct model *model = builder->model;
	const struct step_window *windows = model->devices[device].ledger.windows;

	for (size_t s = 0; windows && s < model->steps.count; s++) {
		size_t first, limit;

		if (model->steps.items[s].kind != STEP_STEADY ||
		    windows[s].end_ns <= windows[s].begin_ns)
			continue;
		model_ops_between(model, device, windows[s].begin_ns, windows[s].end_ns, &first,
				  &limit);
		for (size_t i = first; i < limit; i++)
			add_op(builder, &model->ops[i]);
	}
}

/* Of [begin, end) what lies in steady windows; *step is where the last search ended. */
static int64_t steady_length(const struct model *model, const struct step_window *windows,
			     size_t *step, int64_t begin_ns, int64_t end_ns)
{
	int64_t length_ns = 0;

	for (; *step < model->steps.count; ++*step) {
		const struct step_window *window = &windows[*step];
		int64_t from_ns = begin_ns > window->begin_ns ? begin_ns : window->begin_ns;
		int64_t to_ns = end_ns < window->end_ns ? end_ns : window->end_ns;

		if (window->end_ns == window->begin_ns)
			continue;
		if (from_ns < to_ns && model->steps.items[*step].kind == STEP_STEADY)
			length_ns += to_ns - from_ns;
		if (window->end_ns > end_ns)
			break;
	}
	return length_ns;
}

static enum level level_of(const struct model *model, const struct gpu_op *op)
{
	enum ledger_part part = ledger_part_of_op(model, op);

	return part == LEDGER_COMM ? LEVEL_COMM : part == LEDGER_COPY ? LEVEL_COPY : LEVEL_COMPUTE;
}

static void add_exposed(struct builder *builder, size_t device)
{
	const struct model *model = builder->model;
	const struct model_device *of = &model->devices[device];
	const struct gpu_op *last[LEVEL_COUNT] = {NULL, NULL, NULL};
	int64_t now_ns = of->begin_ns;
	size_t step = 0;

	for (size_t i = 0; of->ledger.windows && i <= of->op_count; i++) {
		const struct gpu_op *op = i < of->op_count ? &model->ops[of->first_op + i] : NULL;
		int64_t until_ns = op ? op->begin_ns : of->end_ns;

		while (now_ns < until_ns) {
			int64_t stop_ns = until_ns;
			int busy = LEVEL_COUNT;

			for (int level = LEVEL_COUNT; level-- > 0;) {
				if (!last[level] || last[level]->end_ns <= now_ns)
					continue;
				busy = level;
				if (last[level]->end_ns < stop_ns)
					stop_ns = last[level]->end_ns;
			}
			if (busy == LEVEL_COMM || busy == LEVEL_COPY)
				item_of_op(builder, last[busy])->exposed_ns += steady_length(
					model, of->ledger.windows, &step, now_ns, stop_ns);
			now_ns = stop_ns;
		}
		if (op) {
			enum level level = level_of(model, op);

			if (!last[level] || op->end_ns > last[level]->end_ns)
				last[level] = op;
		}
	}
}

static void add_idle(struct builder *builder, size_t device)
{
	const struct device_ledger *ledger = &builder->model->devices[device].ledger;

	for (size_t i = 0; i < ledger->charge_count; i++) {
		const struct idle_charge *charge = &ledger->charges[i];

		item_of(builder, charge->call, STACK_LEAF_IDLE, charge->part, (uint16_t)device)
			->idle_ns += charge->idle_ns;
	}
}

static int compare_items(const void *left, const void *right)
{
	const struct stack_cost *a = left, *b = right;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	if (a->api != b->api)
		return a->api < b->api ? -1 : 1;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->leaf != b->leaf)
		return a->leaf < b->leaf ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

void stack_costs_build(const struct model *model, enum stack_scope scope, struct stack_costs *out)
{
	struct builder builder = {.model = model, .out = out};

	memset(out, 0, sizeof(*out));
	map_init(&builder.known);
	for (uint32_t i = 0; i < model->call_count; i++) {
		if (scope == STACK_WHOLE_RUN ||
		    is_in_steady_step(&model->steps, model->calls[i].begin_ns))
			add_call(&builder, i);
	}
	for (size_t i = 0; scope == STACK_WHOLE_RUN && i < model->op_count; i++)
		add_op(&builder, &model->ops[i]);
	for (size_t d = 0; d < model->device_count; d++) {
		if (scope == STACK_STEADY)
			add_steady_ops(&builder, d);
		add_exposed(&builder, d);
		add_idle(&builder, d);
	}
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), compare_items);
	map_fini(&builder.known);
}

void stack_costs_free(struct stack_costs *costs)
{
	free(costs->items);
	memset(costs, 0, sizeof(*costs));
}
