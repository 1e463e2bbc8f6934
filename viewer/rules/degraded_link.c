/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT106: under load the link runs below what device and slot say that they can do.
 */
#include "rule.h"
#include "seen_link.h"

/* Below this share of the step the slow link is worth knowing, but not the cause of anything. */
#define CAUSE_PERCENT 1.0

static void raise(struct rule_context *context, const struct record_device *record,
		  const struct link_rate *able)
{
	struct finding *finding = rule_raise(
		context, context->copies.group_count ? context->copies.groups[0].call : MODEL_NONE);
	double exposed_ms = ledger_part_ms(context->ledger, LEDGER_COPY);
	double lost_ms = exposed_ms * (1 - context->link.raw_gbs / able->raw_gbs);
	uint64_t bytes = 0;
	double used_percent;

	for (int lane = 0; lane < COPY_LANE_COUNT; lane++)
		bytes += context->copies.lanes[lane].bytes;
	used_percent = 100 * (double)bytes /
		       ((double)context->ledger->steady.length_ns * context->link.attainable_gbs);
	finding->cost_ms = lost_ms;
	finding->gain_high_ms = lost_ms;
	/* Small copies do not become faster with the link. */
	finding->gain_low_ms = lost_ms / 2;
	finding->draws_from = 1u << LEDGER_COPY;
	finding_number(finding, "link_gen", record->link_gen);
	finding_number(finding, "link_width", record->link_width);
	finding_number(finding, "link_gen_able", record->link_gen_max);
	finding_number(finding, "link_width_able", record->link_width_max);
	finding_number(finding, "attainable_gbs", context->link.attainable_gbs);
	finding_number(finding, "able_gbs", able->attainable_gbs);
	finding_number(finding, "link_used_percent", used_percent);
	finding_summary(finding,
			"Under load the link runs at PCIe gen %u x%u; device and slot can do gen "
			"%u x%u: %.1f instead of %.1f GB/s. The %s uses %.0f %% of the link as it "
			"is, and waits %.2f ms (%.1f %%) longer for copies.",
			record->link_gen, record->link_width, record->link_gen_max,
			record->link_width_max, context->link.attainable_gbs, able->attainable_gbs,
			context->unit, used_percent, lost_ms, rule_percent(context, lost_ms));
	finding_fix(finding, record->link_width < record->link_width_max
				     ? "Reseat the card or the riser, and check whether the slot "
				       "shares its lanes with another one."
				     : "Check riser, slot and the firmware's link speed setting "
				       "(not \"Auto\" behind a riser), and dmesg for link errors.");
	rule_settle(context, finding);
	if (rule_percent(context, lost_ms) < CAUSE_PERCENT)
		finding->severity = SEVERITY_INFO;
}

static void run(struct rule_context *context)
{
	const struct record_device *record = context->model->devices[context->device].record;
	struct link_rate able;

	if (!record || context->link.raw_gbs <= 0) {
		rule_not_judged(context, "the link was not seen under load in this recording");
		return;
	}
	able = link_rate_of(record->link_gen_max, record->link_width_max);
	if (able.raw_gbs <= 0)
		rule_not_judged(context, "what device and slot can do was not recorded");
	else if (record->link_gen >= record->link_gen_max &&
		 record->link_width >= record->link_width_max)
		rule_silent(context, "PCIe gen %u x%u is what device and slot can do",
			    record->link_gen, record->link_width);
	else if (!context->copies.group_count)
		rule_silent(context, "PCIe gen %u x%u of gen %u x%u, but no step copies anything",
			    record->link_gen, record->link_width, record->link_gen_max,
			    record->link_width_max);
	else if (record->link_width >= record->link_width_max &&
		 seen_link_may_sleep(record, &context->copies))
		rule_not_judged(context,
				"PCIe gen %u was seen, but no copy of 1 MiB or more that would "
				"have kept the link awake",
				record->link_gen);
	else
		raise(context, record, &able);
}

/* clang-format off */
const struct rule rule_degraded_link = {
	.name = "degraded_link",
	.id = "GT106",
	.title = "link below its capability",
	.page =
"Raised when width or generation of the PCIe link, as seen under load, are below what the\n"
"device's and the slot's own registers say they can do. The table of GPUs is not asked: cards\n"
"with eight lanes by design are not degraded. An idle link drops to generation 1 by itself, so\n"
"only what was seen while copies ran counts, and a copy that was faster than the link as seen\n"
"proves that it was seen asleep.\n"
"\n"
"Cost: the step's exposed copies times the share of the rate that is missing. Below 1 % of the\n"
"step the finding is an information, not a cause.\n"
"Gain: from half of the cost (small copies do not gain) up to all of it.\n"
"\n"
"Silent: full links; runs that copy nothing. Not judged: no link data, as in many virtual\n"
"machines and in recordings of other tools; a low generation beside copies below 1 MiB alone.\n"
"Wrong when: the platform shares lanes between slots on purpose.\n",
	.run = run,
};
/* clang-format on */
