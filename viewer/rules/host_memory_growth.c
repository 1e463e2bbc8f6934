/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT409: pinned host memory rises from step to step. It cannot be swapped, so the host runs out of
 * memory for everything else.
 */
#include <stdlib.h>

#include "memory_advice.h"
#include "memory_series.h"
#include "rule.h"
#include "text.h"

static bool has_pinned(const struct model *model)
{
	for (size_t i = 0; i < model->memory_event_count; i++) {
		if (model->memory_events[i].kind == MEMORY_PINNED)
			return true;
	}
	return false;
}

static void run(struct rule_context *context)
{
	struct memory_trend trend;
	struct finding *finding;
	char *site;

	if (!has_pinned(context->model)) {
		rule_not_judged(context, "no allocation of pinned host memory is in the file, and "
					 "pageable memory is not recorded");
		return;
	}
	memory_trend_of(context->model, context->device, MEMORY_SERIES_PINNED, &trend);
	if (trend.steps < MEMORY_TREND_STEPS) {
		rule_not_judged(context, "%zu steady %s in the file, a trend takes %d", trend.steps,
				text_noun((double)trend.steps, "step is", "steps are"),
				MEMORY_TREND_STEPS);
		return;
	}
	if (!trend.is_growing) {
		rule_silent(context,
			    "pinned memory changes by %.3g MiB per step, a line explains %.0f %% "
			    "of it; pageable memory is not recorded",
			    trend.bytes_per_step / 1048576, 100 * trend.fit);
		return;
	}
	finding = rule_raise(context, MODEL_NONE);
	finding->site = trend.site;
	site = memory_site_text(context->model, trend.site);
	finding_number(finding, "bytes_per_step", trend.bytes_per_step);
	finding_number(finding, "growth_bytes", trend.growth_bytes);
	finding_number(finding, "fit", trend.fit);
	finding_number(finding, "steps", (double)trend.steps);
	finding_text(finding, "site", site);
	finding_summary(finding,
			"Pinned host memory of this process rises by %s per step, %s over %zu "
			"steady steps. Most of what stays was allocated at %s.",
			memory_amount((uint64_t)trend.bytes_per_step).text,
			memory_amount((uint64_t)trend.growth_bytes).text, trend.steps, site);
	finding_fix(finding, "Reuse a fixed set of pinned buffers, and give back those that are no "
			     "longer read.");
	free(site);
}

/* clang-format off */
const struct rule rule_host_memory_growth = {
	.name = "host_memory_growth",
	.id = "GT409",
	.title = "pinned host memory grows",
	.is_about_memory = true,
	.page =
"Raised when the process's live pinned memory at the ends of at least 10 steady steps follows a\n"
"rising line, with the same test as GT407.\n"
"\n"
"Pinned memory cannot be swapped out: the host runs out of it before the job does. The process's\n"
"sum is looked at, so every device of the process reports it. No cost in time: info.\n"
"Not judged: fewer than 10 steady steps, or no pinned allocation in the file. Pageable memory is\n"
"not recorded, so its growth is never judged.\n"
"Wrong when: a loader's pool of pinned buffers is still growing to its size.\n",
	.run = run,
};
/* clang-format on */
