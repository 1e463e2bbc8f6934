/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same sweep as the ledger's, reduced to one lane: what lies between the latest end so far and
 * the next begin is a gap.
 */
#include "gap_walk.h"

#include "model_internal.h"

static void visit_gap(const struct model *model, struct idle_gap *gap,
		      void (*visit)(void *context, const struct idle_gap *gap), void *context)
{
	struct gap_verdict verdict =
		idle_gap_judge(model, gap->begin_ns, gap->end_ns, &model->ops[gap->op]);

	gap->part = (uint8_t)verdict.part;
	gap->call = verdict.call;
	gap->is_readback = verdict.is_readback;
	visit(context, gap);
}

void gap_walk(const struct model *model, size_t device,
	      void (*visit)(void *context, const struct idle_gap *gap), void *context)
{
	const struct model_device *of = &model->devices[device];
	const struct step_window *windows = of->ledger.windows;
	int64_t busy_until_ns = of->begin_ns;
	size_t step = 0;

	for (size_t i = of->first_op; i < of->first_op + of->op_count; i++) {
		const struct gpu_op *op = &model->ops[i];

		if (op->begin_ns > busy_until_ns) {
			struct idle_gap gap = {.begin_ns = busy_until_ns,
					       .end_ns = op->begin_ns,
					       .op = i,
					       .step = SIZE_MAX};

			/* Windows are in the order of time; empty ones are 0 long. */
			while (windows && step < model->steps.count &&
			       windows[step].end_ns <= gap.begin_ns)
				step++;
			if (windows && step < model->steps.count &&
			    windows[step].begin_ns <= gap.begin_ns &&
			    gap.begin_ns < windows[step].end_ns)
				gap.step = step;
			visit_gap(model, &gap, visit, context);
		}
		if (op->end_ns > busy_until_ns)
			busy_until_ns = op->end_ns;
	}
}
