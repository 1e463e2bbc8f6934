/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT501: kernels are shorter than the time the host needs from one launch to the next.
 */
#include "rule.h"

#define ISSUE_PERCENT 10.0
/* A kernel inside a CUDA graph costs about this much between kernels; what remains of the idle time
 * after capture. */
#define GRAPH_NODE_NS 1500.0
/* A median of fewer says nothing; the ledger needs as many. */
#define LEAST_KERNELS 10

/* Idle time per step inside of calls that are no launches in fact: they allocate or load code. */
static double other_calls_ms(const struct rule_context *context)
{
	int64_t other_ns = 0;

	for (size_t i = 0; i < context->ledger->charge_count; i++)
		other_ns += context->ledger->charges[i].other_ns;
	return rule_ms(context, other_ns);
}

static void run(struct rule_context *context)
{
	const struct host_stats *host = &context->host;
	double other_ms = other_calls_ms(context);
	double issue_ms = ledger_part_ms(context->ledger, LEDGER_IDLE_ISSUE) - other_ms;
	double percent = rule_percent(context, issue_ms);
	uint64_t launched = host->kernels + host->graphs; /* a graph is launched like a kernel */
	double kernels = (double)launched / context->steady_steps;
	double interval_us = (double)host->median_launch_interval_ns / 1e3;
	double kernel_us = (double)host->median_kernel_ns / 1e3;
	uint32_t call = MODEL_NONE;
	struct finding *finding;

	if (percent < ISSUE_PERCENT) {
		rule_silent(context,
			    "waiting for launches is %.1f %% of the step (raised from %.0f %%); "
			    "allocating and loading code take another %.1f %%",
			    percent, ISSUE_PERCENT, rule_percent(context, other_ms));
		return;
	}
	if (launched < LEAST_KERNELS) {
		rule_not_judged(context, "%llu kernels are too few to speak of a launch rate",
				(unsigned long long)launched);
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
"Raised when the ledger part \"launches too slow\", without what allocates or loads code, is at\n"
"least 10 % of the mean steady step and the median time from one launch to the next is longer\n"
"than the median kernel.\n"
"\n"
"A gap is issue-bound when the launching thread was inside CUDA calls, or when the gap is\n"
"shorter than 1 ms or 20 median launch intervals, and no wait had drained the queue. Calls of\n"
"that length that allocate or free, or launch a kernel for the first time, do not count here.\n"
"\n"
"Gain: up to all of it; at least half of what a CUDA graph leaves (about 1.5 us per node).\n"
"Silent: long kernels; gaps that a wait, allocation, loading or the host's absence explain.\n"
"Not judged: fewer than 10 kernels, of which no median speaks.\n"
"Wrong when: shapes change every step, so that a graph cannot be reused.\n",
	.run = run,
};
/* clang-format on */
