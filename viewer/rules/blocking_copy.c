/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT103: the launching thread waits for a copy, the queue runs dry, and the GPU idles until the
 * thread has launched again. ".item()", "nonzero", "print(loss)" are such copies.
 */
#include <stdio.h>

#include "rule.h"
#include "sync_gain.h"
#include "text.h"

#define CHARGED_PERCENT 1.0
#define SMALL_BYTES	(64u * 1024)

/* The transfer that a charge stands for, NULL if it is none of this rule's. */
static const struct transfer *charged_copy(const struct model *model,
					   const struct idle_charge *charge)
{
	const struct host_call *call = &model->calls[charge->call];
	const struct transfer *transfer;

	if (charge->part != LEDGER_IDLE_SYNC || call->kind != RECORD_KIND_copy)
		return NULL;
	transfer = &model->transfers[call->detail];
	if (charge->is_readback)
		return transfer;
	/* Large asynchronous copies wait because of pageable memory (GT102); small uploads return
	 * before the copy is done. */
	if (call->flags & CALL_ASYNC)
		return NULL;
	if (transfer->direction == COPY_H2D && transfer->size_bytes <= SMALL_BYTES)
		return NULL;
	return transfer;
}

/* What the copies of this site take themselves, per step; a copy that is not made costs nothing. */
static double own_copies_ms(const struct rule_context *context, const struct idle_charge *charge)
{
	const struct model *model = context->model;
	double busy_ns = 0;

	for (size_t i = 0; i < context->copies.group_count; i++) {
		const struct copy_group *group = &context->copies.groups[i];

		if (group->call != MODEL_NONE &&
		    model_call_site(model, group->call) == model_call_site(model, charge->call) &&
		    model->calls[group->call].api == model->calls[charge->call].api)
			busy_ns += (double)group->busy_ns;
	}
	return busy_ns / 1e6 / context->steady_steps;
}

static void raise(struct rule_context *context, const struct idle_charge *charge,
		  const struct transfer *transfer, double idle_ms)
{
	struct finding *finding = rule_raise(context, charge->call);
	double per_step = (double)charge->gaps / context->steady_steps;
	double copies_ms = own_copies_ms(context, charge);
	char copies[80] = "";
	const char *api =
		model_api_name(context->model, model_call_root(context->model, charge->call));

	/* The gain can then be more than the cost, which nobody expects who is not told. */
	if (copies_ms >= 0.005)
		snprintf(copies, sizeof(copies),
			 " The copies themselves, %.2f ms, are a part of the gain.", copies_ms);
	finding->cost_ms = idle_ms;
	finding->per_step = per_step;
	sync_gain_set(context, finding, idle_ms);
	finding->draws_from |= 1u << LEDGER_COPY;
	finding->gain_high_ms += copies_ms;
	finding_number(finding, "idle_ms_per_step", idle_ms);
	finding_number(finding, "waits_per_step", per_step);
	finding_number(finding, "copy_bytes", (double)transfer->size_bytes);
	finding_text(finding, "direction",
		     transfer->direction == COPY_D2H   ? "D2H"
		     : transfer->direction == COPY_H2D ? "H2D"
						       : "other");
	finding_text(finding, "call", api);
	if (charge->is_readback) {
		finding_summary(finding,
				"The GPU is idle for %.2f ms of each %s (%.1f %%) after the thread "
				"waited for a %llu-byte result (%s, %s %s per %s).%s",
				idle_ms, context->unit, rule_percent(context, idle_ms),
				(unsigned long long)transfer->size_bytes, api,
				text_count(per_step).text, text_noun(per_step, "wait", "waits"),
				context->unit, copies);
		finding_fix(finding,
			    "Keep the value on the GPU and read it every N steps, or one step "
			    "late from a pinned buffer with an event (.item(), .cpu(), "
			    "nonzero() and print of a tensor all wait).");
	} else {
		finding_summary(
			finding,
			"The GPU is idle for %.2f ms of each %s (%.1f %%) after blocking copies of "
			"%llu bytes (%s, %s per %s).%s",
			idle_ms, context->unit, rule_percent(context, idle_ms),
			(unsigned long long)transfer->size_bytes, api, text_count(per_step).text,
			context->unit, copies);
		finding_fix(finding,
			    "Use cudaMemcpyAsync with pinned memory and wait only where the "
			    "data is used.");
	}
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	double most = 0;

	for (size_t i = 0; i < context->ledger->charge_count; i++) {
		const struct idle_charge *charge = &context->ledger->charges[i];
		const struct transfer *transfer = charged_copy(context->model, charge);
		double idle_ms = (double)charge->idle_ns / 1e6 / context->steady_steps;

		if (!transfer)
			continue;
		if (rule_percent(context, idle_ms) > most)
			most = rule_percent(context, idle_ms);
		if (rule_percent(context, idle_ms) >= CHARGED_PERCENT)
			raise(context, charge, transfer, idle_ms);
	}
	if (most < CHARGED_PERCENT)
		rule_silent(context,
			    "waiting for copies leaves the GPU idle for %.1f %% of the step "
			    "at most (raised from %.0f %%)",
			    most, CHARGED_PERCENT);
}

/* clang-format off */
const struct rule rule_blocking_copy = {
	.name = "blocking_copy",
	.id = "GT103",
	.title = "synchronous copy on the critical path",
	.page =
"Raised when the GPU idles for at least 1 % of the mean steady step because the launching\n"
"thread was waiting for a copy when the queue ran dry: a device-to-host copy of at most 64 KiB\n"
"followed by a wait (.item(), nonzero, .cpu()), or a blocking copy. Grouped by call site.\n"
"\n"
"Cost: the idle time from the moment the queue drained to the next operation of that thread\n"
"(ledger part \"drained by synchronisation\").\n"
"Gain: up to that time, but a step never becomes shorter than the host's own work in it; half\n"
"of it where another wait follows.\n"
"\n"
"Silent: copies outside the step loop; blocking uploads of at most 64 KiB, which return early.\n"
"Wrong when: the host must know the value to decide what to launch.\n",
	.run = run,
};
/* clang-format on */
