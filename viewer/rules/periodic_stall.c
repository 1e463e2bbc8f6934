/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT504: every so many steps the GPU waits much longer than usual: a checkpoint, garbage
 * collection, logging, validation.
 */
#include "rule.h"
#include "text.h"

#define EXCESS_PERCENT 1.0

static const struct stall *longest_stall(const struct stall_survey *stalls)
{
	const struct stall *longest = &stalls->items[0];

	for (size_t i = 1; i < stalls->count; i++) {
		if (stalls->items[i].excess_ns > longest->excess_ns)
			longest = &stalls->items[i];
	}
	return longest;
}

/* The part of the stalls that lies in steady steps; the others are not in the ledger's means. */
static double steady_excess_ms(const struct rule_context *context)
{
	const struct stall_survey *stalls = &context->stalls;
	int64_t sum_ns = 0;

	for (size_t i = 0; i < stalls->count; i++) {
		if (context->model->steps.items[stalls->items[i].step].kind == STEP_STEADY)
			sum_ns += stalls->items[i].excess_ns;
	}
	return rule_ms(context, sum_ns);
}

static void raise(struct rule_context *context)
{
	const struct stall_survey *stalls = &context->stalls;
	const struct stall *longest = longest_stall(stalls);
	struct finding *finding = rule_raise(context, longest->call);
	double mean_ms = (double)stalls->periodic_ns / 1e6 / (double)stalls->periodic_count;
	double percent = 100.0 * (double)stalls->periodic_ns / (double)stalls->judged_ns;
	bool is_checkpoint = 2 * stalls->checkpoints > stalls->count;

	finding->cost_ms = (double)stalls->periodic_ns / 1e6 / (double)stalls->judged_steps;
	finding->is_beside_step = true;
	finding->per_step = (double)stalls->periodic_count / (double)stalls->judged_steps;
	finding->draws_from = 1u << LEDGER_IDLE_HOST_AWAY | 1u << LEDGER_IDLE_SYNC |
			      1u << LEDGER_IDLE_ISSUE | 1u << LEDGER_COPY;
	finding->gain_high_ms = steady_excess_ms(context);
	finding_number(finding, "period_steps", stalls->period_steps);
	finding_number(finding, "shortest_period_steps", (double)stalls->shortest_period);
	finding_number(finding, "longest_period_steps", (double)stalls->longest_period);
	finding_number(finding, "stalls", (double)stalls->periodic_count);
	finding_number(finding, "mean_stall_ms", mean_ms);
	finding_number(finding, "longest_stall_ms", (double)longest->excess_ns / 1e6);
	finding_number(finding, "share_of_run_percent", percent);
	finding_text(finding, "looks_like", is_checkpoint ? "checkpoint" : "host stall");
	finding_summary(
		finding,
		"Every %.0f steps (%zu to %zu, seen %zu times) the GPU has nothing to do for %.1f "
		"ms longer than usual: %.1f %% of the time of all steps. %s",
		stalls->period_steps, stalls->shortest_period, stalls->longest_period,
		stalls->periodic_count, mean_ms, percent,
		is_checkpoint ? "At least a tenth of the memory in use comes back from the GPU in "
				"these steps: a checkpoint."
			      : "It is a host stall: no GPU work is queued meanwhile.");
	finding_fix(finding, "%s",
		    is_checkpoint
			    ? "Copy the state to pinned memory asynchronously and write it from "
			      "another thread or process (torch.distributed.checkpoint "
			      "async_save), or save less often."
			    : "Find what runs at that interval: Python's garbage collector "
			      "(gc.freeze(), gc.disable() and gc.collect() at a chosen moment), "
			      "logging, evaluation, or a file system that is slow to sync.");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	const struct stall_survey *stalls = &context->stalls;
	double percent;

	if (stalls->judged_steps < STALL_LEAST_STEPS) {
		rule_not_judged(context, "%zu %s too few to see a period (at least %d)",
				stalls->judged_steps,
				text_noun((double)stalls->judged_steps, "step after warm-up is",
					  "steps after warm-up are"),
				STALL_LEAST_STEPS);
		return;
	}
	percent = 100.0 * (double)stalls->periodic_ns / (double)stalls->judged_ns;
	if (stalls->is_periodic && percent >= EXCESS_PERCENT)
		raise(context);
	else if (stalls->is_periodic)
		rule_silent(
			context,
			"stalls every %.0f steps take %.2f %% of the time (raised from %.0f %%)",
			stalls->period_steps, percent, EXCESS_PERCENT);
	else
		rule_silent(context, "%zu of %zu steps stall, without a period", stalls->count,
			    stalls->judged_steps);
}

/* clang-format off */
const struct rule rule_periodic_stall = {
	.name = "periodic_stall",
	.id = "GT504",
	.title = "periodic host stall",
	.page =
"A step stalls when its time without compute and communication is longer than that of the median\n"
"step by at least 20 % of a step and 1 ms; stalls shorter than half the median one are noise.\n"
"Raised when at least three steps stall, four fifths of the distances between them are equal (off by one step or a tenth at most, and three steps or\n"
"more), and the stalls take at least 1 % of the time of all steps after warm-up.\n"
"\n"
"Called a checkpoint when, in most of these steps, at least a tenth of the memory in use comes\n"
"back from the GPU. Else it is a host stall, as by garbage collection or logging.\n"
"Cost: the stalls, spread over all steps. Gain: what of them lies in steady steps; a stall that\n"
"makes its step an outlier (1.5 times the median) is not in the mean step, so the cost alone says\n"
"what it would bring.\n"
"Silent: stalls without a period (GT508 has them), and what happens in every other step.\n"
"Not judged: fewer than eight steps after warm-up.\n"
"Wrong when: another process disturbs the machine at a regular interval.\n",
	.run = run,
};
/* clang-format on */
