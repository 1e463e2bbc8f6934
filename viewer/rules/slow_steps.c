/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT508: some steps take more than 1.5 times the median, and not at a regular distance. Says which
 * part of them grew.
 */
#include "rule.h"
#include "text.h"

#define EXCESS_PERCENT 1.0
/* One step alone may be the end of an epoch or of the program. */
#define ALONE_PERCENT 10.0

struct slow_steps {
	size_t count, slowest;
	int64_t excess_ns, slowest_ns;
	double grown_ms[LEDGER_PART_COUNT]; /* of all slow steps, beyond the steady mean */
};

static struct slow_steps find_slow(const struct rule_context *context)
{
	const struct device_ledger *ledger = context->ledger;
	struct slow_steps slow = {.slowest = SIZE_MAX};

	for (size_t i = 0; i < context->model->steps.count; i++) {
		const struct ledger *step = &ledger->steps[i];

		if (context->model->steps.items[i].kind != STEP_OUTLIER ||
		    step->length_ns <= context->stalls.median_ns)
			continue;
		slow.count++;
		slow.excess_ns += step->length_ns - context->stalls.median_ns;
		if (step->length_ns > slow.slowest_ns) {
			slow.slowest_ns = step->length_ns;
			slow.slowest = i;
		}
		for (int part = 0; part < LEDGER_PART_COUNT; part++)
			slow.grown_ms[part] +=
				(double)step->part[part] / LEDGER_UNITS_PER_NS / 1e6 -
				ledger_part_ms(ledger, (enum ledger_part)part);
	}
	return slow;
}

/* The call that ended the longest gap of that step; work that grew has none. */
static uint32_t call_of(const struct rule_context *context, size_t step)
{
	for (size_t i = 0; i < context->stalls.count; i++) {
		if (context->stalls.items[i].step == step)
			return context->stalls.items[i].call;
	}
	return MODEL_NONE;
}

static void raise(struct rule_context *context, const struct slow_steps *slow, double percent)
{
	struct finding *finding = rule_raise(context, call_of(context, slow->slowest));
	double median_ms = (double)context->stalls.median_ns / 1e6;
	int part = 0;

	for (int i = 1; i < LEDGER_PART_COUNT; i++) {
		if (slow->grown_ms[i] > slow->grown_ms[part])
			part = i;
	}
	finding->cost_ms = (double)slow->excess_ns / 1e6 / (double)context->stalls.judged_steps;
	finding->is_beside_step = true;
	finding->per_step = (double)slow->count / (double)context->stalls.judged_steps;
	finding_number(finding, "slow_steps", (double)slow->count);
	finding_number(finding, "judged_steps", (double)context->stalls.judged_steps);
	finding_number(finding, "median_ms", median_ms);
	finding_number(finding, "slowest_ms", (double)slow->slowest_ns / 1e6);
	finding_number(finding, "slowest_step", (double)slow->slowest);
	finding_text(finding, "part", ledger_part_key((enum ledger_part)part));
	finding_number(finding, "part_grew_ms", slow->grown_ms[part] / (double)slow->count);
	finding_number(finding, "share_of_run_percent", percent);
	finding_summary(finding,
			"%zu of %zu steps take more than 1.5 times the median of %.2f ms (the "
			"slowest, number %zu, %.2f ms). What they take beyond that is %.1f %% of "
			"the time of all steps. What grew "
			"most is \"%s\", by %.2f ms in each.",
			slow->count, context->stalls.judged_steps, median_ms, slow->slowest,
			(double)slow->slowest_ns / 1e6, percent,
			ledger_part_label((enum ledger_part)part),
			slow->grown_ms[part] / (double)slow->count);
	finding_fix(finding, "%s",
		    part < LEDGER_COMPUTE_PARTS
			    ? "These steps have more work: sort or pack the samples by length, so "
			      "that steps are alike."
		    : part == LEDGER_COMM
			    ? "Another rank was late: look at the same steps of the other ranks."
			    : "Look at what the host did before the place named here in these "
			      "steps.");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	const struct stall_survey *stalls = &context->stalls;
	struct slow_steps slow;
	double percent;

	if (stalls->judged_steps < STALL_LEAST_STEPS) {
		rule_not_judged(context,
				"%zu %s too few to know the usual one (at "
				"least %d)",
				stalls->judged_steps,
				text_noun((double)stalls->judged_steps, "step after warm-up is",
					  "steps after warm-up are"),
				STALL_LEAST_STEPS);
		return;
	}
	slow = find_slow(context);
	percent = 100.0 * (double)slow.excess_ns / (double)stalls->judged_ns;
	if (stalls->is_periodic && stalls->count >= slow.count)
		rule_silent(context, "the %zu slow steps come back every %.0f steps (GT504)",
			    slow.count, stalls->period_steps);
	else if (slow.count && percent >= (slow.count > 1 ? EXCESS_PERCENT : ALONE_PERCENT))
		raise(context, &slow, percent);
	else
		rule_silent(context,
			    "%zu of %zu steps take more than 1.5 times the median, %.2f %% of the "
			    "time (raised from %.0f %%, one step alone from %.0f %%)",
			    slow.count, stalls->judged_steps, percent, EXCESS_PERCENT,
			    ALONE_PERCENT);
}

/* clang-format off */
const struct rule rule_slow_steps = {
	.name = "slow_steps",
	.id = "GT508",
	.title = "slow steps",
	.page =
"Raised when steps longer than 1.5 times the median (the report's outliers) take at least 1 % of\n"
"the time of all steps after warm-up more than median ones would; one step alone from 10 %, since\n"
"it may be the end of an epoch or of the program. Says which part of the ledger grew most in them;\n"
"the place is what ended the longest gap of the slowest one.\n"
"\n"
"Cost: what they take beyond the median, spread over all steps. No gain is stated: outliers are\n"
"not in the mean step.\n"
"Silent: slow steps that come back at a regular distance (GT504).\n"
"Not judged: fewer than eight steps after warm-up.\n"
"Wrong when: the loop has two kinds of steps on purpose, such as training and validation.\n",
	.run = run,
};
/* clang-format on */
