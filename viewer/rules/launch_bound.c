/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT501: kernels are shorter than the time the host needs from one launch to the next.
 */
#include <stdlib.h>

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

/* ---- of totals ---- */

#define TOTALS_PERCENT 30.0
#define TOTALS_LEAST   100

struct sums {
	uint64_t count;
	int64_t duration_ns;
	uint32_t site; /* of the longest row */
};

static struct sums sum_of(const struct rule_context *context, bool is_gpu)
{
	const struct call_total_query query = {.is_gpu = is_gpu,
					       .device = (uint16_t)context->device};
	size_t count;
	struct call_total *rows = call_totals_list(context->model, &query, &count);
	struct sums sums = {0, 0, 0};

	for (size_t i = 0; i < count; i++) {
		bool is_launch =
			rows[i].kind == RECORD_KIND_launch || rows[i].kind == RECORD_KIND_gemm ||
			rows[i].kind == RECORD_KIND_conv || rows[i].kind == RECORD_KIND_gpu_kernel;

		if (!is_launch || (rows[i].flags & TOTAL_CAPTURED))
			continue;
		if (!sums.count)
			sums.site = rows[i].site;
		sums.count += rows[i].count;
		sums.duration_ns += rows[i].duration_ns;
	}
	free(rows);
	return sums;
}

static void raise_totals(struct rule_context *context, const struct sums *launches,
			 const struct sums *kernels)
{
	struct finding *finding = rule_raise(context, MODEL_NONE);
	double launch_us = (double)launches->duration_ns / (double)launches->count / 1e3;
	double kernel_us = (double)kernels->duration_ns / (double)kernels->count / 1e3;

	finding->site = launches->site;
	finding->cost_ms = (double)launches->duration_ns / 1e6;
	finding->per_step = (double)launches->count;
	finding_number(finding, "launches_per_run", (double)launches->count);
	finding_number(finding, "mean_launch_call_us", launch_us);
	finding_number(finding, "mean_kernel_us", kernel_us);
	finding_summary(finding,
			"%llu launches took %.2f ms of the run's %.2f ms inside their calls alone, "
			"%.1f us each; their kernels are %.1f us long in the mean, %.2f ms in all. "
			"By totals: how long the GPU waited is not judged.",
			(unsigned long long)launches->count, finding->cost_ms, context->step_ms,
			launch_us, kernel_us, (double)kernels->duration_ns / 1e6);
	finding_fix(finding,
		    "Capture the step in a CUDA graph (torch.cuda.graph, torch.compile "
		    "mode=\"reduce-overhead\"), fuse small kernels, or use a larger batch.");
	rule_settle(context, finding);
}

static void judge_totals(struct rule_context *context)
{
	struct sums launches = sum_of(context, false), kernels = sum_of(context, true);
	double percent = rule_percent(context, (double)launches.duration_ns / 1e6);

	if (launches.count < TOTALS_LEAST)
		rule_silent(context, "only %llu launches in the run",
			    (unsigned long long)launches.count);
	else if (!kernels.count)
		rule_not_judged(context, "there are no GPU times to compare launches with");
	else if (percent < TOTALS_PERCENT)
		rule_silent(context,
			    "by totals, launch calls took %.1f %% of the run (raised from %.0f %%)",
			    percent, TOTALS_PERCENT);
	else if (launches.duration_ns / (int64_t)launches.count <=
		 kernels.duration_ns / (int64_t)kernels.count)
		rule_silent(context, "by totals, kernels are longer than the calls that launch "
				     "them, in the mean");
	else
		raise_totals(context, &launches, &kernels);
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
"Wrong when: shapes change every step, so that a graph cannot be reused.\n"
"\n"
"By totals (GPUTRACE_MODE=summary, sampled launches): raised when launch calls took at least 30 %\n"
"of the run and the mean call is longer than the mean kernel; no gain is announced.\n",
	.run = run,
	.judge_totals = judge_totals,
};
/* clang-format on */
