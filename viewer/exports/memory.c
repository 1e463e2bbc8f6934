/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live memory over time: one line per call that changed it, with the sums by kind on its device
 * after that call. Tab-separated, for a plot or for a comparison with another count.
 */
#include <stdlib.h>

#include "export.h"

static void write_row(const struct model *model, const struct live_change *change,
		      const uint64_t sums[LIVE_KIND_COUNT], FILE *to)
{
	fprintf(to, "%lld\t%u\t%s", (long long)change->time_ns,
		model->devices[change->device].ordinal,
		change->event == MODEL_NONE
			? "device reset"
			: model_api_name(model, model->memory_events[change->event].call));
	for (int kind = 0; kind < LIVE_KIND_COUNT; kind++)
		fprintf(to, "\t%llu", (unsigned long long)sums[kind]);
	fputc('\n', to);
}

static void write_model(const struct model *model, FILE *to)
{
	uint64_t(*sums)[LIVE_KIND_COUNT] = calloc(model->device_count + 1, sizeof(*sums));

	for (size_t i = 0; sums && i < model->live_change_count; i++) {
		const struct live_change *change = &model->live_changes[i];
		const struct live_change *next =
			i + 1 < model->live_change_count ? change + 1 : NULL;

		if (change->device == MODEL_NO_DEVICE)
			continue;
		sums[change->device][change->kind] +=
			change->is_added ? change->size_bytes : -change->size_bytes;
		if (!next || next->event != change->event || next->device != change->device)
			write_row(model, change, sums[change->device], to);
	}
	free(sums);
}

static void write_memory(const struct export_job *job, FILE *to)
{
	for (size_t i = 0; i < job->count; i++) {
		char *title = export_model_title(job->models[i]);

		fprintf(to, "# %s\ntime_ns\tdevice\tcall", title);
		for (int kind = 0; kind < LIVE_KIND_COUNT; kind++)
			fprintf(to, "\t%s_bytes", live_kind_key((enum live_kind)kind));
		fputc('\n', to);
		write_model(job->models[i], to);
		free(title);
	}
}

const struct export export_memory = {
	.name = "memory",
	.summary = "live memory by kind after every call that changed it, tab-separated",
	.write = write_memory,
};
