/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT302: the host buffers that are copied to and from a GPU lie on another NUMA node.
 */
#include "placement_advice.h"

#define FAR_PERCENT  50.0
#define COPY_PERCENT 2.0
#define LEAST_PAGES  8 /* fewer answers are no sample */

static void raise(struct rule_context *context, const struct placement *placement)
{
	struct copy_loss loss = placement_copy_loss(context);
	double far_percent = 100 * (double)placement->pages_far / (double)placement->pages;
	struct finding *finding = rule_raise(
		context, context->copies.group_count ? context->copies.groups[0].call : MODEL_NONE);

	finding->cost_ms = ledger_part_ms(context->ledger, LEDGER_COPY);
	finding->draws_from = 1u << LEDGER_COPY;
	finding->gain_high_ms = loss.high_ms;
	finding_number(finding, "gpu_node", placement->gpu_node);
	finding_number(finding, "pages_node", placement->pages_node);
	finding_number(
		finding, "distance",
		placement_distance(context->model, placement->gpu_node, placement->pages_node));
	finding_number(finding, "far_pages_percent", far_percent);
	finding_number(finding, "pages_sampled", (double)placement->pages);
	placement_add_loss(finding, &loss);
	finding_summary(finding,
			"%.0f %% of %llu sampled pages of this GPU's copy buffers lie far from its "
			"node %d, most of them on node %d. %s",
			far_percent, (unsigned long long)placement->pages, placement->gpu_node,
			placement->pages_node, loss.text);
	finding_fix(
		finding,
		"The thread that first writes a buffer decides where it lies: allocate and fill "
		"it from a thread on node %d%s. Pinned memory never moves afterwards.",
		placement->gpu_node,
		placement->can_bind ? " (`numactl --membind`, or one pool of pinned memory per "
				      "GPU)"
				    : ", for which the job needs CPUs of that node");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	const struct model_source *source = &context->model->source;
	struct placement placement;

	placement_build(context->model, (uint16_t)context->device, &placement);
	if (placement_is_unknown(context, &placement))
		return;
	if (ledger_part_percent(context->ledger, LEDGER_COPY) < COPY_PERCENT)
		rule_silent(context, "exposed copies are %.1f %% of the %s (raised from %.0f %%)",
			    ledger_part_percent(context->ledger, LEDGER_COPY), context->unit,
			    COPY_PERCENT);
	else if (placement.pages < LEAST_PAGES) {
		const char *reason = source->info(source->context, "pages.reason");

		rule_not_judged(context, "%s",
				reason ? reason
				: placement.buffers
					? "the kernel does not say where the pages of "
					  "the copy buffers lie"
					: "no large copy buffer was asked for its pages");
	} else if (100.0 * (double)placement.pages_far < FAR_PERCENT * (double)placement.pages)
		rule_silent(context, "%.0f %% of the sampled pages lie far from the GPU",
			    100 * (double)placement.pages_far / (double)placement.pages);
	else
		raise(context, &placement);
}

/* clang-format off */
const struct rule rule_remote_pages = {
	.name = "remote_pages",
	.id = "GT302",
	.title = "host buffers on a remote NUMA node",
	.page =
"Raised when at least half of the sampled pages of host buffers that are copied to or from a GPU\n"
"lie on NUMA nodes at distance 20 or more from it, and exposed copies are at least 2 % of the step.\n"
"The collector asks the kernel for 16 pages of each large buffer, rarely; it is an estimate for the\n"
"whole.\n"
"\n"
"Cost: the step's exposed copies. Gain: from nothing up to these copies at the rate that the recorded\n"
"link attains, or, where the link is unknown, 30 % of them (published for recent x86 machines; old\n"
"ones lose three quarters, NVLink-C2C two thirds).\n"
"\n"
"Silent: one node; near buffers; few exposed copies. Not judged: no pages were sampled, or the kernel\n"
"does not tell (memory that the GPU's driver mapped).\n"
"Wrong when: few buffers of many were sampled.\n",
	.run = run,
};
/* clang-format on */
