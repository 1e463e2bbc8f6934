/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT507: memory is freed in the loop by a call that waits for the whole GPU.
 */
#include "rule.h"
#include "sync_gain.h"
#include "text.h"

#define CHARGED_PERCENT 1.0

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
	finding_number(finding, "frees_per_step", per_step);
	finding_text(finding, "call", api);
	finding_summary(finding,
			"%s waits until the GPU has finished, %s %s per %s; the GPU then "
			"idles for %.2f ms of each %s (%.1f %%) until the thread has launched "
			"again.",
			api, text_count(per_step).text, text_noun(per_step, "time", "times"),
			context->unit, idle_ms, context->unit, rule_percent(context, idle_ms));
	finding_fix(finding, "Keep the memory and reuse it, free it after the loop, or use "
			     "cudaMallocAsync and cudaFreeAsync, which do not wait.");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	const struct model *model = context->model;
	double most = 0;

	if (!model->memory_event_count) {
		rule_not_judged(context, "the driver's allocations and frees are not in the file");
		return;
	}
	for (size_t i = 0; i < context->ledger->charge_count; i++) {
		const struct idle_charge *charge = &context->ledger->charges[i];
		double idle_ms = rule_ms(context, charge->idle_ns);
		double percent = rule_percent(context, idle_ms);

		if (charge->part != LEDGER_IDLE_SYNC ||
		    model->calls[charge->call].kind != RECORD_KIND_memory)
			continue;
		if (percent > most)
			most = percent;
		if (percent >= CHARGED_PERCENT)
			raise(context, charge, idle_ms);
	}
	if (most < CHARGED_PERCENT)
		rule_silent(context,
			    "freeing memory leaves the GPU idle for %.1f %% of the %s at most "
			    "(raised from %.0f %%)",
			    most, context->unit, CHARGED_PERCENT);
}

/* clang-format off */
const struct rule rule_synchronising_free = {
	.name = "synchronising_free",
	.id = "GT507",
	.title = "synchronising free",
	.page =
"Raised when the GPU idles for at least 1 % of the mean steady step because the launching thread\n"
"was inside cudaFree, cudaFreeHost or their driver forms when the queue ran dry: such a call\n"
"returns only when the GPU has finished all that was launched. Grouped by call site.\n"
"\n"
"Gain: as for GT103: up to the idle time, but a step never becomes shorter than the host's own\n"
"work in it. GT406 counts the host time of the same calls and draws from the same part.\n"
"Silent: frees of a stream-ordered pool (cudaFreeAsync), and frees while work is still queued.\n"
"Not judged: no allocation or free is in the file.\n"
"Wrong when: the queue would have run dry at that moment anyhow.\n",
	.run = run,
};
/* clang-format on */
