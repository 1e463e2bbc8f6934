/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the rows. What a program repeats is guessed right, so that a row is mostly a
 * handful of additions; what was not guessed stands in the extras. Records are not touched at all,
 * except where a row says that it differs from its pattern: then it gets a record of its own.
 */
#include "event_decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "event_model.h"
#include "record.h"
#include "record_schema.h"

/* A row without any of these has nothing in the extras, unless its drift follows there. */
#define EXTRAS_CONTROL	(EVENT_PATTERN | EVENT_GAP | EVENT_DURATION | EVENT_CHANGES | EVENT_NUMBERS)
#define PATTERN_NUMBERS (UINT16_MAX + 1u) /* a guess may be any of these */

/* What a row of a pattern becomes, as far as this chunk has come. */
struct pattern_use {
	uint32_t record; /* its own, or one that changed it */
	uint32_t kind;	 /* 1 and its place in the family; 0: a hole */
};

struct event_decoder {
	struct event_model model;
	struct event_state states[EVENT_PATTERN_LIMIT + 1];
	struct pattern_use uses[PATTERN_NUMBERS];
	uint32_t use_count;
	struct event_lane *lanes;
	uint32_t lane_capacity;
	/* What a chunk is decoded to. */
	struct trace_event *rows;
	struct trace_event_run *runs;
	uint32_t row_capacity, run_capacity;
	uint8_t *others;
	uint16_t *other_kinds;
	uint32_t other_count, other_capacity;
};

/* What of a payload is where. */
struct reading {
	struct event_decoder *decoder;
	const struct pattern_set *set;
	struct event_parts at;
	uint32_t left[1 + EVENTS_KIND_COUNT / 2]; /* rows to come, by pattern_use.kind */
};

struct event_decoder *event_decoder_new(void)
{
	return calloc(1, sizeof(struct event_decoder));
}

void event_decoder_free(struct event_decoder *decoder)
{
	if (!decoder)
		return;
	free(decoder->lanes);
	free(decoder->rows);
	free(decoder->runs);
	free(decoder->others);
	free(decoder->other_kinds);
	free(decoder);
}

/* ---- extras ---- */

static bool take_varint(struct reading *reading, uint64_t *value)
{
	const uint8_t *from = reading->at.extras;
	uint64_t result = 0;

	for (unsigned int shift = 0; shift < 64 && from < reading->at.end; shift += 7) {
		uint8_t byte = *from++;

		result |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			reading->at.extras = from;
			*value = result;
			return true;
		}
	}
	return false;
}

/* ---- records of single rows ---- */

static uint8_t *other_at(struct event_decoder *decoder, uint32_t index)
{
	return decoder->others + (size_t)index * EVENT_RECORD_BYTES;
}

static bool grow_others(struct event_decoder *decoder)
{
	uint32_t capacity = decoder->other_capacity ? decoder->other_capacity * 2 : 64;
	uint8_t *others = realloc(decoder->others, (size_t)capacity * EVENT_RECORD_BYTES);
	uint16_t *kinds;

	decoder->others = others ? others : decoder->others;
	kinds = realloc(decoder->other_kinds, capacity * sizeof(*kinds));
	decoder->other_kinds = kinds ? kinds : decoder->other_kinds;
	if (!others || !kinds)
		return false;
	decoder->other_capacity = capacity;
	return true;
}

/* What the pattern says now. */
static const uint8_t *record_now(const struct reading *reading, uint32_t pattern)
{
	uint32_t record = reading->decoder->uses[pattern].record, patterns = reading->set->count;

	return record < patterns ? reading->set->records + (size_t)record * EVENT_RECORD_BYTES
				 : other_at(reading->decoder, record - patterns);
}

/* A copy of what the pattern says now; its index in `others`, or -ENOMEM. */
static int64_t add_other(struct reading *reading, uint32_t pattern)
{
	struct event_decoder *decoder = reading->decoder;
	uint32_t index = decoder->other_count;

	if (index == decoder->other_capacity && !grow_others(decoder))
		return -ENOMEM;
	memcpy(other_at(decoder, index), record_now(reading, pattern), EVENT_RECORD_BYTES);
	decoder->other_kinds[index] = reading->set->kinds[pattern];
	decoder->other_count++;
	return index;
}

static const struct record_column *find_column(uint16_t kind, uint16_t id)
{
	const struct record_schema *schema = record_schema_of(kind);

	for (uint16_t i = 0; i < schema->column_count; i++) {
		if (schema->columns[i].id == id)
			return &schema->columns[i];
	}
	return NULL;
}

/* One column of the row that differs. `changed` is what the pattern says from now on, which begins
 * with the first column that stays changed; -1 before. */
static int take_change(struct reading *reading, uint32_t pattern, int64_t own, int64_t *changed)
{
	struct event_decoder *decoder = reading->decoder;
	uint16_t kind = reading->set->kinds[pattern];
	const struct record_column *column;
	uint64_t difference, value;
	const uint8_t *base;
	uint8_t code;

	if (reading->at.extras == reading->at.end)
		return -EBADMSG;
	code = *reading->at.extras++;
	if (!take_varint(reading, &difference))
		return -EBADMSG;
	column = event_row_bytes(kind) ? find_column(kind, code & 0x7f) : NULL;
	if (!column)
		return 0; /* of a newer version */
	if ((code & 0x80) && *changed < 0) {
		*changed = add_other(reading, pattern);
		if (*changed < 0)
			return -ENOMEM;
	}
	base = *changed >= 0 ? other_at(decoder, (uint32_t)*changed) : record_now(reading, pattern);
	value = bytes_load(base + column->offset, column->width) + bytes_unzigzag(difference);
	bytes_store(other_at(decoder, (uint32_t)own) + column->offset, column->width, value);
	if (code & 0x80)
		bytes_store(other_at(decoder, (uint32_t)*changed) + column->offset, column->width,
			    value);
	return 0;
}

/* Columns of a row that are not its pattern's: gives the row a record of its own. */
static int take_changes(struct reading *reading, uint32_t pattern, struct trace_event *row)
{
	struct event_decoder *decoder = reading->decoder;
	int64_t own = add_other(reading, pattern), changed = -1;
	uint32_t count;
	int rc = 0;

	if (own < 0)
		return -ENOMEM;
	if (reading->at.extras == reading->at.end)
		return -EBADMSG;
	for (count = *reading->at.extras++; rc == 0 && count > 0; count--)
		rc = take_change(reading, pattern, own, &changed);
	if (rc < 0)
		return rc;
	row->record = reading->set->count + (uint32_t)own;
	if (changed < 0)
		return 0;
	/* Mostly all of it stays changed: then one record does. */
	if (memcmp(other_at(decoder, (uint32_t)own), other_at(decoder, (uint32_t)changed),
		   EVENT_RECORD_BYTES) == 0) {
		decoder->other_count--;
		changed = own;
	}
	decoder->uses[pattern].record = reading->set->count + (uint32_t)changed;
	return 0;
}

/* ---- rows ---- */

/* What one row says, before it becomes a time. */
struct event_values {
	uint32_t pattern;
	uint64_t gap, duration; /* surprises, still zigzag */
	uint64_t drift;
	uint64_t call_step; /* zigzag; with EVENT_NUMBERS */
	uint64_t parent_back;
};

static __attribute__((noinline)) bool take_extras(struct reading *reading, uint32_t control,
						  struct event_values *values)
{
	uint64_t high;

	if (control & EVENT_PATTERN) {
		if (!take_varint(reading, &high) || high >= EVENT_PATTERN_LIMIT)
			return false;
		values->pattern = (uint32_t)high;
	}
	if (control & EVENT_GAP) {
		if (!take_varint(reading, &high))
			return false;
		values->gap |= high << 16;
	}
	if (control & EVENT_DURATION) {
		if (!take_varint(reading, &high))
			return false;
		values->duration |= high << 16;
	}
	if (values->drift == EVENT_DRIFT_FOLLOWS && !take_varint(reading, &values->drift))
		return false;
	return !(control & EVENT_NUMBERS) || (take_varint(reading, &values->call_step) &&
					      take_varint(reading, &values->parent_back));
}

/* One row. `is_gpu` and `is_plain`, without anything in the extras, are constants: there is a loop
 * for each family, with a short way for most rows. */
static inline __attribute__((always_inline)) int decode_row(struct reading *reading,
							    struct event_lane *lane, uint32_t index,
							    struct trace_event *row, bool is_gpu,
							    bool is_plain)
{
	struct event_decoder *decoder = reading->decoder;
	uint32_t control = reading->at.control[index];
	struct event_place place = event_model_place(&decoder->model, lane);
	struct event_values values = {.pattern = event_model_guess(place, lane, decoder->states),
				      .gap = reading->at.gap_low[index] |
					     (uint64_t)reading->at.gap_high[index] << 8,
				      .duration = reading->at.duration_low[index] |
						  (uint64_t)reading->at.duration_high[index] << 8,
				      .drift = control >> EVENT_DRIFT_SHIFT};
	uint32_t back, step;
	struct event_state *state;
	struct event_chain *chain;
	uint64_t gap, duration, begin, end;
	bool encloses, correlated;

	if (!is_plain && !take_extras(reading, control, &values))
		return -EBADMSG;
	/* Of a hole no rows are left. */
	if (reading->left[decoder->uses[values.pattern].kind]-- == 0)
		return -EBADMSG;
	row->record = decoder->uses[values.pattern].record;
	state = &decoder->states[values.pattern];
	chain = event_model_chain(&decoder->model, lane, state);
	encloses = state->flags & EVENT_ENCLOSES;
	correlated = state->flags & EVENT_CORRELATED;
	gap = bytes_unzigzag(values.gap) + (uint64_t)(int64_t)state->gap;
	duration = bytes_unzigzag(values.duration) + (uint64_t)(int64_t)state->duration;
	begin = (encloses ? chain->begin : chain->end) + gap;
	end = (encloses ? chain->end : begin) + duration;
	step = (uint32_t)bytes_unzigzag(values.drift) + (correlated ? state->correlation_step : 0);
	row->correlation = step + (correlated ? chain->correlation : 0);
	row->begin = begin;
	row->end = end;
	event_model_follow(place, lane, decoder->states, values.pattern);
	event_model_learn_times(state, gap, duration, step);
	if (is_gpu) {
		row->call_id = row->parent_id = 0;
	} else {
		bool is_told = !is_plain && (control & EVENT_NUMBERS);

		row->call_id = lane->call_id + (is_told ? (uint32_t)bytes_unzigzag(values.call_step)
							: state->call_step);
		back = is_told ? (uint32_t)values.parent_back : state->parent_back;
		row->parent_id = back ? row->call_id - back : 0;
		event_model_learn_numbers(state, lane, row->call_id, back);
	}
	chain->begin = begin;
	chain->end = end;
	if (correlated)
		chain->correlation = row->correlation;
	return !is_plain && (control & EVENT_CHANGES) ? take_changes(reading, values.pattern, row)
						      : 0;
}

/* Rows [index, end) of one lane. */
static inline __attribute__((always_inline)) int decode_run(struct reading *reading,
							    struct event_lane *lane, uint32_t index,
							    uint32_t end, bool is_gpu)
{
	struct trace_event *rows = reading->decoder->rows;

	for (; index < end; index++) {
		uint32_t control = reading->at.control[index];
		int rc;

		if (!(control & EXTRAS_CONTROL) &&
		    control >> EVENT_DRIFT_SHIFT != EVENT_DRIFT_FOLLOWS)
			rc = decode_row(reading, lane, index, &rows[index], is_gpu, true);
		else
			rc = decode_row(reading, lane, index, &rows[index], is_gpu, false);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int decode_calls(struct reading *reading, struct event_lane *lane, uint32_t index,
			uint32_t end)
{
	return decode_run(reading, lane, index, end, false);
}

static int decode_gpu_work(struct reading *reading, struct event_lane *lane, uint32_t index,
			   uint32_t end)
{
	return decode_run(reading, lane, index, end, true);
}

static int decode_rows(struct reading *reading, uint32_t row_count, bool is_gpu)
{
	struct event_decoder *decoder = reading->decoder;
	uint32_t index = 0;
	int rc = 0;

	for (uint32_t run = 0; rc == 0 && run < reading->at.run_count; run++) {
		const uint8_t *entry = reading->at.runs + (size_t)run * EVENTS_RUN_BYTES;
		uint32_t lane_number = bytes_load32(entry), rows = bytes_load32(entry + 4);
		struct event_lane *lane;

		if (lane_number >= reading->at.lane_count || rows > row_count - index)
			return -EBADMSG;
		lane = &decoder->lanes[lane_number];
		decoder->runs[run].thread =
			bytes_load32(reading->at.lanes + (size_t)lane_number * EVENTS_LANE_BYTES);
		decoder->runs[run].rows = rows;
		rc = is_gpu ? decode_gpu_work(reading, lane, index, index + rows)
			    : decode_calls(reading, lane, index, index + rows);
		index += rows;
	}
	return rc < 0 ? rc : index == row_count ? 0 : -EBADMSG;
}

/* ---- a chunk ---- */

/* Room for so many items; the old ones are not kept. */
static bool ensure(void *pointer, uint32_t *capacity, uint32_t count, size_t item_bytes)
{
	void **items = pointer;

	if (count <= *capacity)
		return true;
	free(*items);
	*capacity = 0;
	*items = calloc(count, item_bytes);
	if (*items)
		*capacity = count;
	return *items != NULL;
}

static int start(struct reading *reading, uint32_t row_count)
{
	struct event_decoder *decoder = reading->decoder;
	uint32_t patterns = reading->set->count;

	if (!ensure(&decoder->lanes, &decoder->lane_capacity, reading->at.lane_count,
		    sizeof(*decoder->lanes)) ||
	    !ensure(&decoder->runs, &decoder->run_capacity, reading->at.run_count,
		    sizeof(*decoder->runs)) ||
	    !ensure(&decoder->rows, &decoder->row_capacity, row_count, sizeof(*decoder->rows)))
		return -ENOMEM;
	if (reading->at.lane_count > 0)
		memset(decoder->lanes, 0, reading->at.lane_count * sizeof(*decoder->lanes));
	event_model_start(&decoder->model);
	if (patterns > 0)
		memcpy(decoder->states, reading->set->states, patterns * sizeof(*decoder->states));
	for (uint32_t i = 0; i < patterns; i++) {
		uint16_t kind = reading->set->kinds[i];

		decoder->uses[i] = (struct pattern_use){
			.record = i, .kind = kind ? 1 + kind % EVENTS_FIRST_KIND : 0};
	}
	for (uint32_t i = patterns; i < decoder->use_count; i++)
		decoder->uses[i].kind = 0;
	decoder->use_count = patterns;
	decoder->other_count = 0;
	return 0;
}

/* How many rows of each kind are to come. */
static bool take_kinds(struct reading *reading, uint16_t family_kind)
{
	memset(reading->left, 0, sizeof(reading->left));
	for (uint32_t i = 0; i < reading->at.kind_count; i++) {
		const uint8_t *entry = reading->at.kinds + (size_t)i * EVENTS_KIND_BYTES;
		uint32_t kind = bytes_load32(entry);

		if (kind < family_kind || kind >= family_kind + EVENTS_KIND_COUNT / 2)
			return false;
		reading->left[1 + kind % EVENTS_FIRST_KIND] = bytes_load32(entry + 4);
	}
	return true;
}

int event_decode(struct event_decoder *decoder, const struct pattern_set *set, uint16_t family_kind,
		 const uint8_t *payload, size_t bytes, uint32_t row_count,
		 struct trace_events *events)
{
	struct reading reading = {.decoder = decoder, .set = set};
	bool is_gpu = family_kind >= RECORD_KIND_gpu_kernel;
	int rc;

	if (!event_parts_find(payload, bytes, row_count, &reading.at) ||
	    !take_kinds(&reading, family_kind))
		return -EBADMSG;
	rc = start(&reading, row_count);
	if (rc < 0)
		return rc;
	rc = decode_rows(&reading, row_count, is_gpu);
	if (rc < 0)
		return rc;
	if (reading.at.extras != reading.at.end)
		return -EBADMSG;
	*events = (struct trace_events){
		.is_gpu = is_gpu,
		.rows = decoder->rows,
		.row_count = row_count,
		.runs = decoder->runs,
		.run_count = reading.at.run_count,
		.patterns = set->records,
		.others = decoder->others,
		.pattern_kinds = set->kinds,
		.other_kinds = decoder->other_kinds,
		.pattern_count = set->count,
		.record_count = set->count + decoder->other_count,
	};
	return 0;
}
