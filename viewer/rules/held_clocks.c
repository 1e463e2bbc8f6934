/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT701: the GPU held its clocks down while it worked: heat, hardware protection, power brake.
 */
#include <string.h>

#include "machine_verdict.h"
#include "rule.h"
#include "sample_series.h"

#define HELD_SHARE 0.1 /* of the samples under load */
#define LEAST_HELD 2   /* one sample is a moment */

struct clocks {
	size_t loaded, held, capped, set; /* samples under load; of these with a fault, at the power
					   * cap, held by a setting */
	uint64_t reasons;		  /* of held ones, or of all others */
	double held_mhz, free_mhz;	  /* mean SM clock with and without a fault, 0 unknown */
	int64_t max_mhz;
};

static void add_clock(const struct sample_series *clock, int64_t time_ns, double *sum,
		      size_t *count)
{
	size_t at = clock ? sample_series_at(clock, time_ns) : SIZE_MAX;

	if (at == SIZE_MAX)
		return;
	*sum += (double)clock->points[at].value;
	(*count)++;
}

static void measure(const struct rule_context *context, const struct sample_series *reasons,
		    struct clocks *clocks)
{
	const struct model_device *device = &context->model->devices[context->device];
	const struct sample_series *clock =
		sample_series_find(context->model, SAMPLE_sm_clock_mhz, device->ordinal);
	double held_sum = 0, free_sum = 0;
	size_t held_count = 0, free_count = 0;
	uint64_t held_reasons = 0, other_reasons = 0;

	memset(clocks, 0, sizeof(*clocks));
	clocks->max_mhz = device->record ? device->record->clock_khz / 1000 : 0;
	for (size_t i = 0; i < reasons->count; i++) {
		int64_t time_ns = reasons->points[i].time_ns;
		uint64_t bits = (uint64_t)reasons->points[i].value;

		/* NVML's load is that of its last period: the two must agree. */
		if (bits & THROTTLE_IDLE ||
		    !sample_is_loaded(context->model, context->device, time_ns))
			continue;
		clocks->loaded++;
		if (bits & THROTTLE_FAULTS) {
			clocks->held++;
			held_reasons |= bits & THROTTLE_FAULTS;
			/* NVML is asked for both in one go, some hundred us apart. */
			add_clock(clock, time_ns + 1000000, &held_sum, &held_count);
			continue;
		}
		clocks->capped += (bits & THROTTLE_POWER_CAP) != 0;
		clocks->set += (bits & (THROTTLE_APPLICATION_CLOCKS | THROTTLE_SYNC_BOOST)) != 0;
		other_reasons |= bits;
		add_clock(clock, time_ns + 1000000, &free_sum, &free_count);
	}
	clocks->reasons = clocks->held ? held_reasons : other_reasons;
	clocks->held_mhz = held_count ? held_sum / (double)held_count : 0;
	clocks->free_mhz = free_count ? free_sum / (double)free_count : 0;
}

static double compute_ms(const struct rule_context *context)
{
	double ms = 0;

	for (int part = 0; part < LEDGER_COMPUTE_PARTS; part++)
		ms += ledger_part_ms(context->ledger, (enum ledger_part)part);
	return ms;
}

static void raise(struct rule_context *context, const struct clocks *clocks, bool is_fault)
{
	struct finding *finding = rule_raise(context, MODEL_NONE);
	double share = is_fault ? (double)clocks->held / (double)clocks->loaded : 0;
	double best_mhz =
		clocks->free_mhz > clocks->held_mhz ? clocks->free_mhz : (double)clocks->max_mhz;
	double lost = 0;
	struct text what, fix;

	text_init(&what);
	text_init(&fix);
	machine_judge_clocks(clocks->reasons, &what, &fix);
	if (is_fault && clocks->held_mhz > 0 && best_mhz > clocks->held_mhz)
		lost = share * (1 - clocks->held_mhz / best_mhz);
	finding->cost_ms = compute_ms(context) * lost;
	finding->gain_high_ms = finding->cost_ms;
	finding->draws_from = (1u << LEDGER_COMPUTE_PARTS) - 1;
	finding_number(finding, "samples_under_load", (double)clocks->loaded);
	finding_number(finding, "held_percent", 100 * share);
	if (clocks->held_mhz > 0)
		finding_number(finding, "held_mhz", clocks->held_mhz);
	if (best_mhz > 0)
		finding_number(finding, "free_mhz", best_mhz);
	if (is_fault && lost > 0)
		finding_summary(
			finding,
			"%s %.0f %% of %zu samples under load; the SMs ran at %.0f MHz then, "
			"%s %.0f MHz.",
			text_string(&what), 100 * share, clocks->loaded, clocks->held_mhz,
			clocks->free_mhz > clocks->held_mhz ? "otherwise at" : "and can do",
			best_mhz);
	else if (is_fault)
		finding_summary(finding,
				"%s %.0f %% of %zu samples under load; which cost no clock that "
				"could be measured.",
				text_string(&what), 100 * share, clocks->loaded);
	else
		finding_summary(finding, "%s %zu of %zu samples under load.", text_string(&what),
				clocks->set > clocks->capped ? clocks->set : clocks->capped,
				clocks->loaded);
	finding_fix(finding, "%s", text_string(&fix));
	rule_settle(context, finding);
	if (!is_fault || finding->cost_ms <= 0)
		finding->severity = SEVERITY_INFO;
	text_fini(&what);
	text_fini(&fix);
}

static void run(struct rule_context *context)
{
	const struct model *model = context->model;
	const struct sample_series *reasons = sample_series_find(
		model, SAMPLE_throttle_reasons, model->devices[context->device].ordinal);
	const char *why = model->source.info(model->source.context, "nvml.reason");
	struct clocks clocks;
	double most;

	if (!reasons) {
		rule_not_judged(context, "the GPU's clocks were not sampled%s%s", why ? ": " : "",
				why ? why : "");
		return;
	}
	measure(context, reasons, &clocks);
	most = (double)(clocks.set > clocks.capped ? clocks.set : clocks.capped);
	if (!clocks.loaded)
		rule_not_judged(context, "no sample was taken while the GPU worked");
	else if (clocks.held >= LEAST_HELD &&
		 (double)clocks.held >= HELD_SHARE * (double)clocks.loaded)
		raise(context, &clocks, true);
	else if (!clocks.held && most >= (double)clocks.loaded / 2 && most >= LEAST_HELD)
		raise(context, &clocks, false);
	else
		rule_silent(context, "%zu of %zu samples under load show clocks held down",
			    clocks.held, clocks.loaded);
}

/* clang-format off */
const struct rule rule_held_clocks = {
	.name = "held_clocks",
	.id = "GT701",
	.title = "clocks held down",
	.page =
"Raised when NVML said in at least a tenth of the samples under load (and in two of them) that the\n"
"GPU holds its clocks down because of heat, hardware protection or the power brake. A software power\n"
"cap under full load and clocks that somebody set are an information when they stand in half of the\n"
"samples: the first is how these cards work.\n"
"\n"
"Cost: the step's compute time, times the share of held samples, times what the SM clock was lower\n"
"in them than in the others (than the GPU's maximum where all are held). Gain: from nothing (work\n"
"that waits for memory does not follow the SM clock) up to the cost.\n"
"\n"
"Silent: clocks free, or only idle. Not judged: no samples (no NVML, imported recordings, runs\n"
"shorter than a second).\n"
"Wrong when: a reason lasts shorter than the second between samples.\n",
	.run = run,
};
/* clang-format on */
