/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT603: many collectives so small that each costs its latency, not its bytes.
 */
#include "rule.h"

#define LEAST_PER_STEP	100.0
#define SMALL_BYTES	(1024.0 * 1024)
#define EXPOSED_PERCENT 1.0

static void raise(struct rule_context *context, double exposed_ms)
{
	const struct comm_survey *comm = &context->comm;
	struct finding *finding = rule_raise(context, comm->call);
	double per_step = (double)comm->sums / context->steady_steps;
	double merged_ns = (double)comm->all.bytes / comm->best_rate;
	double left = comm->all.busy_ns > 0 ? merged_ns / (double)comm->all.busy_ns : 1;

	finding->cost_ms = exposed_ms;
	finding->per_step = per_step;
	/* As if all bytes went at the best rate of this run, which larger calls may well exceed. */
	finding->gain_high_ms = exposed_ms * (left < 1 ? 1 - left : 0);
	finding->gain_low_ms = finding->gain_high_ms / 2;
	finding->draws_from = 1u << LEDGER_COMM;
	finding_number(finding, "collectives_per_step", per_step);
	finding_number(finding, "median_bytes", (double)comm->median_bytes);
	finding_number(finding, "bytes_per_step", (double)comm->all.bytes / context->steady_steps);
	finding_number(finding, "best_rate_gbs", comm->best_rate);
	finding_number(finding, "exposed_ms_per_step", exposed_ms);
	finding_summary(finding,
			"%.0f collectives per %s move %.2f MiB, the median one %.1f KiB: they cost "
			"their latency. The best rate in this run is %.2f GB/s, the mean %.2f.",
			per_step, context->unit,
			(double)comm->all.bytes / context->steady_steps / 1048576,
			(double)comm->median_bytes / 1024, comm->best_rate,
			(double)comm->all.bytes / (double)comm->all.busy_ns);
	finding_fix(finding,
		    "Put many tensors into one call: gradient buckets of 25 MiB or more "
		    "(bucket_cap_mb), one flat buffer, or at least ncclGroupStart around them.");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	const struct comm_survey *comm = &context->comm;
	double exposed_ms = ledger_part_ms(context->ledger, LEDGER_COMM);
	double kernels = (double)comm->all.kernels / context->steady_steps;
	double per_step = (double)comm->sums / context->steady_steps;

	if (kernels < LEAST_PER_STEP)
		rule_silent(context, "%.0f communication kernels per %s (raised from %.0f)",
			    kernels, context->unit, LEAST_PER_STEP);
	else if (!comm->sized)
		rule_not_judged(context, "the sizes of collectives are not in the file");
	else if (per_step < LEAST_PER_STEP || (double)comm->median_bytes >= SMALL_BYTES)
		rule_silent(context,
			    "%.0f collectives per %s, the median one has %.1f KiB (raised from "
			    "%.0f below 1 MiB)",
			    per_step, context->unit, (double)comm->median_bytes / 1024,
			    LEAST_PER_STEP);
	else if (rule_percent(context, exposed_ms) < EXPOSED_PERCENT)
		rule_silent(context, "small collectives are hidden behind compute");
	else
		raise(context, exposed_ms);
}

/* clang-format off */
const struct rule rule_small_collectives = {
	.name = "small_collectives",
	.id = "GT603",
	.title = "small collectives",
	.page =
"Raised when a steady step has at least 100 collectives (messages not counted) whose median\n"
"size is below 1 MiB, and exposed communication is at least 1 % of it. A call costs some tens\n"
"of microseconds however small it is.\n"
"\n"
"Gain: what remains of the exposed time if all bytes went at the best rate of this run; at\n"
"least half of that.\n"
"Silent: hidden ones; fewer or larger ones.  Not judged: recordings without sizes.\n"
"Wrong when: each result is needed before the next call can be made.\n",
	.run = run,
};
/* clang-format on */
