/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches whose kernels have no GPU time although CUPTI was at work and told of no loss (GT917).
 * That is how it looks when somebody else in the process takes CUPTI's records: a static copy of
 * CUPTI in a library has no names by which the recorder could find it.
 */
#include <stdlib.h>
#include <string.h>

#include "call_totals.h"
#include "quality_precision.h"
#include "text.h"
#include "trace_file.h"
#include "xmalloc.h"

/* Fewer, and less than a share, are those that were under way when the program ended. */
#define LEAST_LAUNCHES 10
#define LEAST_PERCENT  1.0

struct untimed {
	size_t launches, missing, without_callback;
	int64_t last_timed_ns; /* begin of the last launch with a time */
	size_t missing_after;
};

/* CUPTI of our own recorder, all the time, and a file that is whole. */
static bool is_judged(const struct model *model)
{
	const struct trace_health *health = model->source.health;
	const char *source = model->source.info(model->source.context, "gpu_times.source");
	const char *refused = model->source.info(model->source.context, "gpu_times.missing");

	return source && !strncmp(source, "cupti", 5) && model->recording == RECORDED_ALL &&
	       !model->blind_count && health->session_end &&
	       health->session_end != SESSION_KILLED && !health->damaged_bytes &&
	       !health->damaged_chunks && !(refused && strstr(refused, "kernels"));
}

static bool has_bit(const uint8_t *bits, size_t at)
{
	return bits[at / 8] >> (at % 8) & 1;
}

static void set_bit(uint8_t *bits, size_t at)
{
	bits[at / 8] |= (uint8_t)(1u << (at % 8));
}

/* One bit per call: it, or a call inside it, launched something that has a time. */
static uint8_t *find_timed(const struct model *model)
{
	uint8_t *bits = xcalloc(model->call_count / 8 + 1, 1);

	for (size_t i = 0; i < model->op_count; i++) {
		if (model->ops[i].call != MODEL_NONE)
			set_bit(bits, model->ops[i].call);
	}
	/* A parent comes before its children. */
	for (size_t i = model->call_count; i-- > 0;) {
		if (has_bit(bits, i) && model->calls[i].parent != MODEL_NONE)
			set_bit(bits, model->calls[i].parent);
	}
	return bits;
}

static bool is_launch(const struct host_call *call)
{
	return call->kind == RECORD_KIND_launch && !call->status &&
	       !(call->flags & (CALL_REDUNDANT | CALL_CAPTURED));
}

static struct untimed count_untimed(const struct model *model)
{
	struct untimed untimed = {.last_timed_ns = INT64_MIN};
	uint8_t *timed = find_timed(model);

	for (size_t i = 0; i < model->call_count; i++) {
		const struct host_call *call = &model->calls[i];

		if (!is_launch(call))
			continue;
		untimed.launches++;
		if (!has_bit(timed, i)) {
			untimed.missing++;
			untimed.without_callback += !call->correlation;
		} else if (call->begin_ns > untimed.last_timed_ns) {
			untimed.last_timed_ns = call->begin_ns;
		}
	}
	for (size_t i = 0; i < model->call_count; i++) {
		const struct host_call *call = &model->calls[i];

		untimed.missing_after += is_launch(call) && !has_bit(timed, i) &&
					 call->begin_ns > untimed.last_timed_ns;
	}
	free(timed);
	return untimed;
}

void quality_check_launches(const struct model *model, struct quality *quality)
{
	uint64_t lost = model->source.health->lost_total;
	struct untimed untimed;
	struct text text;
	double percent;

	if (!is_judged(model))
		return;
	untimed = count_untimed(model);
	if (untimed.missing < LEAST_LAUNCHES + lost)
		return;
	percent = 100.0 * (double)(untimed.missing - lost) / (double)untimed.launches;
	if (percent < LEAST_PERCENT)
		return;
	text_init(&text);
	text_addf(&text,
		  "%zu of %zu launches have no GPU time, and no loss was told that explains it",
		  untimed.missing, untimed.launches);
	if (untimed.missing_after == untimed.missing && untimed.last_timed_ns != INT64_MIN)
		text_addf(&text, "; none has after %.3f s", (double)untimed.last_timed_ns / 1e9);
	if (untimed.without_callback == untimed.missing)
		text_add(&text, ". CUPTI's callbacks did not come for them either, as when another "
				"user of CUPTI in the process, perhaps a static copy of it, has "
				"taken its place.");
	else
		text_addf(&text, ". CUPTI's callbacks came for %zu of them, its records for none.",
			  untimed.missing - untimed.without_callback);
	text_add(&text, " Idle time is too long by what their kernels took.");
	quality_add(quality, "GT917", "launches_without_time", (double)untimed.missing,
		    text_take(&text));
}
