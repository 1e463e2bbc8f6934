/* SPDX-License-Identifier: Apache-2.0 */
/* Every number and length of a pattern is checked here, so that decoding events need not. */
#include "pattern_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "record_check.h"
#include "record_schema.h"
#include "trace_file.h"

void pattern_set_fini(struct pattern_set *set)
{
	free(set->records);
	free(set->kinds);
	free(set->states);
	*set = (struct pattern_set){0};
}

void pattern_set_begin(struct pattern_set *set, uint32_t segment)
{
	if (set->segment == segment)
		return;
	set->segment = segment;
	if (set->count > 0)
		memset(set->kinds, 0, set->count * sizeof(*set->kinds));
	set->count = 0;
}

static int grow(struct pattern_set *set, uint32_t needed)
{
	uint32_t capacity = set->capacity ? set->capacity : 256;
	void *records, *kinds, *states;

	if (needed <= set->capacity)
		return 0;
	while (capacity < needed)
		capacity *= 2;
	records = realloc(set->records, (size_t)capacity * PATTERN_RECORD_BYTES);
	set->records = records ? records : set->records;
	kinds = realloc(set->kinds, capacity * sizeof(*set->kinds));
	set->kinds = kinds ? kinds : set->kinds;
	states = realloc(set->states, capacity * sizeof(*set->states));
	set->states = states ? states : set->states;
	if (!records || !kinds || !states)
		return -ENOMEM;
	memset(set->kinds + set->capacity, 0, (capacity - set->capacity) * sizeof(*set->kinds));
	set->capacity = capacity;
	return 0;
}

/* The pattern at `from`, of which `bytes` are left; what it takes, 0 when it is none. */
static size_t take_pattern(struct pattern_set *set, uint32_t number, uint16_t family_kind,
			   const uint8_t *from, size_t bytes)
{
	uint8_t *record = set->records + (size_t)number * PATTERN_RECORD_BYTES;
	const struct record_schema *schema;
	uint16_t kind, size_bytes, chain;

	if (bytes < PATTERN_HEAD_BYTES)
		return 0;
	chain = bytes_load16(from + 22);
	if (record_check(from + PATTERN_HEAD_BYTES, bytes - PATTERN_HEAD_BYTES, &kind,
			 &size_bytes) == RECORD_BAD ||
	    kind < family_kind || kind >= family_kind + EVENTS_KIND_COUNT / 2 ||
	    chain >= EVENT_CHAIN_LIMIT)
		return 0;
	schema = record_schema_of(kind);
	memset(record, 0, PATTERN_RECORD_BYTES);
	if (schema->column_count > 0 && schema->size_bytes <= PATTERN_RECORD_BYTES)
		record_copy(record, from + PATTERN_HEAD_BYTES, schema);
	set->kinds[number] = kind;
	set->states[number] = event_state_of(
		number, event_estimate_first((uint64_t)(int64_t)(int32_t)bytes_load32(from)),
		event_estimate_first((uint64_t)(int64_t)(int32_t)bytes_load32(from + 4)),
		bytes_load32(from + 8), bytes_load32(from + 12), bytes_load32(from + 16),
		bytes_load16(from + 20), chain);
	return PATTERN_HEAD_BYTES + (size_t)size_bytes;
}

int pattern_set_add(struct pattern_set *set, uint16_t family_kind, const uint8_t *payload,
		    size_t bytes)
{
	size_t offset = PATTERNS_HEAD_BYTES;
	uint32_t first, count;
	int rc;

	if (bytes < PATTERNS_HEAD_BYTES)
		return -EBADMSG;
	first = bytes_load32(payload);
	count = bytes_load32(payload + 4);
	if (first == 0 || first >= EVENT_PATTERN_LIMIT || count > EVENT_PATTERN_LIMIT - first)
		return -EBADMSG;
	rc = grow(set, first + count);
	if (rc < 0)
		return rc;
	/* What stands before the first pattern is never used, but every lane begins there: also
	 * when a pattern below is refused, since the ones before it are kept. */
	set->kinds[0] = 0;
	set->states[0] = event_state_of(0, 0, 0, 0, 0, 0, 0, 0);
	for (uint32_t i = 0; i < count; i++) {
		size_t taken =
			take_pattern(set, first + i, family_kind, payload + offset, bytes - offset);

		if (taken == 0)
			return -EBADMSG;
		offset += taken;
		if (set->count <= first + i)
			set->count = first + i + 1;
	}
	return offset == bytes ? 0 : -EBADMSG;
}
