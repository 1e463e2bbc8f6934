/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where GPU times come from and which operations have none (GT902, GT915, GT916): pairs of events
 * instead of CUPTI, CUPTI lent to the program's profiler, refused in part, or there twice.
 */
#include <stdlib.h>

#include "array_len.h"
#include "call_totals.h"
#include "quality_precision.h"
#include "text.h"

static size_t count_launches(const struct model *model)
{
	size_t launches = 0;

	for (size_t i = 0; i < model->call_count; i++) {
		const struct host_call *call = &model->calls[i];

		launches += call->kind == RECORD_KIND_launch && !call->status &&
			    !(call->flags & (CALL_REDUNDANT | CALL_CAPTURED));
	}
	return launches;
}

/* Launches that are summed cannot be counted against single times. */
static void add_unmeasured(const struct model *model, struct text *text)
{
	const struct event_times *times = &model->event_times;
	size_t measured = times->launches + times->collectives;
	size_t launches = call_totals_replace_calls(model) ? 0 : count_launches(model);

	if (launches > measured)
		text_addf(text, " %zu of %zu %s no time, so the ledger", launches - measured,
			  launches, launches == 1 ? "launch has" : "launches have");
	else
		text_add(text, " So the ledger");
	text_add(text, " and what rests on it cannot be made; with CUPTI they can.");
}

/* Pairs of events tell of some operations, and of the waiting around them. */
static void check_events(const struct model *model, struct quality *quality)
{
	const struct event_times *times = &model->event_times;
	const char *counts = model->source.info(model->source.context, "gpu_times.events");
	const char *doubt = model->source.info(model->source.context, "gpu_times.events_doubt_ns");
	struct text text;

	text_init(&text);
	text_addf(&text,
		  "GPU times come from pairs of events: %s. They include what the stream "
		  "waited for.",
		  counts ? counts : "how many is not told");
	if (doubt)
		text_addf(&text, " Against the host's clock they may be off by %.0f us.",
			  strtod(doubt, NULL) / 1e3 + 0.5);
	for (int back = 0; back < 2; back++) {
		if (times->busy_ns[back] > 0)
			text_addf(&text, " Copies %s: %.1f MiB in %.2f ms.",
				  back ? "back" : "to the GPU",
				  (double)times->bytes[back] / 1048576,
				  (double)times->busy_ns[back] / 1e6);
	}
	if (times->collectives)
		text_addf(&text, " Collectives: %zu in %.2f ms.", times->collectives,
			  (double)times->collective_ns / 1e6);
	if (times->launches)
		text_addf(&text, " Sampled launches: %.1f us on average.",
			  (double)times->launch_ns / 1e3 / (double)times->launches);
	add_unmeasured(model, &text);
	quality_add(quality, "GT902", "gpu_operations", (double)times->count, text_take(&text));
}

/* Why: the time itself is a mark (GT908). */
static void check_pauses(const struct model *model, struct quality *quality)
{
	const char *pauses = model->source.info(model->source.context, "gpu_times.paused");

	if (pauses && model->has_gpu_times)
		quality_add(quality, "GT902", "gpu_operations", (double)model->op_count,
			    text_format("GPU times are absent for a part of the recording: %s. "
					"Steps that it touches are left out.",
					pauses));
}

/* GPU times that are there, and what CUPTI refused beside them. */
static void check_cupti(const struct model *model, struct quality *quality)
{
	static const struct {
		const char *key, *before, *after;
	} parts[] = {
		{"gpu_times.missing", "CUPTI refused these kinds of records: ",
		 "; GPU work of such a kind is not in the file, its time counts as idle."},
		{"gpu_times.failed",
		 "Calls of CUPTI failed: ", "; what they were for may be missing."},
		{"gpu_times.flush",
		 "Records could not be fetched from CUPTI: ", "; some are missing."},
	};
	const char *second = model->source.info(model->source.context, "gpu_times.second_cupti");

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		const char *told = model->source.info(model->source.context, parts[i].key);

		if (told && *told)
			quality_add(quality, "GT915", "is_incomplete", 1,
				    text_format("%s%s%s", parts[i].before, told, parts[i].after));
	}
	if (second && *second)
		quality_add(quality, "GT916", "has_second_cupti", 1,
			    text_format("Found in the program: %s.", second));
}

static bool has_gpu_totals(const struct model *model)
{
	for (size_t i = 0; i < model->total_count; i++) {
		if (model->totals[i].kind >= RECORD_KIND_gpu_kernel)
			return true;
	}
	return false;
}

void quality_check_times(const struct model *model, struct quality *quality)
{
	const char *reason = model->source.info(model->source.context, QUALITY_GPU_REASON_KEY);

	if (model->event_times.count)
		check_events(model, quality);
	else if (!model->has_gpu_times && !has_gpu_totals(model))
		quality_add(
			quality, "GT902", "gpu_operations", 0,
			text_format("There are no GPU times in this file%s%s; the ledger cannot be "
				    "made.",
				    reason ? ": " : "", reason ? reason : ""));
	check_pauses(model, quality);
	check_cupti(model, quality);
}
