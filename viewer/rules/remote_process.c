/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT301: the calls for a GPU come from CPUs of another NUMA node. And what GT301 to GT303 share.
 */
#include "placement_advice.h"

#define FAR_PERCENT 80.0

static void raise(struct rule_context *context, const struct placement *placement)
{
	struct finding *finding = rule_raise(
		context, context->host.has_thread ? placement_first_launch(context) : MODEL_NONE);
	double slower_ns = placement->far_launch_ns - placement->near_launch_ns;
	double launch_ms = placement->near_launch_ns > 0 && slower_ns > 0
				   ? slower_ns * placement->launches_far_per_step / 1e6
				   : 0;
	struct copy_loss loss = placement_copy_loss(context);

	finding->cost_ms = placement_cost_ms(context);
	finding->draws_from = 1u << LEDGER_COPY | 1u << LEDGER_IDLE_ISSUE;
	finding->gain_high_ms = loss.high_ms + launch_ms;
	finding_number(finding, "gpu_node", placement->gpu_node);
	finding_number(finding, "process_node", placement->far_node);
	finding_number(finding, "distance", placement->distance);
	finding_number(finding, "far_calls_percent", 100 * placement->far_share);
	placement_add_loss(finding, &loss);
	if (launch_ms > 0) {
		finding_number(finding, "near_launch_us", placement->near_launch_ns / 1e3);
		finding_number(finding, "far_launch_us", placement->far_launch_ns / 1e3);
	}
	finding_summary(
		finding,
		"%.0f %% of the calls for this GPU come from CPUs of NUMA node %d; the GPU is "
		"on node %d, at distance %u (10 is local). %s",
		100 * placement->far_share, placement->far_node, placement->gpu_node,
		placement->distance, loss.text);
	placement_fix(finding, placement);
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	struct placement placement;

	placement_build(context->model, (uint16_t)context->device, &placement);
	if (placement_is_unknown(context, &placement))
		return;
	if (!placement.calls)
		rule_not_judged(context, "the CPUs of the launching threads were not sampled");
	else if (100 * placement.far_share < FAR_PERCENT)
		rule_silent(
			context,
			"%.0f %% of the calls come from CPUs far from the GPU's node %d (raised "
			"from %.0f %%)",
			100 * placement.far_share, placement.gpu_node, FAR_PERCENT);
	else if (!placement_matters(context))
		rule_silent(context,
			    "the process runs on node %d, its GPU is on node %d, but copies and "
			    "launches take only %.1f %% of the %s",
			    placement.far_node, placement.gpu_node,
			    rule_percent(context, placement_cost_ms(context)), context->unit);
	else
		raise(context, &placement);
}

/* clang-format off */
const struct rule rule_remote_process = {
	.name = "remote_process",
	.id = "GT301",
	.title = "process on another NUMA node than its GPU",
	.page =
"Raised when at least 80 % of the CUDA calls for a GPU were made on CPUs of a NUMA node whose\n"
"distance from the GPU's node is 20 or more in the firmware's table (10 is local), and exposed\n"
"copies or waiting for launches take at least 2 % of the step. The CPU of a call is the one that its\n"
"thread was seen on last; the collector looks ten times a second.\n"
"\n"
"Cost: the exposed copies and the issue-bound time of the step, which is all that the place can\n"
"touch. Gain: from nothing (on recent x86 machines one large stream hides the distance) up to the\n"
"copies at the rate that the recorded link attains, or, where the link is unknown, the 30 % that is\n"
"published for recent x86 machines; plus launches at the time they take from near CPUs, if some came\n"
"from there in this run.\n"
"\n"
"The fix is a numactl line when the job may use the node's CPUs; otherwise only the scheduler or the\n"
"container's cpuset can help.\n"
"\n"
"Silent: one node; near nodes; jobs that hardly copy and do not wait for launches. Not judged: GPUs\n"
"without a node (many virtual machines), recordings without samples.\n"
"Wrong when: the buffers lie near the GPU although the threads do not (GT302 says where they lie).\n",
	.run = run,
};
/* clang-format on */
