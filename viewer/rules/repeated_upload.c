/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT105: the same host memory is uploaded step after step. It may be new data in an old buffer: the
 * content is not compared, so the finding asks and promises nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "map.h"
#include "rule.h"
#include "text.h"

#define LEAST_STEPS  5
#define COST_PERCENT 1.0

/* One place in host memory that is uploaded. */
struct upload {
	uint64_t address, size_bytes;
	size_t last_step, steps, copies;
	int64_t busy_ns;
	uint32_t call;
	bool is_pinned;
};

struct uploads {
	const struct model *model;
	struct map known;
	struct upload *items;
	size_t count, capacity;
	size_t seen, unknown; /* copies with and without an address */
	size_t step;	      /* being looked at, from 1 */
};

static void add_upload(struct uploads *uploads, const struct gpu_op *op)
{
	const struct transfer *transfer = NULL;
	struct upload *upload;
	uint64_t *slot;
	bool is_new;

	if (op->type != GPU_OP_COPY || uploads->model->transfers[op->detail].direction != COPY_H2D)
		return;
	uploads->seen++;
	if (op->call != MODEL_NONE && uploads->model->calls[op->call].kind == RECORD_KIND_copy)
		transfer = &uploads->model->transfers[uploads->model->calls[op->call].detail];
	if (!transfer || !transfer->host_address) {
		uploads->unknown++;
		return;
	}
	slot = map_slot(&uploads->known, map_mix(transfer->host_address, transfer->size_bytes),
			&is_new);
	if (is_new) {
		if (uploads->count == uploads->capacity)
			uploads->items = array_grow(uploads->items, &uploads->capacity,
						    sizeof(*uploads->items));
		*slot = uploads->count;
		uploads->items[uploads->count++] = (struct upload){
			.address = transfer->host_address,
			.size_bytes = transfer->size_bytes,
			.call = op->call,
		};
	}
	upload = &uploads->items[*slot];
	if (upload->last_step != uploads->step)
		upload->steps++;
	upload->last_step = uploads->step;
	upload->is_pinned |= uploads->model->transfers[op->detail].source_kind == MEMORY_PINNED;
	upload->copies++;
	upload->busy_ns += op->end_ns - op->begin_ns;
}

static void find_uploads(const struct rule_context *context, struct uploads *uploads)
{
	const struct model *model = context->model;

	for (size_t s = 0; s < model->steps.count; s++) {
		const struct step_window *window = &context->ledger->windows[s];
		size_t first, limit;

		if (model->steps.items[s].kind != STEP_STEADY)
			continue;
		uploads->step++;
		model_ops_between(model, context->device, window->begin_ns, window->end_ns, &first,
				  &limit);
		for (size_t i = first; i < limit; i++)
			add_upload(uploads, &model->ops[i]);
	}
}

/* Buffers of one size that are uploaded from one place, such as the halves of a double buffer. */
struct upload_group {
	const struct upload *first; /* NULL: not begun */
	size_t buffers, copies, least_steps, most_steps;
	int64_t busy_ns;
};

static bool is_repeated(const struct rule_context *context, const struct upload *upload,
			size_t steps)
{
	return upload->steps >= LEAST_STEPS && upload->steps * 2 >= steps &&
	       rule_share(context, upload->busy_ns) >= COST_PERCENT;
}

static struct upload_group group_of(const struct rule_context *context,
				    const struct uploads *uploads, size_t at)
{
	struct upload_group group = {.first = &uploads->items[at],
				     .least_steps = uploads->items[at].steps};

	for (size_t i = 0; i < uploads->count; i++) {
		const struct upload *upload = &uploads->items[i];

		if (upload->is_pinned || !is_repeated(context, upload, uploads->step) ||
		    upload->size_bytes != group.first->size_bytes ||
		    model_call_site(context->model, upload->call) !=
			    model_call_site(context->model, group.first->call))
			continue;
		/* Reported with the one before. */
		if (i < at) {
			group.first = NULL;
			return group;
		}
		group.buffers++;
		group.copies += upload->copies;
		group.busy_ns += upload->busy_ns;
		if (upload->steps < group.least_steps)
			group.least_steps = upload->steps;
		if (upload->steps > group.most_steps)
			group.most_steps = upload->steps;
	}
	return group;
}

static void raise(struct rule_context *context, const struct upload_group *group, size_t steps)
{
	struct finding *finding = rule_raise(context, group->first->call);
	double per_step = (double)group->copies / context->steady_steps;
	char buffers[48] = "host memory are", seen[48];

	if (group->buffers > 1)
		snprintf(buffers, sizeof(buffers), "each of %zu buffers are", group->buffers);
	if (group->least_steps < group->most_steps)
		snprintf(seen, sizeof(seen), "%zu to %zu", group->least_steps, group->most_steps);
	else
		snprintf(seen, sizeof(seen), "%zu", group->most_steps);
	finding->cost_ms = rule_ms(context, group->busy_ns);
	finding->per_step = per_step;
	finding_number(finding, "bytes_per_step", per_step * (double)group->first->size_bytes);
	finding_number(finding, "copy_bytes", (double)group->first->size_bytes);
	finding_number(finding, "buffers", (double)group->buffers);
	finding_number(finding, "copies_per_step", per_step);
	finding_number(finding, "steps", (double)group->least_steps);
	finding_number(finding, "copy_ms_per_step", finding->cost_ms);
	finding_text(finding, "content", "not checked");
	finding_summary(finding,
			"The same %.2f MiB of %s uploaded in %s of %zu steady steps (%s %s per "
			"step, %.2f ms of copying); the content was not checked, it may be new "
			"each time.",
			(double)group->first->size_bytes / 1048576, buffers, seen, steps,
			text_count(per_step).text, text_noun(per_step, "time", "times"),
			finding->cost_ms);
	finding_fix(finding, "If the data does not change (a mask, a table, constants), upload it "
			     "once before the loop and keep it on the GPU.");
	rule_settle(context, finding);
	finding->severity = SEVERITY_INFO;
}

static void run(struct rule_context *context)
{
	struct uploads uploads = {.model = context->model};
	size_t raised = 0, staging = 0;

	map_init(&uploads.known);
	find_uploads(context, &uploads);
	for (size_t i = 0; i < uploads.count; i++) {
		struct upload_group group;

		if (!is_repeated(context, &uploads.items[i], uploads.step))
			continue;
		/* A good loader fills one pinned buffer again and again. */
		if (uploads.items[i].is_pinned) {
			staging++;
			continue;
		}
		raised++;
		group = group_of(context, &uploads, i);
		if (group.first)
			raise(context, &group, uploads.step);
	}
	if (!raised && uploads.seen && uploads.unknown == uploads.seen)
		rule_not_judged(context, "the host addresses of the uploads were not recorded");
	else if (!raised && staging)
		rule_not_judged(context,
				"%zu pinned %s uploaded in every step, as a loader does "
				"it; whether their content changes was not checked",
				staging, text_noun((double)staging, "buffer is", "buffers are"));
	else if (!raised)
		rule_silent(context, uploads.seen ? "no host memory is uploaded in 5 steady steps "
						    "or more at 1 %% of the step"
						  : "nothing is uploaded in the steady steps");
	free(uploads.items);
	map_fini(&uploads.known);
}

/* clang-format off */
const struct rule rule_repeated_upload = {
	.name = "repeated_upload",
	.id = "GT105",
	.title = "repeated upload",
	.page =
"Raised as an information when the same pageable host address and size is copied to the GPU in at least\n"
"5 steady steps and in half of them, and these copies take at least 1 % of the mean step. Buffers of\n"
"one size that are uploaded from one place are one finding.\n"
"\n"
"Whether the bytes are the same is not checked, so no gain is stated. If the data is constant,\n"
"all of the copy's exposed time is the gain.\n"
"\n"
"Silent: buffers that change from step to step. Not judged: pinned buffers, because a good loader\n"
"fills the same ones again and again; imported recordings, which have no host addresses.\n"
"Wrong when: the buffer is filled anew in each step, which is what a good loader does.\n",
	.run = run,
};
/* clang-format on */
