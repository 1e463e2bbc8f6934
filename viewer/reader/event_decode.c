/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the rows: each is a copy of its pattern's record with times and numbers put in.
 * Patterns that change on the way are put back at the end.
 */
#include "event_decode.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "event_model.h"
#include "record.h"
#include "record_schema.h"

#define COPY_BYTES 112u /* most records fit; a copy of fixed length is a few instructions */

/* A pattern's record before a chunk changed it. */
struct undo {
	uint32_t pattern;
	uint8_t record[PATTERN_RECORD_BYTES];
};

struct event_decoder {
	struct event_model model;
	struct event_state states[EVENT_PATTERN_LIMIT];
	uint8_t is_changed[EVENT_PATTERN_LIMIT];
	struct event_lane *lanes;
	uint32_t lane_capacity;
	struct undo *undo;
	uint32_t undo_count, undo_capacity;
};

/* What of a payload is where, and where rows go. */
struct reading {
	struct event_decoder *decoder;
	struct pattern_set *set;
	const uint8_t *lanes, *runs, *kinds;
	uint32_t lane_count, run_count, kind_count;
	const uint8_t *control, *gap_low, *gap_high, *duration_low, *duration_high;
	const uint8_t *extras, *end;
	struct event_output outputs[EVENTS_KIND_COUNT]; /* by kind; count: how many are to come */
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
	free(decoder->undo);
	free(decoder);
}

/* ---- the head ---- */

/* False when the parts do not add up to the payload. */
static bool find_parts(const uint8_t *payload, size_t bytes, uint32_t row_count,
		       struct reading *reading)
{
	uint64_t extras_bytes, head, rows = row_count;

	if (bytes < EVENTS_HEAD_BYTES || row_count == 0 || row_count > CHUNK_MAX_ROWS)
		return false;
	reading->lane_count = bytes_load32(payload);
	reading->run_count = bytes_load32(payload + 4);
	reading->kind_count = bytes_load32(payload + 8);
	extras_bytes = bytes_load32(payload + 12);
	if (bytes_load32(payload + 16) != row_count || reading->lane_count > row_count ||
	    reading->run_count > row_count || reading->kind_count > EVENTS_KIND_COUNT)
		return false;
	reading->lanes = payload + EVENTS_HEAD_BYTES;
	reading->runs = reading->lanes + (size_t)reading->lane_count * EVENTS_LANE_BYTES;
	reading->kinds = reading->runs + (size_t)reading->run_count * EVENTS_RUN_BYTES;
	head = EVENTS_HEAD_BYTES + (uint64_t)reading->lane_count * EVENTS_LANE_BYTES +
	       (uint64_t)reading->run_count * EVENTS_RUN_BYTES +
	       (uint64_t)reading->kind_count * EVENTS_KIND_BYTES;
	if (head + EVENTS_PLANES * rows + extras_bytes != bytes)
		return false;
	reading->control = payload + head;
	reading->gap_low = reading->control + rows;
	reading->gap_high = reading->gap_low + rows;
	reading->duration_low = reading->gap_high + rows;
	reading->duration_high = reading->duration_low + rows;
	reading->extras = reading->duration_high + rows;
	reading->end = payload + bytes;
	return true;
}

int event_decode_kinds(const uint8_t *payload, size_t bytes, uint32_t row_count,
		       struct event_output outputs[EVENTS_KIND_COUNT])
{
	struct reading reading;
	uint64_t total = 0, seen = 0;

	if (!find_parts(payload, bytes, row_count, &reading))
		return -EBADMSG;
	for (uint32_t i = 0; i < reading.kind_count; i++) {
		const uint8_t *entry = reading.kinds + (size_t)i * EVENTS_KIND_BYTES;
		uint32_t kind = bytes_load32(entry);
		const struct record_schema *schema;

		if (kind < EVENTS_FIRST_KIND || kind >= EVENTS_FIRST_KIND + EVENTS_KIND_COUNT ||
		    (seen & 1ull << kind))
			return -EBADMSG;
		seen |= 1ull << kind;
		schema = record_schema_of((uint16_t)kind);
		outputs[i] = (struct event_output){
			.kind = (uint16_t)kind,
			.row_bytes = schema->column_count > 0 &&
						     schema->size_bytes <= PATTERN_RECORD_BYTES
					     ? schema->size_bytes
					     : 0,
			.count = bytes_load32(entry + 4),
		};
		total += outputs[i].count;
	}
	return total == row_count ? (int)reading.kind_count : -EBADMSG;
}

/* ---- extras ---- */

static bool take_varint(struct reading *reading, uint64_t *value)
{
	const uint8_t *from = reading->extras;
	uint64_t result = 0;

	for (unsigned int shift = 0; shift < 64 && from < reading->end; shift += 7) {
		uint8_t byte = *from++;

		result |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			reading->extras = from;
			*value = result;
			return true;
		}
	}
	return false;
}

/* The pattern says something else from now on, until the chunk's end. 0 or -ENOMEM. */
static int keep_first(struct reading *reading, uint32_t pattern)
{
	struct event_decoder *decoder = reading->decoder;

	if (decoder->is_changed[pattern])
		return 0;
	if (decoder->undo_count == decoder->undo_capacity) {
		uint32_t capacity = decoder->undo_capacity ? decoder->undo_capacity * 2 : 64;
		struct undo *grown = realloc(decoder->undo, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		decoder->undo = grown;
		decoder->undo_capacity = capacity;
	}
	decoder->undo[decoder->undo_count].pattern = pattern;
	memcpy(decoder->undo[decoder->undo_count].record,
	       reading->set->records + (size_t)pattern * PATTERN_RECORD_BYTES,
	       PATTERN_RECORD_BYTES);
	decoder->undo_count++;
	decoder->is_changed[pattern] = 1;
	return 0;
}

static void put_back(struct event_decoder *decoder, struct pattern_set *set)
{
	for (uint32_t i = 0; i < decoder->undo_count; i++) {
		const struct undo *undo = &decoder->undo[i];

		memcpy(set->records + (size_t)undo->pattern * PATTERN_RECORD_BYTES, undo->record,
		       PATTERN_RECORD_BYTES);
		decoder->is_changed[undo->pattern] = 0;
	}
	decoder->undo_count = 0;
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

/* Columns of a row that are not its pattern's; `row` NULL: of a kind that is not read. */
static int take_changes(struct reading *reading, uint16_t kind, uint32_t pattern, uint8_t *row)
{
	uint8_t *record = reading->set->records + (size_t)pattern * PATTERN_RECORD_BYTES;
	uint32_t count;

	if (reading->extras == reading->end)
		return -EBADMSG;
	for (count = *reading->extras++; count > 0; count--) {
		const struct record_column *column;
		uint64_t difference, value;
		uint8_t code;

		if (reading->extras == reading->end)
			return -EBADMSG;
		code = *reading->extras++;
		if (!take_varint(reading, &difference))
			return -EBADMSG;
		column = row ? find_column(kind, code & 0x7f) : NULL;
		if (!column)
			continue; /* of a newer version */
		value = bytes_load(record + column->offset, column->width) +
			bytes_unzigzag(difference);
		bytes_store(row + column->offset, column->width, value);
		if (!(code & 0x80))
			continue;
		if (keep_first(reading, pattern) < 0)
			return -ENOMEM;
		bytes_store(record + column->offset, column->width, value);
	}
	return 0;
}

/* ---- rows ---- */

/* What one row says, before it is put into a record. */
struct event_values {
	uint32_t pattern;
	uint64_t gap, duration; /* surprises, still zigzag */
	uint64_t drift;
	uint64_t call_step; /* zigzag; with EVENT_NUMBERS */
	uint64_t parent_back;
};

static inline bool take_values(struct reading *reading, uint32_t index, uint32_t control,
			       struct event_values *values)
{
	uint64_t high;

	values->gap = reading->gap_low[index] | (uint64_t)reading->gap_high[index] << 8;
	values->duration = reading->duration_low[index] | (uint64_t)reading->duration_high[index]
								  << 8;
	values->drift = control >> EVENT_DRIFT_SHIFT;
	if (control == 0)
		return true;
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

/* One row; `is_gpu` is constant, so that there is a loop for each family. */
static inline __attribute__((always_inline)) int decode_row(struct reading *reading,
							    struct event_lane *lane,
							    uint32_t thread, uint32_t index,
							    bool is_gpu)
{
	struct event_decoder *decoder = reading->decoder;
	uint32_t control = reading->control[index];
	struct event_place place = event_model_place(&decoder->model, lane);
	struct event_values values = {.pattern = event_model_guess(place, lane, decoder->states)};
	uint32_t call_step, back, step, correlation, call_id;
	struct event_output *output;
	struct event_state *state;
	struct event_chain *chain;
	uint64_t gap, duration, begin, end;
	bool encloses, correlated;
	uint8_t *row = NULL;
	uint16_t kind;

	if (!take_values(reading, index, control, &values) ||
	    values.pattern >= reading->set->count || !reading->set->kinds[values.pattern])
		return -EBADMSG;
	kind = reading->set->kinds[values.pattern];
	output = &reading->outputs[kind - EVENTS_FIRST_KIND];
	if (output->count == 0)
		return -EBADMSG;
	output->count--;
	state = &decoder->states[values.pattern];
	chain = event_model_chain(&decoder->model, lane, state);
	encloses = state->flags & EVENT_ENCLOSES;
	correlated = state->flags & EVENT_CORRELATED;
	gap = bytes_unzigzag(values.gap) + (uint64_t)(int64_t)state->gap;
	duration = bytes_unzigzag(values.duration) + (uint64_t)(int64_t)state->duration;
	begin = (encloses ? chain->begin : chain->end) + gap;
	end = (encloses ? chain->end : begin) + duration;
	step = (uint32_t)bytes_unzigzag(values.drift) + (correlated ? state->correlation_step : 0);
	correlation = step + (correlated ? chain->correlation : 0);
	call_step = control & EVENT_NUMBERS ? (uint32_t)bytes_unzigzag(values.call_step)
					    : state->call_step;
	back = control & EVENT_NUMBERS ? (uint32_t)values.parent_back : state->parent_back;
	call_id = lane->call_id + call_step;
	if (output->row_bytes) {
		const uint8_t *record =
			reading->set->records + (size_t)values.pattern * PATTERN_RECORD_BYTES;

		row = output->rows;
		memcpy(row, record, COPY_BYTES);
		if (output->row_bytes > COPY_BYTES)
			memcpy(row + COPY_BYTES, record + COPY_BYTES,
			       PATTERN_RECORD_BYTES - COPY_BYTES);
		bytes_store64(row + offsetof(struct call_part, begin_ticks), begin);
		bytes_store64(row + offsetof(struct call_part, end_ticks), end);
		if (is_gpu) {
			bytes_store32(row + offsetof(struct gpu_part, correlation), correlation);
		} else {
			bytes_store32(row + offsetof(struct call_part, call_id), call_id);
			bytes_store32(row + offsetof(struct call_part, parent_id),
				      back ? call_id - back : 0);
			bytes_store32(row + offsetof(struct call_part, correlation), correlation);
		}
		*output->threads++ = thread;
		output->rows += output->row_bytes;
	}
	event_model_follow(place, lane, decoder->states, values.pattern);
	event_model_learn(state, lane, gap, duration, step, call_id, back);
	chain->begin = begin;
	chain->end = end;
	if (correlated)
		chain->correlation = correlation;
	return control & EVENT_CHANGES ? take_changes(reading, kind, values.pattern, row) : 0;
}

static int decode_rows(struct reading *reading, uint32_t row_count, bool is_gpu)
{
	uint32_t index = 0;
	int rc = 0;

	for (uint32_t run = 0; rc == 0 && run < reading->run_count; run++) {
		const uint8_t *entry = reading->runs + (size_t)run * EVENTS_RUN_BYTES;
		uint32_t lane_number = bytes_load32(entry), rows = bytes_load32(entry + 4);
		struct event_lane *lane;
		uint32_t thread;

		if (lane_number >= reading->lane_count || rows > row_count - index)
			return -EBADMSG;
		lane = &reading->decoder->lanes[lane_number];
		thread = bytes_load32(reading->lanes + (size_t)lane_number * EVENTS_LANE_BYTES);
		for (uint32_t end = index + rows; rc == 0 && index < end; index++)
			rc = is_gpu ? decode_row(reading, lane, thread, index, true)
				    : decode_row(reading, lane, thread, index, false);
	}
	return rc < 0 ? rc : index == row_count ? 0 : -EBADMSG;
}

static int start(struct reading *reading, uint16_t family_kind, const struct event_output *outputs,
		 uint32_t output_count)
{
	struct event_decoder *decoder = reading->decoder;

	if (reading->lane_count > decoder->lane_capacity) {
		free(decoder->lanes);
		decoder->lane_capacity = 0;
		decoder->lanes = calloc(reading->lane_count, sizeof(*decoder->lanes));
		if (!decoder->lanes)
			return -ENOMEM;
		decoder->lane_capacity = reading->lane_count;
	}
	if (reading->lane_count > 0)
		memset(decoder->lanes, 0, reading->lane_count * sizeof(*decoder->lanes));
	event_model_start(&decoder->model);
	if (reading->set->count > 0)
		memcpy(decoder->states, reading->set->states,
		       reading->set->count * sizeof(*decoder->states));
	memset(reading->outputs, 0, sizeof(reading->outputs));
	for (uint32_t i = 0; i < output_count; i++) {
		if (outputs[i].kind < family_kind ||
		    outputs[i].kind >= family_kind + EVENTS_KIND_COUNT / 2)
			return -EBADMSG;
		reading->outputs[outputs[i].kind - EVENTS_FIRST_KIND] = outputs[i];
	}
	return 0;
}

int event_decode(struct event_decoder *decoder, struct pattern_set *set, uint16_t family_kind,
		 const uint8_t *payload, size_t bytes, uint32_t row_count,
		 const struct event_output *outputs, uint32_t output_count)
{
	struct reading reading = {.decoder = decoder, .set = set};
	int rc;

	if (!find_parts(payload, bytes, row_count, &reading))
		return -EBADMSG;
	rc = start(&reading, family_kind, outputs, output_count);
	if (rc < 0)
		return rc;
	rc = decode_rows(&reading, row_count, family_kind >= RECORD_KIND_gpu_kernel);
	if (rc == 0 && reading.extras != reading.end)
		rc = -EBADMSG;
	put_back(decoder, set);
	return rc;
}
