/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT501: kernels are shorter than the time the host needs from one launch to the next.
 */
#include "rule.h"

#define ISSUE_PERCENT 10.0
/* A kernel inside a CUDA graph costs about this much between kernels; what remains of the idle time
 * after capture. */
#define GRAPH_NODE_NS 1500.0
/* A median needs something to be the median of. */
#define LEAST_KERNELS 10
/* Idle time that this many median intervals per kernel do not explain was spent in other calls. */
#define EXPLAINED 5.0

static void run(struct rule_context *context)
{
	const struct host_stats *host = &context->host;
	double issue_ms = ledger_part_ms(context->ledger, LEDGER_IDLE_ISSUE);
	double percent = ledger_part_percent(context->ledger, LEDGER_IDLE_ISSUE);
	double kernels = (double)host->kernels / context->steady_steps;
	double interval_us = (double)host->median_launch_interval_ns / 1e3;
	double kernel_us = (double)host->median_kernel_ns / 1e3;
	uint32_t call = MODEL_NONE;
	struct finding *finding;

	if (percent < ISSUE_PERCENT) {
		rule_silent(context,
			    "waiting for launches is %.1f %% of the step (raised from %.0f %%)",
			    percent, ISSUE_PERCENT);
		return;
	}
	if (!host->median_launch_interval_ns) {
		rule_not_judged(context, "the launches of this device are not in the file");
		return;
	}
	if (host->median_launch_interval_ns <= host->median_kernel_ns) {
		rule_silent(context,
			    "the median kernel (%.1f us) is longer than the median launch "
			    "interval (%.1f us)",
			    kernel_us, interval_us);
		return;
	}
	if (host->kernels < LEAST_KERNELS) {
		rule_silent(context, "%llu kernels are too few to speak of a launch rate",
			    (unsigned long long)host->kernels);
		return;
	}
	if (issue_ms * 1e3 > EXPLAINED * kernels * interval_us) {
		rule_silent(context,
			    "%.0f launches, one every %.1f us, do not explain %.2f ms of waiting: "
			    "the thread was inside other calls (allocation, module loads)",
			    kernels, interval_us, issue_ms);
		return;
	}
	for (size_t i = 0; i < context->ledger->charge_count && call == MODEL_NONE; i++) {
		if (context->ledger->charges[i].part == LEDGER_IDLE_ISSUE)
			call = context->ledger->charges[i].call;
	}
	finding = rule_raise(context, call);
	finding->cost_ms = issue_ms;
	finding->draws_from = 1u << LEDGER_IDLE_ISSUE;
	finding->per_step = kernels;
	finding->gain_high_ms = issue_ms;
	finding->gain_low_ms = (issue_ms - kernels * GRAPH_NODE_NS / 1e6) / 2;
	finding_number(finding, "kernels_per_step", kernels);
	finding_number(finding, "median_launch_interval_us", interval_us);
	finding_number(finding, "median_kernel_us", kernel_us);
	finding_number(finding, "median_queue_delay_us", (double)host->median_queue_ns / 1e3);
	finding_number(finding, "idle_ms_per_step", issue_ms);
	finding_summary(
		finding,
		"%.0f kernels per %s, median %.1f us long, are launched every %.1f us: the GPU "
		"waits for launches %.2f ms of each %s (%.1f %%).",
		kernels, context->unit, kernel_us, interval_us, issue_ms, context->unit, percent);
	finding_fix(finding,
		    "Capture the step in a CUDA graph (torch.cuda.graph, torch.compile "
		    "mode=\"reduce-overhead\"), fuse small kernels, or use a larger batch.");
	rule_settle(context, finding);
}

/* clang-format off */
const struct rule rule_launch_bound = {
	.name = "launch_bound",
	.id = "GT501",
	.title = "launch bound",
	.page =
"Raised when the ledger part \"launches too slow\" is at least 10 % of the mean steady step and\n"
"the median time from one launch to the next is longer than the median kernel.\n"
"\n"
"A gap is issue-bound when the launching thread was inside CUDA calls, or when the gap is\n"
"shorter than 1 ms or 20 median launch intervals, and no wait had drained the queue.\n"
"\n"
"Gain: up to the whole part; at least half of what a CUDA graph leaves (about 1.5 us per node).\n"
"Silent: long kernels; gaps that a wait or the host's absence explains; fewer than 10\n"
"kernels; waiting that is more than 5 median intervals per kernel, which other calls explain.\n"
"Wrong when: shapes change every step, so that a graph cannot be reused.\n",
	.run = run,
};
/* clang-format on */
