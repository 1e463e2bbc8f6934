/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the rows makes control bytes, four byte planes of times and the extras at once.
 * Patterns that are new get a pass of their own before, which only learns their times: a program's
 * first calls are its slowest, and every chunk of the segment begins from what is written here.
 */
#include "event_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "event_model.h"
#include "record.h"

/* Pattern, gap, duration, drift, two numbers, count of changes and up to eight of those. */
#define EXTRAS_BLOCK_ROWS 256u
#define EXTRAS_ROW_MAX	  (7u * 10 + EVENT_VARYING_MAX * 11)

struct event_encoder {
	struct event_model model;
	struct event_state states[EVENT_PATTERN_LIMIT + 1];
	struct event_lane *lanes;
	uint32_t lane_capacity;
	struct byte_buffer extras;
};

struct event_encoder *event_encoder_new(void)
{
	return calloc(1, sizeof(struct event_encoder));
}

void event_encoder_free(struct event_encoder *encoder)
{
	if (!encoder)
		return;
	free(encoder->lanes);
	byte_buffer_free(&encoder->extras);
	free(encoder);
}

static int start(struct event_encoder *encoder, const struct event_store *store)
{
	if (store->lane_count > encoder->lane_capacity) {
		struct event_lane *grown =
			realloc(encoder->lanes, store->lane_capacity * sizeof(*encoder->lanes));

		if (!grown)
			return -ENOMEM;
		encoder->lanes = grown;
		encoder->lane_capacity = store->lane_capacity;
	}
	if (store->lane_count > 0)
		memset(encoder->lanes, 0, store->lane_count * sizeof(*encoder->lanes));
	event_model_start(&encoder->model);
	/* State 0 is that before the first event: pattern 1 follows. */
	encoder->states[0] = event_state_of(0, 0, 0, 0, 0, 0, 0, 0);
	if (store->pattern_count > 1)
		memcpy(encoder->states + 1, store->states + 1,
		       (store->pattern_count - 1) * sizeof(*store->states));
	return 0;
}

static const struct event_run *runs_of(const struct event_store *store, size_t *count)
{
	*count = store->runs.used / sizeof(struct event_run);
	return (const struct event_run *)(const void *)store->runs.data;
}

/* ---- patterns ---- */

/* What a new pattern's row teaches about it; the chain has been there before. */
static void learn_row(struct event_state *state, bool is_first, const struct event_row *row,
		      const struct event_chain *chain, const struct event_lane *lane)
{
	bool encloses;
	uint64_t gap, duration;

	if (is_first && row->correlation)
		state->flags |= EVENT_CORRELATED;
	if (is_first && chain->end && row->begin < chain->begin)
		state->flags |= EVENT_ENCLOSES;
	encloses = state->flags & EVENT_ENCLOSES;
	gap = row->begin - (encloses ? chain->begin : chain->end);
	duration = row->end - (encloses ? chain->end : row->begin);
	if (is_first) {
		state->gap = chain->end ? event_estimate_first(gap) : 0;
		state->duration = event_estimate_first(duration);
	} else {
		state->gap = state->gap || !chain->end ? event_estimate_move(state->gap, gap)
						       : event_estimate_first(gap);
		state->duration = event_estimate_move(state->duration, duration);
	}
	event_number_learn(&state->call_step, &state->call_last, row->call_id - lane->call_id);
	event_number_learn(&state->parent_back, &state->parent_last,
			   row->parent_id ? row->call_id - row->parent_id : 0);
	event_number_learn(&state->correlation_step, &state->correlation_last,
			   row->correlation - chain->correlation);
}

static int learn_patterns(struct event_encoder *encoder, struct event_store *store)
{
	const struct event_row *row = store->rows;
	const struct event_run *runs;
	size_t run_count;
	int rc = start(encoder, store);

	runs = runs_of(store, &run_count);
	for (size_t run = 0; rc == 0 && run < run_count; run++) {
		struct event_lane *lane = &encoder->lanes[runs[run].lane];

		for (const struct event_row *end = row + runs[run].rows; row < end; row++) {
			struct event_pattern *pattern = &store->patterns[row->pattern];
			struct event_state *state = &store->states[row->pattern];
			struct event_chain *chain = event_model_chain(&encoder->model, lane, state);

			if (row->pattern >= store->written_count)
				learn_row(state, !pattern->is_learned, row, chain, lane);
			pattern->is_learned = 1;
			chain->begin = row->begin;
			chain->end = row->end;
			if (state->flags & EVENT_CORRELATED)
				chain->correlation = row->correlation;
			lane->call_id = row->call_id;
		}
	}
	for (uint32_t i = store->written_count; rc == 0 && i < store->pattern_count; i++) {
		struct event_state *state = &store->states[i];

		*state = event_state_of(i, state->gap, state->duration, state->correlation_step,
					state->call_step, state->parent_back, state->flags,
					state->chain);
	}
	return rc;
}

static void put_pattern(const struct event_store *store, uint32_t number, uint32_t size_bytes,
			uint8_t *to)
{
	const struct event_pattern *pattern = &store->patterns[number];
	const struct event_state *state = &store->states[number];
	const void *record = pattern->record;

	if (pattern->first)
		record = store->firsts.data + (pattern->first - 1) * sizeof(pattern->record);
	bytes_store32(to, (uint32_t)state->gap);
	bytes_store32(to + 4, (uint32_t)state->duration);
	bytes_store32(to + 8, state->correlation_step);
	bytes_store32(to + 12, state->call_step);
	bytes_store32(to + 16, state->parent_back);
	bytes_store16(to + 20, state->flags);
	bytes_store16(to + 22, state->chain);
	memcpy(to + PATTERN_HEAD_BYTES, record, size_bytes);
}

int event_encode_patterns(struct event_encoder *encoder, struct event_store *store,
			  struct byte_buffer *payload, uint32_t *count)
{
	uint8_t head[PATTERNS_HEAD_BYTES];
	int rc;

	*count = store->pattern_count - store->written_count;
	if (*count == 0)
		return 0;
	rc = learn_patterns(encoder, store);
	bytes_store32(head, store->written_count);
	bytes_store32(head + 4, *count);
	if (rc == 0)
		rc = byte_buffer_append(payload, head, sizeof(head));
	for (uint32_t i = store->written_count; rc == 0 && i < store->pattern_count; i++) {
		uint32_t size_bytes = store->layouts[store->patterns[i].kind - EVENTS_FIRST_KIND]
					      .schema->size_bytes;

		rc = byte_buffer_reserve(payload, PATTERN_HEAD_BYTES + size_bytes);
		if (rc < 0)
			break;
		put_pattern(store, i, size_bytes, payload->data + payload->used);
		payload->used += PATTERN_HEAD_BYTES + size_bytes;
	}
	return rc;
}

/* ---- rows ---- */

/* Where the parts of the payload are being put. */
struct event_planes {
	uint8_t *control, *gap_low, *gap_high, *duration_low, *duration_high;
	const struct event_change *change, *changes_end;
};

static uint8_t *put_varint(uint8_t *to, uint64_t value)
{
	while (value >= 0x80) {
		*to++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*to++ = (uint8_t)value;
	return to;
}

static uint64_t zigzag32(uint32_t difference)
{
	return bytes_zigzag((uint64_t)(int64_t)(int32_t)difference);
}

/* The changes of a row: their number, then column and difference of each. */
static uint8_t *put_changes(struct event_planes *planes, uint32_t row, uint8_t *to)
{
	uint8_t *count = to++;

	*count = 0;
	while (planes->change < planes->changes_end && planes->change->row == row) {
		*to++ = (uint8_t)(planes->change->column | (planes->change->is_kept ? 0x80 : 0));
		to = put_varint(to, bytes_zigzag(planes->change->difference));
		planes->change++;
		++*count;
	}
	return to;
}

/* One row into the planes; the model goes on. */
static inline void encode_row(struct event_encoder *encoder, struct event_lane *lane,
			      const struct event_row *row, uint32_t index,
			      struct event_planes *planes)
{
	struct event_state *state = &encoder->states[row->pattern];
	struct event_chain *chain = event_model_chain(&encoder->model, lane, state);
	struct event_place place = event_model_place(&encoder->model, lane);
	uint8_t *at = encoder->extras.data + encoder->extras.used;
	bool encloses = state->flags & EVENT_ENCLOSES, correlated = state->flags & EVENT_CORRELATED;
	uint32_t back = row->parent_id ? row->call_id - row->parent_id : 0;
	uint32_t step = row->correlation - (correlated ? chain->correlation : 0);
	uint64_t drift = zigzag32(step - (correlated ? state->correlation_step : 0));
	uint64_t gap = row->begin - (encloses ? chain->begin : chain->end);
	uint64_t duration = row->end - (encloses ? chain->end : row->begin);
	uint64_t gap_surprise = bytes_zigzag(gap - (uint64_t)(int64_t)state->gap);
	uint64_t duration_surprise = bytes_zigzag(duration - (uint64_t)(int64_t)state->duration);
	uint32_t control = (uint32_t)(drift < EVENT_DRIFT_FOLLOWS ? drift : EVENT_DRIFT_FOLLOWS)
			   << EVENT_DRIFT_SHIFT;

	if (event_model_guess(place, lane, encoder->states) != row->pattern) {
		control |= EVENT_PATTERN;
		at = put_varint(at, row->pattern);
	}
	if (gap_surprise >> 16) {
		control |= EVENT_GAP;
		at = put_varint(at, gap_surprise >> 16);
	}
	if (duration_surprise >> 16) {
		control |= EVENT_DURATION;
		at = put_varint(at, duration_surprise >> 16);
	}
	if (drift >= EVENT_DRIFT_FOLLOWS)
		at = put_varint(at, drift);
	if (row->call_id - lane->call_id != state->call_step || back != state->parent_back) {
		control |= EVENT_NUMBERS;
		at = put_varint(at, zigzag32(row->call_id - lane->call_id));
		at = put_varint(at, back);
	}
	if (planes->change < planes->changes_end && planes->change->row == index) {
		control |= EVENT_CHANGES;
		at = put_changes(planes, index, at);
	}
	encoder->extras.used = (size_t)(at - encoder->extras.data);
	planes->control[index] = (uint8_t)control;
	planes->gap_low[index] = (uint8_t)gap_surprise;
	planes->gap_high[index] = (uint8_t)(gap_surprise >> 8);
	planes->duration_low[index] = (uint8_t)duration_surprise;
	planes->duration_high[index] = (uint8_t)(duration_surprise >> 8);

	event_model_follow(place, lane, encoder->states, row->pattern);
	event_model_learn(state, lane, gap, duration, step, row->call_id, back);
	chain->begin = row->begin;
	chain->end = row->end;
	if (correlated)
		chain->correlation = row->correlation;
}

static uint8_t *put_head(const struct event_store *store, uint32_t extras_bytes, uint8_t *to)
{
	size_t run_count;
	const struct event_run *runs = runs_of(store, &run_count);
	uint32_t kind_count = 0;
	uint8_t *head = to;

	memset(head, 0, EVENTS_HEAD_BYTES);
	to += EVENTS_HEAD_BYTES;
	for (uint32_t i = 0; i < store->lane_count; i++, to += EVENTS_LANE_BYTES)
		bytes_store32(to, store->threads[i]);
	for (size_t i = 0; i < run_count; i++, to += EVENTS_RUN_BYTES) {
		bytes_store32(to, runs[i].lane);
		bytes_store32(to + 4, runs[i].rows);
	}
	for (uint32_t i = 0; i < EVENTS_KIND_COUNT; i++) {
		if (store->kind_rows[i] == 0)
			continue;
		bytes_store32(to, EVENTS_FIRST_KIND + i);
		bytes_store32(to + 4, store->kind_rows[i]);
		to += EVENTS_KIND_BYTES;
		kind_count++;
	}
	bytes_store32(head, store->lane_count);
	bytes_store32(head + 4, (uint32_t)run_count);
	bytes_store32(head + 8, kind_count);
	bytes_store32(head + 12, extras_bytes);
	bytes_store32(head + 16, store->row_count);
	return to;
}

static size_t head_bytes(const struct event_store *store)
{
	size_t run_count, kind_count = 0;

	runs_of(store, &run_count);
	for (uint32_t i = 0; i < EVENTS_KIND_COUNT; i++)
		kind_count += store->kind_rows[i] > 0;
	return EVENTS_HEAD_BYTES + EVENTS_LANE_BYTES * (size_t)store->lane_count +
	       EVENTS_RUN_BYTES * run_count + EVENTS_KIND_BYTES * kind_count;
}

/* Each plane has statistics of its own. */
static void cut_planes(const struct event_store *store, size_t planes, struct chunk_cuts *cuts)
{
	for (uint32_t i = 0; i <= EVENTS_PLANES; i++)
		chunk_cut(cuts, planes + (size_t)i * store->row_count);
	/* Control bytes repeat as the program does. */
	cuts->noise_from = planes + store->row_count;
	cuts->noise_to = planes + (size_t)EVENTS_PLANES * store->row_count;
}

int event_encode_rows(struct event_encoder *encoder, const struct event_store *store,
		      struct byte_buffer *payload, struct chunk_cuts *cuts)
{
	size_t head = head_bytes(store), rows = store->row_count, base = payload->used;
	const struct event_row *row = store->rows;
	struct event_planes planes = {0};
	const struct event_run *runs;
	uint32_t index = 0;
	size_t run_count;
	int rc = byte_buffer_reserve(payload, head + EVENTS_PLANES * rows);

	if (rc == 0)
		rc = start(encoder, store);
	if (rc < 0)
		return rc;
	encoder->extras.used = 0;
	planes.control = payload->data + base + head;
	planes.gap_low = planes.control + rows;
	planes.gap_high = planes.gap_low + rows;
	planes.duration_low = planes.gap_high + rows;
	planes.duration_high = planes.duration_low + rows;
	planes.change = (const struct event_change *)(const void *)store->changes.data;
	planes.changes_end = planes.change;
	if (store->changes.used > 0)
		planes.changes_end += store->changes.used / sizeof(*planes.change);
	runs = runs_of(store, &run_count);
	for (size_t run = 0; rc == 0 && run < run_count; run++) {
		struct event_lane *lane = &encoder->lanes[runs[run].lane];

		for (uint32_t i = 0; rc == 0 && i < runs[run].rows; i++, index++) {
			if (index % EXTRAS_BLOCK_ROWS == 0 || i == 0)
				rc = byte_buffer_reserve(&encoder->extras,
							 EXTRAS_BLOCK_ROWS * EXTRAS_ROW_MAX);
			if (rc == 0)
				encode_row(encoder, lane, row++, index, &planes);
		}
	}
	if (rc == 0)
		put_head(store, (uint32_t)encoder->extras.used, payload->data + base);
	payload->used += head + EVENTS_PLANES * rows;
	if (rc == 0)
		rc = byte_buffer_append(payload, encoder->extras.data, encoder->extras.used);
	if (rc < 0)
		payload->used = base;
	else
		cut_planes(store, head, cuts);
	return rc;
}
