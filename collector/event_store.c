/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pattern of a record is looked for where the last one led, then by hash. Comparing goes word
 * by word without branches; columns are looked at one by one only when something varies.
 */
#include "event_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "record.h"
#include "record_check.h"

#define SLOT_COUNT     (2 * EVENT_PATTERN_LIMIT)
#define FIRST_CAPACITY 512u
#define LANE_LIMIT     4096u
#define THREAD_LIMIT   (1u << 20) /* thread numbers from here on are not events */

struct event_store *event_store_new(uint32_t family)
{
	struct event_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->family = family;
	store->slots = calloc(SLOT_COUNT, sizeof(*store->slots));
	store->pattern_count = 1;
	store->written_count = 1;
	for (uint16_t i = 0; i < EVENTS_KIND_COUNT; i++) {
		uint16_t kind = (uint16_t)(EVENTS_FIRST_KIND + i);

		if (event_family_of(kind) == family && !event_layout_make(kind, &store->layouts[i]))
			store->layouts[i].word_count = 0;
	}
	if (store->slots)
		return store;
	free(store);
	return NULL;
}

void event_store_free(struct event_store *store)
{
	if (!store)
		return;
	free(store->patterns);
	free(store->states);
	free(store->slots);
	free(store->rows);
	free(store->threads);
	free(store->lane_of);
	byte_buffer_free(&store->changed);
	byte_buffer_free(&store->firsts);
	byte_buffer_free(&store->runs);
	byte_buffer_free(&store->changes);
	free(store);
}

static int grow(void *pointer, uint32_t *capacity, uint32_t needed, size_t size)
{
	void **memory = pointer;
	uint32_t wanted = *capacity ? *capacity : FIRST_CAPACITY;
	void *grown;

	if (needed <= *capacity)
		return 0;
	while (wanted < needed)
		wanted *= 2;
	grown = realloc(*memory, wanted * size);
	if (!grown)
		return -ENOMEM;
	*memory = grown;
	*capacity = wanted;
	return 0;
}

/* ---- patterns ---- */

static uint32_t hash_record(const struct event_layout *layout, const uint64_t *record)
{
	uint64_t hash = 0, factor = 0x9e3779b97f4a7c15ull;

	/* Products that do not wait for each other. */
	for (uint32_t i = 0; i < layout->word_count; i++) {
		uint64_t word = record[i] & layout->key[i];

		hash += (word ^ word >> 32) * factor;
		factor += 0x3c6ef372fe94f82aull;
	}
	hash ^= hash >> 32;
	return (uint32_t)(hash * 0xd6e8feb86659fd93ull >> 40) & (SLOT_COUNT - 1);
}

static uint64_t differences(const uint64_t *record, const uint64_t *pattern, const uint64_t *mask,
			    uint32_t count)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < count; i++)
		all |= (record[i] ^ pattern[i]) & mask[i];
	return all;
}

/* True when the record is of this pattern; *varied: but some column that varies is not its. */
static inline bool matches(const struct event_layout *layout, const struct event_pattern *pattern,
			   const uint64_t *record, uint64_t *varied)
{
	*varied = differences(record, pattern->record, layout->known, layout->word_count);
	return *varied == 0 ||
	       differences(record, pattern->record, layout->key, layout->word_count) == 0;
}

/* GPU work is timed from the work before it on its stream; chain 0 when there are too many. */
static uint16_t find_chain(struct event_store *store, const uint64_t *record)
{
	const struct gpu_part *gpu = (const struct gpu_part *)(const void *)record;
	uint64_t key;

	if (store->family != EVENT_FAMILY_GPU)
		return 0;
	key = (uint64_t)gpu->device << 48 ^ (uint64_t)gpu->context << 24 ^ gpu->stream;
	for (uint16_t i = 0; i < store->chain_count; i++) {
		if (store->chain_keys[i] == key)
			return (uint16_t)(i + 1);
	}
	if (store->chain_count == EVENT_CHAIN_LIMIT - 1)
		return 0;
	store->chain_keys[store->chain_count++] = key;
	return (uint16_t)store->chain_count;
}

/* Number of the new pattern in the slot, 0 when there is no room, -ENOMEM. */
static int add_pattern(struct event_store *store, const struct event_layout *layout, uint16_t kind,
		       const uint64_t *record, uint32_t slot)
{
	struct event_pattern *pattern;

	if (store->pattern_count == EVENT_PATTERN_LIMIT)
		return 0;
	if (grow(&store->patterns, &store->pattern_capacity, store->pattern_count + 1,
		 sizeof(*store->patterns)) < 0 ||
	    grow(&store->states, &store->state_capacity, store->pattern_count + 1,
		 sizeof(*store->states)) < 0)
		return -ENOMEM;
	pattern = &store->patterns[store->pattern_count];
	memset(pattern, 0, sizeof(*pattern));
	for (uint32_t i = 0; i < layout->word_count; i++)
		pattern->record[i] = record[i] & layout->known[i];
	pattern->kind = kind;
	store->states[store->pattern_count] =
		(struct event_state){.chain = find_chain(store, record)};
	store->slots[slot] = store->pattern_count;
	return (int)store->pattern_count++;
}

static int find_pattern(struct event_store *store, const struct event_layout *layout, uint16_t kind,
			const uint64_t *record, uint64_t *varied)
{
	uint32_t guess = store->last_pattern ? store->patterns[store->last_pattern].next : 0;
	uint32_t slot;

	if (guess && store->patterns[guess].kind == kind &&
	    matches(layout, &store->patterns[guess], record, varied))
		return (int)guess;
	slot = hash_record(layout, record);
	for (uint32_t number; (number = store->slots[slot]) != 0;
	     slot = (slot + 1) & (SLOT_COUNT - 1)) {
		if (store->patterns[number].kind == kind &&
		    matches(layout, &store->patterns[number], record, varied))
			return (int)number;
	}
	*varied = 0;
	return add_pattern(store, layout, kind, record, slot);
}

/* Room for all that add_changes() can put down. */
static int reserve_changes(struct event_store *store)
{
	int rc = byte_buffer_reserve(&store->changes,
				     EVENT_VARYING_MAX * sizeof(struct event_change));

	if (rc == 0)
		rc = byte_buffer_reserve(&store->changed, sizeof(uint32_t));
	if (rc == 0)
		rc = byte_buffer_reserve(&store->firsts, sizeof(store->patterns->record));
	return rc;
}

/* The pattern's record is about to change: what it was when the chunk began is remembered. */
static void remember_first(struct event_store *store, uint32_t number)
{
	struct event_pattern *pattern = &store->patterns[number];

	if (pattern->first)
		return;
	byte_buffer_append(&store->firsts, pattern->record, sizeof(pattern->record));
	byte_buffer_append(&store->changed, &number, sizeof(number));
	pattern->first = (uint32_t)(store->changed.used / sizeof(number));
}

/* The columns that are not the pattern's, after reserve_changes(). An address or a size is kept
 * when it comes twice in a row; a counter always. */
static void add_changes(struct event_store *store, const struct event_layout *layout,
			uint32_t number, const uint64_t *record)
{
	struct event_pattern *pattern = &store->patterns[number];

	for (uint32_t i = 0; i < layout->column_count; i++) {
		const struct record_column *column = layout->columns[i];
		uint8_t *place = (uint8_t *)pattern->record + column->offset;
		uint64_t value =
			bytes_load((const uint8_t *)record + column->offset, column->width);
		uint64_t known = bytes_load(place, column->width);
		struct event_change change = {
			.difference = value - known,
			.row = store->row_count,
			.column = (uint8_t)column->id,
		};

		if (value == known)
			continue;
		change.is_kept =
			column->varies == VARIES_STEADILY ||
			(pattern->seen_column == column->id && pattern->seen_value == value);
		pattern->seen_column = (uint8_t)column->id;
		pattern->seen_value = value;
		byte_buffer_append(&store->changes, &change, sizeof(change));
		if (!change.is_kept)
			continue;
		remember_first(store, number);
		bytes_store(place, column->width, value);
	}
}

/* ---- lanes ---- */

static int find_lane(struct event_store *store, uint32_t thread, uint32_t *lane)
{
	uint32_t before = store->lane_of_count;

	if (store->lane_count > 0 && store->threads[store->last_lane] == thread) {
		*lane = store->last_lane;
		return 0;
	}
	if (thread >= before) {
		if (grow(&store->lane_of, &store->lane_of_count, thread + 1,
			 sizeof(*store->lane_of)) < 0)
			return -ENOMEM;
		memset(store->lane_of + before, 0,
		       (store->lane_of_count - before) * sizeof(*store->lane_of));
	}
	if (!store->lane_of[thread]) {
		if (grow(&store->threads, &store->lane_capacity, store->lane_count + 1,
			 sizeof(*store->threads)) < 0)
			return -ENOMEM;
		store->threads[store->lane_count++] = thread;
		store->lane_of[thread] = store->lane_count;
	}
	*lane = store->last_lane = store->lane_of[thread] - 1;
	return 0;
}

static int add_to_run(struct event_store *store, uint32_t lane)
{
	struct event_run run = {.lane = lane, .rows = 1};

	if (store->runs.used > 0) {
		struct event_run *last =
			(struct event_run *)(void *)(store->runs.data + store->runs.used) - 1;

		if (last->lane == lane) {
			last->rows++;
			return 0;
		}
	}
	return byte_buffer_append(&store->runs, &run, sizeof(run));
}

/* ---- records ---- */

static void fill_row(const struct event_store *store, const uint64_t *record, struct event_row *row)
{
	const struct call_part *call = (const struct call_part *)(const void *)record;
	const struct gpu_part *gpu = (const struct gpu_part *)(const void *)record;

	row->begin = record[1];
	row->end = record[2];
	if (store->family == EVENT_FAMILY_CALLS) {
		row->call_id = call->call_id;
		row->parent_id = call->parent_id;
		row->correlation = call->correlation;
	} else {
		row->call_id = 0;
		row->parent_id = 0;
		row->correlation = gpu->correlation;
	}
}

_Static_assert(offsetof(struct call_part, begin_ticks) == 8 &&
		       offsetof(struct call_part, end_ticks) == 16 &&
		       offsetof(struct gpu_part, begin_ns) == 8 &&
		       offsetof(struct gpu_part, end_ns) == 16,
	       "begin and end are the words behind the head");

/* As event_store_add(), for a record of the size that this program knows. */
static int add_record(struct event_store *store, uint32_t thread, const struct event_layout *layout,
		      uint16_t kind, const uint64_t *record)
{
	uint64_t varied = 0;
	struct event_row row;
	uint32_t lane;
	int number;
	int rc = find_lane(store, thread, &lane);

	if (rc < 0)
		return rc;
	fill_row(store, record, &row);
	/* How a parent is written cannot say this. */
	if (row.parent_id && row.parent_id == row.call_id)
		return 0;
	if (grow(&store->rows, &store->row_capacity, store->row_count + 1, sizeof(*store->rows)) <
	    0)
		return -ENOMEM;
	number = find_pattern(store, layout, kind, record, &varied);
	if (number <= 0)
		return number;
	row.pattern = (uint32_t)number;
	rc = varied ? reserve_changes(store) : 0;
	if (rc == 0)
		rc = add_to_run(store, lane);
	if (rc < 0)
		return rc;
	if (varied)
		add_changes(store, layout, row.pattern, record);
	if (store->last_pattern)
		store->patterns[store->last_pattern].next = row.pattern;
	store->last_pattern = row.pattern;
	if (store->row_count == 0 || row.begin < store->first_time)
		store->first_time = row.begin;
	if (store->row_count == 0 || row.begin > store->last_time)
		store->last_time = row.begin;
	store->kind_rows[kind - EVENTS_FIRST_KIND]++;
	store->rows[store->row_count++] = row;
	return 1;
}

/* A record of another version, longer or shorter than this one knows. Apart, since the usual way
 * should not clear memory for it. */
static __attribute__((noinline)) int add_foreign(struct event_store *store, uint32_t thread,
						 const struct event_layout *layout, uint16_t kind,
						 const void *record)
{
	uint64_t copy[EVENT_WORDS_MAX] = {0};

	record_copy(copy, record, layout->schema);
	return add_record(store, thread, layout, kind, copy);
}

int event_store_add(struct event_store *store, uint32_t thread, uint16_t kind, const void *record)
{
	const struct event_layout *layout;

	if (kind < EVENTS_FIRST_KIND || kind >= EVENTS_FIRST_KIND + EVENTS_KIND_COUNT ||
	    thread >= THREAD_LIMIT || store->row_count == CHUNK_MAX_ROWS)
		return 0;
	layout = &store->layouts[kind - EVENTS_FIRST_KIND];
	if (layout->word_count == 0 ||
	    (store->lane_count >= LANE_LIMIT &&
	     (thread >= store->lane_of_count || !store->lane_of[thread])))
		return 0;
	if (((const struct record_head *)record)->size_bytes == layout->schema->size_bytes)
		return add_record(store, thread, layout, kind, record);
	return add_foreign(store, thread, layout, kind, record);
}

void event_store_clear_rows(struct event_store *store)
{
	const uint32_t *changed = (const uint32_t *)(const void *)store->changed.data;
	size_t count = store->changed.used / sizeof(*changed);

	/* Every chunk begins from what was written of the patterns. */
	for (size_t i = 0; i < count; i++) {
		struct event_pattern *pattern = &store->patterns[changed[i]];

		memcpy(pattern->record, store->firsts.data + i * sizeof(pattern->record),
		       sizeof(pattern->record));
		pattern->first = 0;
		pattern->seen_column = 0;
	}
	for (uint32_t i = 0; i < store->lane_count; i++)
		store->lane_of[store->threads[i]] = 0;
	store->lane_count = 0;
	store->last_lane = 0;
	store->changed.used = 0;
	store->firsts.used = 0;
	store->runs.used = 0;
	store->changes.used = 0;
	store->row_count = 0;
	memset(store->kind_rows, 0, sizeof(store->kind_rows));
}

void event_store_clear_patterns(struct event_store *store)
{
	memset(store->slots, 0, SLOT_COUNT * sizeof(*store->slots));
	store->pattern_count = 1;
	store->written_count = 1;
	store->chain_count = 0;
	store->last_pattern = 0;
}
