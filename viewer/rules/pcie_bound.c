/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT101: the step waits for copies between host and GPU that nothing hides.
 */
#include <stdio.h>

#include "rule.h"

#define EXPOSED_PERCENT 5.0

struct direction {
	const char *name, *bytes_key, *rate_key;
	enum copy_lane pageable, other;
};

static const struct direction directions[] = {
	{"H2D", "h2d_bytes_per_step", "h2d_achieved_gbs", COPY_LANE_H2D_PAGEABLE,
	 COPY_LANE_H2D_OTHER},
	{"D2H", "d2h_bytes_per_step", "d2h_achieved_gbs", COPY_LANE_D2H_PAGEABLE,
	 COPY_LANE_D2H_OTHER},
};

static double best_rate(const struct rule_context *context, const struct direction *direction)
{
	double best = context->copies.lanes[direction->other].best_gbs;

	if (context->copies.lanes[direction->pageable].best_gbs > best)
		best = context->copies.lanes[direction->pageable].best_gbs;
	return best;
}

/* Directions that hardly carry anything are left out: a rate of tiny copies says nothing. */
static void describe(const struct rule_context *context, struct finding *finding, double exposed_ms,
		     const double *mib, const double *rates)
{
	const struct record_device *record = context->model->devices[context->device].record;
	char flows[160] = "", link[96] = "the link was not recorded";
	size_t length = 0;

	for (size_t i = 0; i < 2; i++) {
		if (mib[i] * 50 < mib[1 - i] || mib[i] <= 0)
			continue;
		length += (size_t)snprintf(flows + length, sizeof(flows) - length,
					   "%s%.1f MiB %s at %.1f GB/s", length ? " and " : "",
					   mib[i], i ? "back" : "to the GPU", rates[i]);
	}
	if (context->link.raw_gbs > 0)
		snprintf(link, sizeof(link), "PCIe gen %u x%u attains %.1f GB/s with pinned memory",
			 record->link_gen, record->link_width, context->link.attainable_gbs);
	finding_summary(finding,
			"%.2f ms of each %s (%.1f %%) is copying that nothing hides: %s; %s.",
			exposed_ms, context->unit, rule_percent(context, exposed_ms), flows, link);
}

static void run(struct rule_context *context)
{
	double exposed_ms = ledger_part_ms(context->ledger, LEDGER_COPY);
	double percent = ledger_part_percent(context->ledger, LEDGER_COPY);
	double hideable_ms = 0, faster_seen_ms = 0, faster_table_ms = 0, rates[2], mib[2];
	struct finding *finding;

	if (percent < EXPOSED_PERCENT) {
		rule_silent(context, "exposed copies are %.1f %% of the step (raised from %.0f %%)",
			    percent, EXPOSED_PERCENT);
		return;
	}
	finding = rule_raise(context, context->copies.group_count ? context->copies.groups[0].call
								  : MODEL_NONE);
	finding->cost_ms = exposed_ms;
	finding->draws_from = 1u << LEDGER_COPY;
	for (int part = 0; part <= LEDGER_COMM; part++)
		hideable_ms += ledger_part_ms(context->ledger, (enum ledger_part)part);
	for (size_t i = 0; i < 2; i++) {
		const struct copy_lane_stats *pageable =
			&context->copies.lanes[directions[i].pageable];
		const struct copy_lane_stats *other = &context->copies.lanes[directions[i].other];
		uint64_t bytes = pageable->bytes + other->bytes;
		double lane_ms = ledger_copy_lane_ms(context->ledger, directions[i].pageable) +
				 ledger_copy_lane_ms(context->ledger, directions[i].other);
		double best = best_rate(context, &directions[i]);

		rates[i] = copy_rate_gbs(bytes, pageable->busy_ns + other->busy_ns);
		mib[i] = (double)bytes / context->steady_steps / 1048576;
		finding_number(finding, directions[i].bytes_key,
			       (double)bytes / context->steady_steps);
		finding_number(finding, directions[i].rate_key, rates[i]);
		if (rates[i] <= 0)
			continue;
		if (best > rates[i])
			faster_seen_ms += lane_ms * (1 - rates[i] / best);
		if (context->link.attainable_gbs > rates[i])
			faster_table_ms += lane_ms * (1 - rates[i] / context->link.attainable_gbs);
	}
	/* Hidden behind compute at best; at the best rates otherwise. */
	finding->gain_high_ms = exposed_ms < hideable_ms ? exposed_ms : hideable_ms;
	if (finding->gain_high_ms < faster_table_ms)
		finding->gain_high_ms = faster_table_ms;
	finding->gain_low_ms = faster_seen_ms;
	finding_number(finding, "exposed_copy_ms_per_step", exposed_ms);
	finding_number(finding, "link_attainable_gbs", context->link.attainable_gbs);
	describe(context, finding, exposed_ms, mib, rates);
	finding_fix(finding, "Copy the next batch on a second stream while this one computes "
			     "(pinned memory, non_blocking=True, one batch prefetched), or move "
			     "fewer bytes.");
	rule_settle(context, finding);
}

/* clang-format off */
const struct rule rule_pcie_bound = {
	.name = "pcie_bound",
	.id = "GT101",
	.title = "PCIe-bound transfers",
	.page =
"Raised when copies between host and GPU that are not hidden behind compute or\n"
"communication take at least 5 % of the mean steady step (ledger part \"exposed copies\").\n"
"\n"
"Evidence: bytes per step and achieved rate by direction, and what the recorded PCIe link\n"
"attains with large pinned copies (published measurements, 80 to 88 % of the raw rate; not a\n"
"ceiling). Copies below 1 MiB never count as a best rate.\n"
"\n"
"Gain: from \"every copy at the best rate seen in this run\" up to \"hidden completely behind\n"
"the compute of the same step\", never more than the exposed part.\n"
"\n"
"Silent: copies hidden under compute, however large; 126 MB in a step of one second.\n"
"Wrong when: the copies cannot be moved ahead because their content depends on the step.\n",
	.run = run,
};
/* clang-format on */
