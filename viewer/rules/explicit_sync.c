/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT503: an explicit synchronisation in the loop drains the queue.
 */
#include "rule.h"
#include "sync_gain.h"
#include "text.h"

#define CHARGED_PERCENT 2.0

static void raise(struct rule_context *context, const struct idle_charge *charge, double idle_ms)
{
	struct finding *finding = rule_raise(context, charge->call);
	double per_step = (double)charge->gaps / context->steady_steps;
	const char *api =
		model_api_name(context->model, model_call_root(context->model, charge->call));

	finding->cost_ms = idle_ms;
	finding->per_step = per_step;
	sync_gain_set(context, finding, idle_ms);
	finding_number(finding, "idle_ms_per_step", idle_ms);
	finding_number(finding, "waits_per_step", per_step);
	finding_text(finding, "call", api);
	finding_summary(
		finding,
		"%s drains the queue %s %s per %s; the GPU then idles for %.2f ms of each %s "
		"(%.1f %%) until the thread has launched again.",
		api, text_count(per_step).text, text_noun(per_step, "time", "times"), context->unit,
		idle_ms, context->unit, rule_percent(context, idle_ms));
	finding_fix(finding,
		    "Remove the synchronisation; where a result is needed, wait for an event "
		    "of just that work, and time with events instead of waits.");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	double most = 0;

	for (size_t i = 0; i < context->ledger->charge_count; i++) {
		const struct idle_charge *charge = &context->ledger->charges[i];
		double idle_ms = (double)charge->idle_ns / 1e6 / context->steady_steps;
		double percent = rule_percent(context, idle_ms);

		if (charge->part != LEDGER_IDLE_SYNC || !charge->is_sync_call ||
		    charge->is_readback)
			continue;
		if (percent > most)
			most = percent;
		if (percent >= CHARGED_PERCENT)
			raise(context, charge, idle_ms);
	}
	if (most < CHARGED_PERCENT)
		rule_silent(context,
			    "explicit waits leave the GPU idle for %.1f %% of the step at most "
			    "(raised from %.0f %%)",
			    most, CHARGED_PERCENT);
}

/* clang-format off */
const struct rule rule_explicit_sync = {
	.name = "explicit_sync",
	.id = "GT503",
	.title = "explicit synchronisation in the loop",
	.page =
"Raised when the GPU idles for at least 2 % of the mean steady step after an explicit\n"
"DeviceSynchronize, StreamSynchronize or EventSynchronize of one call site: the launching\n"
"thread was inside it when the queue ran dry.\n"
"\n"
"A wait right after a small device-to-host copy belongs to the copy (GT103), not here.\n"
"Gain: as for GT103.\n"
"Silent: waits that end while work is still queued, and waits of other threads.\n"
"Wrong when: the program waits on purpose, as a benchmark does between its repetitions.\n",
	.run = run,
};
/* clang-format on */
