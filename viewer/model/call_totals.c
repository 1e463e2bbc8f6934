/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up the records of kind total by what is the same in them. Numbers of a file may be anything:
 * sums stop at their largest value instead of going round.
 */
#include "call_totals.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "event_time.h"
#include "model_internal.h"
#include "xmalloc.h"

static uint64_t add_bounded(uint64_t sum, uint64_t more)
{
	return more > UINT64_MAX - sum ? UINT64_MAX : sum + more;
}

static int64_t add_time(int64_t sum_ns, int64_t more_ns)
{
	return more_ns > INT64_MAX - sum_ns ? INT64_MAX : sum_ns + more_ns;
}

static void add_sums(struct call_total *sum, const struct call_total *more)
{
	sum->count = add_bounded(sum->count, more->count);
	sum->failed = add_bounded(sum->failed, more->failed);
	sum->bytes = add_bounded(sum->bytes, more->bytes);
	sum->duration_ns = add_time(sum->duration_ns, more->duration_ns);
	if (more->longest_ns > sum->longest_ns)
		sum->longest_ns = more->longest_ns;
}

static bool is_same_row(const struct call_total *a, const struct call_total *b)
{
	return a->detail == b->detail && a->site == b->site && a->api == b->api &&
	       a->device == b->device && a->variant == b->variant && a->kind == b->kind &&
	       a->flags == b->flags;
}

static uint64_t hash_row(const struct call_total *row)
{
	uint64_t what = (uint64_t)row->api | (uint64_t)row->device << 16 |
			(uint64_t)row->variant << 32 | (uint64_t)row->kind << 48 |
			(uint64_t)row->flags << 56;

	return map_mix(map_mix(row->detail, row->site), what);
}

/* A span of the host's clock, at the rate that the clock had then. */
static int64_t span_ns(const struct model *model, const struct record_total *record, uint64_t span)
{
	int64_t begin_ns, end_ns;

	if (record->total_of >= RECORD_KIND_gpu_kernel)
		return span < INT64_MAX ? (int64_t)span : INT64_MAX;
	/* A sum may be longer than its interval, when many threads wait; it keeps the rate of its
	 * interval then. */
	begin_ns = event_time_host(model, record->begin_ticks);
	end_ns = event_time_host(model, record->end_ticks);
	if (record->end_ticks > record->begin_ticks && end_ns > begin_ns)
		return (int64_t)((double)span *
				 ((double)(end_ns - begin_ns) /
				  (double)(record->end_ticks - record->begin_ticks)));
	return event_time_end(begin_ns, event_time_host(model, record->begin_ticks + span)) -
	       begin_ns;
}

static void take_interval(struct model *model, const struct record_total *record)
{
	int64_t begin_ns = event_time_host(model, record->begin_ticks);
	int64_t end_ns = event_time_end(begin_ns, event_time_host(model, record->end_ticks));

	if (!model->total_count || begin_ns < model->totals_begin_ns)
		model->totals_begin_ns = begin_ns;
	if (!model->total_count || end_ns > model->totals_end_ns)
		model->totals_end_ns = end_ns;
	/* All tables are read at once, and what was read is on disk when the file says that it is
	 * complete up to that time. */
	if (end_ns <= model->source.health->host_complete_ns && end_ns > model->totals_complete_ns)
		model->totals_complete_ns = end_ns;
}

static void collect_total(struct model_builder *builder, const struct record_total *record)
{
	struct model *model = builder->model;
	bool names_kernel = record->total_of == RECORD_KIND_launch ||
			    record->total_of == RECORD_KIND_gpu_kernel;
	struct call_total row = {
		.detail = record->detail,
		.count = record->count,
		.failed = record->failed,
		.bytes = record->size_bytes,
		.duration_ns = span_ns(model, record, record->duration),
		.longest_ns = span_ns(model, record, record->longest),
		.site = collect_site(builder, record->site),
		.kernel = names_kernel && record->detail ? collect_kernel(builder, record->detail)
							 : MODEL_NONE,
		.api = collect_api(builder, record->api),
		.device = collect_device(builder, record->device),
		.variant = record->variant,
		.kind = record->total_of,
		.flags = record->flags,
	};
	uint64_t hash = hash_row(&row);

	take_interval(model, record);
	for (;; hash++) {
		bool is_new;
		uint64_t *slot = map_slot(&builder->totals, hash, &is_new);

		if (is_new) {
			if (model->total_count == builder->total_capacity)
				model->totals = array_grow(model->totals, &builder->total_capacity,
							   sizeof(*model->totals));
			*slot = model->total_count;
			model->totals[model->total_count++] = row;
			return;
		}
		if (is_same_row(&model->totals[*slot], &row)) {
			add_sums(&model->totals[*slot], &row);
			return;
		}
	}
}

void collect_totals(struct model_builder *builder, const struct trace_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		struct record_total record;

		memcpy(&record, (const char *)batch->rows + (size_t)i * batch->row_bytes,
		       sizeof(record));
		if (record.total_of < RECORD_KIND_LIMIT)
			collect_total(builder, &record);
	}
}

void call_totals_learn_recording(struct model *model)
{
	const char *mode = model->source.info(model->source.context, "recording.mode");

	if (!mode)
		return;
	if (!strncmp(mode, "summary", 7))
		model->recording = RECORDED_SUMS;
	else if (!strncmp(mode, "sampled: ", 9))
		model->recording = RECORDED_SAMPLE;
	else if (!strncmp(mode, "sampled above", 13))
		model->recording = RECORDED_BY_RATE;
}

/* ---- questions ---- */

bool call_totals_replace_calls(const struct model *model)
{
	return model->recording == RECORDED_SUMS || model->recording == RECORDED_SAMPLE;
}

const char *call_totals_reason(const struct model *model)
{
	if (model->recording == RECORDED_SUMS)
		return "calls and GPU work were only summed (GPUTRACE_MODE=summary)";
	return model->recording == RECORDED_BY_RATE
		       ? "launches were sampled (GPUTRACE_SAMPLE_RATE)"
		       : "launches were sampled (GPUTRACE_SAMPLE_LAUNCHES)";
}

uint8_t call_total_direction(const struct call_total *total)
{
	return (uint8_t)total->detail;
}

uint8_t call_total_source_kind(const struct call_total *total)
{
	return (uint8_t)(total->detail >> 8);
}

uint8_t call_total_destination_kind(const struct call_total *total)
{
	return (uint8_t)(total->detail >> 16);
}

uint64_t call_total_least_bytes(const struct call_total *total)
{
	unsigned int size_class = (unsigned int)(total->detail >> 24 & 0xff);

	return size_class == 0 || size_class > 64 ? 0 : 1ull << (size_class - 1);
}

uint64_t call_totals_failed(const struct model *model, uint16_t api, uint32_t site)
{
	uint64_t failed = 0;

	for (size_t i = 0; i < model->total_count; i++) {
		const struct call_total *total = &model->totals[i];

		if (total->api == api && total->site == site && !(total->flags & TOTAL_NESTED))
			failed = add_bounded(failed, total->failed);
	}
	return failed;
}

static bool says_of_itself(const struct model *model, const char *key)
{
	const char *value = model->source.info(model->source.context, key);

	return value && strtoull(value, NULL, 10) > 0;
}

struct totals_span call_totals_span(const struct model *model)
{
	const struct trace_health *health = model->source.health;
	bool is_damaged = health->damaged_bytes || health->damaged_chunks ||
			  health->lost[RECORD_KIND_total] ||
			  says_of_itself(model, "recovered.lost_records");

	return (struct totals_span){
		.has_begin = !says_of_itself(model, "rotation.dropped_segments"),
		.has_end = health->session_end && !is_damaged,
		.from_ns = model->totals_begin_ns,
		/* Of a damaged file anything may be missing; the last chunk of one that is cut says
		 * up to when it is whole. */
		.until_ns = health->damaged_chunks || health->session_end
				    ? 0
				    : model->totals_complete_ns,
	};
}

int64_t call_totals_length_ns(const struct model *model)
{
	return model->totals_end_ns - model->totals_begin_ns;
}

/* ---- lists ---- */

static bool has_size(uint8_t kind)
{
	return kind == RECORD_KIND_copy || kind == RECORD_KIND_set || kind == RECORD_KIND_memory ||
	       kind == RECORD_KIND_gpu_copy || kind == RECORD_KIND_gpu_set;
}

/* By everything that a row of a list is by; rows that differ in the size class alone come together.
 */
static int compare_keys(const void *left, const void *right)
{
	const struct call_total *a = left, *b = right;
	const uint64_t keys[][2] = {
		{a->kind, b->kind},	{a->api, b->api},	  {a->site, b->site},
		{a->detail, b->detail}, {a->variant, b->variant}, {a->flags, b->flags},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	}
	return 0;
}

static int compare_times(const void *left, const void *right)
{
	const struct call_total *a = left, *b = right;

	if (a->duration_ns != b->duration_ns)
		return a->duration_ns < b->duration_ns ? 1 : -1;
	return compare_keys(left, right);
}

static bool is_wanted(const struct call_total *total, const struct call_total_query *query)
{
	if ((total->kind >= RECORD_KIND_gpu_kernel) != query->is_gpu ||
	    total->kind == RECORD_KIND_gpu_sync || (total->flags & TOTAL_NESTED))
		return false;
	if (!query->is_of_any_device && total->device != query->device)
		return false;
	return !query->least_bytes || !has_size(total->kind) ||
	       call_total_least_bytes(total) >= query->least_bytes;
}

struct call_total *call_totals_list(const struct model *model, const struct call_total_query *query,
				    size_t *count)
{
	struct call_total *list = NULL;
	size_t used = 0, kept = 0;

	*count = 0;
	if (!model->total_count)
		return NULL;
	list = xcalloc(model->total_count, sizeof(*list));
	for (size_t i = 0; i < model->total_count; i++) {
		if (!is_wanted(&model->totals[i], query))
			continue;
		list[used] = model->totals[i];
		if (has_size(list[used].kind))
			list[used].detail &= 0xffffff;
		if (query->ignores_sites)
			list[used].site = 0;
		used++;
	}
	if (!used) {
		free(list);
		return NULL;
	}
	qsort(list, used, sizeof(*list), compare_keys);
	for (size_t i = 1; i < used; i++) {
		if (compare_keys(&list[kept], &list[i]))
			list[++kept] = list[i];
		else
			add_sums(&list[kept], &list[i]);
	}
	*count = kept + 1;
	qsort(list, *count, sizeof(*list), compare_times);
	return list;
}
