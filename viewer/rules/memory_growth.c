/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT407: live device memory rises from step to step.
 */
#include <stdlib.h>

#include "memory_advice.h"
#include "memory_series.h"
#include "rule.h"
#include "text.h"

static void raise(struct rule_context *context, const struct memory_trend *trend, const char *whose)
{
	struct finding *finding = rule_raise(context, MODEL_NONE);
	char *site = memory_site_text(context->model, trend->site);

	finding->site = trend->site;
	finding_number(finding, "bytes_per_step", trend->bytes_per_step);
	finding_number(finding, "growth_bytes", trend->growth_bytes);
	finding_number(finding, "fit", trend->fit);
	finding_number(finding, "steps", (double)trend->steps);
	finding_number(finding, "site_bytes", (double)trend->site_bytes);
	finding_text(finding, "site", site);
	if (context->memory.capacity_bytes != MEMORY_NOT_TOLD &&
	    context->memory.capacity_bytes > trend->last_bytes)
		finding_number(finding, "steps_until_full",
			       (double)(context->memory.capacity_bytes - trend->last_bytes) /
				       trend->bytes_per_step);
	finding_summary(finding,
			"Live memory of %s rises by %s per step, %s over %zu steady steps (a line "
			"explains %.0f %% of it). Most of what stays was allocated at %s.",
			whose, memory_amount((uint64_t)trend->bytes_per_step).text,
			memory_amount((uint64_t)trend->growth_bytes).text, trend->steps,
			100 * trend->fit, site);
	finding_fix(finding, "Look there for what keeps tensors alive: a list of losses without "
			     ".item() or .detach(), a growing cache, a graph that is retained.");
	free(site);
}

static void run(struct rule_context *context)
{
	bool has_framework = context->memory.has_framework;
	struct memory_trend trend;

	if (!has_framework && !context->model->memory_event_count) {
		rule_not_judged(context, "no allocations are in the file");
		return;
	}
	memory_trend_of(context->model, context->device,
			has_framework ? MEMORY_SERIES_FRAMEWORK : MEMORY_SERIES_DEVICE, &trend);
	if (trend.steps < MEMORY_TREND_STEPS)
		rule_not_judged(context, "%zu steady %s in the file, a trend takes %d", trend.steps,
				text_noun((double)trend.steps, "step is", "steps are"),
				MEMORY_TREND_STEPS);
	else if (trend.is_growing)
		raise(context, &trend,
		      has_framework ? "the framework's blocks" : "the driver's allocations");
	else
		rule_silent(context,
			    "live memory changes by %.3g MiB per step, a line explains %.0f %% of "
			    "it",
			    trend.bytes_per_step / 1048576, 100 * trend.fit);
}

/* clang-format off */
const struct rule rule_memory_growth = {
	.name = "memory_growth",
	.id = "GT407",
	.title = "device memory grows",
	.is_about_memory = true,
	.page =
"Raised when live memory at the ends of at least 10 steady steps follows a rising line: 1 MiB or\n"
"more in all, the line explains at least 70 % of the variation, and the second half rises at\n"
"least half as fast as the whole. The framework's blocks are looked at where they are in the\n"
"file, else the driver's allocations.\n"
"\n"
"The site named allocated most of the bytes that the steady steps left behind. A finding has no\n"
"cost in time: info; the steps until the device is full are in the evidence.\n"
"Silent: memory that levels off, as caches do while they warm up.\n"
"Not judged: fewer than 10 steady steps, or no allocations in the file.\n"
"Wrong when: what grows is bounded and fills for longer than the recording, such as a cache of\n"
"keys and values.\n",
	.run = run,
};
/* clang-format on */
