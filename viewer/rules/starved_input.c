/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT502: the GPU has nothing to do until the thread comes back from somewhere else and uploads the
 * next batch. No stack exists inside such a gap; the upload that ends it is the place.
 */
#include "rule.h"
#include "text.h"

#define AWAY_PERCENT 5.0
/* Without steps, a wait or two may be the set-up of the program. */
#define LEAST_WAITS_OF_RUN 3

static bool is_upload(const struct model *model, uint32_t call)
{
	return model->calls[call].kind == RECORD_KIND_copy &&
	       model->transfers[model->calls[call].detail].direction == COPY_H2D;
}

/* The last call of the thread before the gap was left: the batch is loaded after it. */
static uint32_t call_before(const struct model *model, uint32_t upload)
{
	uint32_t root = model_call_root(model, upload);
	size_t first = model->threads[model->calls[root].thread].first_call;

	for (uint32_t at = root; at-- > first;) {
		if (model->calls[at].parent == MODEL_NONE)
			return at;
	}
	return MODEL_NONE;
}

/* Share of the steady time in which something on the machine waited for storage, percent; negative:
 * not sampled. */
static double storage_pressure(const struct model *model)
{
	const struct sample_series *series = sample_series_find(model, SAMPLE_psi_io_some_us, 0);
	int64_t begin_ns, end_ns;
	double grown_us, covered_ns;

	sample_window(model, &begin_ns, &end_ns);
	if (!series || !sample_series_growth(series, begin_ns, end_ns, &grown_us, &covered_ns))
		return -1;
	return 100 * grown_us * 1e3 / covered_ns;
}

static void raise(struct rule_context *context, uint32_t upload, uint64_t gaps, double idle_ms)
{
	const struct model *model = context->model;
	const struct phase_usage *phases = &model->devices[context->device].phases;
	struct finding *finding = rule_raise(context, upload);
	double loading_ms = rule_ms(context, phases->host_ns[PHASE_DATA]);
	double per_step = (double)gaps / context->steady_steps;
	double pressure = storage_pressure(model);
	uint32_t before = call_before(model, upload);

	finding->cost_ms = idle_ms;
	finding->per_step = per_step;
	finding->draws_from = 1u << LEDGER_IDLE_HOST_AWAY;
	finding->gain_high_ms = idle_ms;
	/* With batches made beside the step, the host's launches are what the next wait is for. */
	finding->gain_low_ms = idle_ms / 4;
	finding_number(finding, "idle_ms_per_step", idle_ms);
	finding_number(finding, "waits_per_step", per_step);
	finding_number(finding, "upload_bytes",
		       (double)model->transfers[model->calls[upload].detail].size_bytes);
	if (loading_ms > 0)
		finding_number(finding, "data_loading_ms_per_step", loading_ms);
	if (pressure >= 0)
		finding_number(finding, "io_pressure_percent", pressure);
	if (before != MODEL_NONE)
		finding_text(finding, "last_call_before", model_api_name(model, before));
	finding_summary(finding,
			"The GPU is idle for %.2f ms of each %s (%.1f %%) until the thread, which "
			"made no CUDA call meanwhile, uploads data again (%s %s per %s).",
			idle_ms, context->unit, rule_percent(context, idle_ms),
			text_count(per_step).text, text_noun(per_step, "time", "times"),
			context->unit);
	finding_fix(finding, "Prepare batches beside the step: DataLoader(num_workers=4 or more, "
			     "pin_memory=True, persistent_workers=True), a prefetching thread, or "
			     "decoding on the GPU; make sure the storage keeps up.");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	const struct device_ledger *ledger = context->ledger;
	double idle_ms = 0, percent;
	uint32_t upload = MODEL_NONE;
	uint64_t gaps = 0;

	if (!context->host.has_thread) {
		rule_not_judged(context, "the calls of this device's thread are not in the file");
		return;
	}
	for (size_t i = 0; i < ledger->charge_count; i++) {
		const struct idle_charge *charge = &ledger->charges[i];

		if (charge->part != LEDGER_IDLE_HOST_AWAY ||
		    !is_upload(context->model, charge->call))
			continue;
		if (upload == MODEL_NONE) /* charges come largest first */
			upload = charge->call;
		idle_ms += rule_ms(context, charge->idle_ns);
		gaps += charge->gaps;
	}
	percent = rule_percent(context, idle_ms);
	if (upload != MODEL_NONE && percent >= AWAY_PERCENT &&
	    context->model->steps.source == STEPS_NONE && gaps < LEAST_WAITS_OF_RUN)
		rule_silent(context,
			    "%llu gaps end with an upload after the host was away; without steps "
			    "they may be the program's set-up",
			    (unsigned long long)gaps);
	else if (upload != MODEL_NONE && percent >= AWAY_PERCENT)
		raise(context, upload, gaps, idle_ms);
	else
		rule_silent(context,
			    "gaps that an upload ends after the host was away are %.1f %% of the "
			    "%s (raised from %.0f %%)",
			    percent, context->unit, AWAY_PERCENT);
}

/* clang-format off */
const struct rule rule_starved_input = {
	.name = "starved_input",
	.id = "GT502",
	.title = "GPU starved by input",
	.page =
"Raised when the ledger part \"host away\" that ends with a host-to-device copy of the same thread\n"
"is at least 5 % of the mean steady step: the thread made no CUDA call, came back, and uploaded\n"
"the next batch. The place is the upload; there is no stack inside the gap itself.\n"
"\n"
"Evidence: idle time, gaps per step, bytes of the upload, the last CUDA call before the gap, and\n"
"the time in ranges that name data loading, and the machine's pressure on storage (the share of\n"
"time in which something waited for it), where the recording has them.\n"
"Gain: up to the whole idle time, when batches are made beside the step; at least a quarter of\n"
"it, because launches that the wait used to hide may become the next limit (GT501).\n"
"Silent: gaps that end with a kernel (GT501, GT504, GT506), and waits for the GPU (GT103, GT503);\n"
"one or two gaps of a run without steps, which may be its set-up.\n"
"Not judged: no launch of the device in the file.\n"
"Wrong when: the input cannot be prepared ahead, as with requests to a server.\n",
	.run = run,
};
/* clang-format on */
