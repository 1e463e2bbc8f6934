/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies what is committed out of the rings into the stage, where it waits for ring_reader.c. Under
 * the reader's lock, on the collector's thread or, while that is busy, on one beside it. A ring
 * whose numbers make no sense is skipped up to its head. Nothing is looked at here but where
 * records end, and that only where the stage has no room for all of them.
 */
#include "ring_take.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bytes.h"
#include "record.h"

/* What a drain takes at most before it gives on, a quarter of it is enough: it stays in the cache
 * of the processor meanwhile, and few rings hold more. */
#define DRAIN_BYTES (256u * 1024)
/* For everything but records that one visit of a slot may tell. */
#define VISIT_BYTES ((RING_DROP_KINDS + 4u) * sizeof(struct ring_piece))

/* ---- mapping ---- */

static bool sizes_are_possible(const struct ring_reader *reader, uint64_t offset,
			       uint32_t data_bytes)
{
	uint64_t needed = (uint64_t)RING_HEADER_BYTES + data_bytes;
	uint64_t available = ring_take_memory_bytes(reader);

	if (data_bytes < RING_MIN_BYTES || data_bytes > RING_MAX_BYTES ||
	    (data_bytes & (data_bytes - 1)) != 0)
		return false;
	if (offset < RING_CONTROL_BYTES || offset % (uint64_t)sysconf(_SC_PAGESIZE) != 0)
		return false;
	return offset <= available && needed <= available - offset;
}

void ring_take_unmap(const struct ring_reader *reader, struct ring_hold *hold)
{
	if (hold->header && !reader->base)
		munmap(hold->header, RING_HEADER_BYTES + (size_t)hold->data_bytes);
	hold->header = NULL;
}

static bool map_ring(struct ring_reader *reader, struct ring_hold *hold, uint64_t offset,
		     uint32_t data_bytes)
{
	void *mapped;

	if (hold->header && hold->offset == offset && hold->data_bytes == data_bytes)
		return true;
	ring_take_unmap(reader, hold);
	if (!sizes_are_possible(reader, offset, data_bytes))
		return false;
	mapped = reader->base
			 ? reader->base + offset
			 : mmap(NULL, RING_HEADER_BYTES + (size_t)data_bytes,
				PROT_READ | PROT_WRITE, MAP_SHARED, reader->memfd, (off_t)offset);
	if (mapped == MAP_FAILED)
		return false;
	hold->header = mapped;
	hold->offset = offset;
	hold->data_bytes = data_bytes;
	/* Only a collector before this one can have moved the shared tail. */
	hold->tail = atomic_load_explicit(&hold->header->tail, memory_order_relaxed);
	memset(hold->dropped, 0, sizeof(hold->dropped));
	return true;
}

/* A new owner of the slot: reads its fields once and decides whether they can be believed. */
static void meet_owner(struct ring_reader *reader, uint32_t index, const struct ring_slot *slot,
		       uint32_t generation)
{
	struct ring_hold *hold = &reader->holds[index];
	struct ring_piece owner = {
		.what = RING_PIECE_OWNER,
		.slot = index,
		.thread_id = slot->thread_id,
		.claimed_ticks = slot->claimed_ticks,
	};

	hold->known = true;
	hold->generation = generation;
	hold->refused = !map_ring(reader, hold, slot->offset, slot->data_bytes);
	hold->has_smaller = !hold->refused;
	owner.is_refused = hold->refused;
	ring_stage_put(&reader->stage, &owner);
}

/* ---- records ---- */

static void note_fill(struct ring_reader *reader, const struct ring_hold *hold, uint64_t head)
{
	uint64_t percent = (head - hold->tail) * 100 / hold->data_bytes;

	if (percent > reader->fullest_percent)
		reader->fullest_percent = (uint32_t)percent;
}

/* As many of the bytes as are whole records and not more than `room`. What looks like no record is
 * given on as it is: whoever reads it finds the same. */
static uint64_t whole_records(const uint8_t *data, uint64_t bytes, uint64_t room)
{
	uint64_t at = 0;

	while (bytes - at >= sizeof(struct record_head)) {
		uint64_t size = bytes_load16(data + at + offsetof(struct record_head, size_bytes));

		if (size < sizeof(struct record_head) || size % 8 != 0 || size > bytes - at)
			return room;
		if (at + size > room)
			break;
		at += size;
	}
	return at;
}

/* How far the ring is to be emptied. A drain that comes back for the rest has the same goal again:
 * however fast a producer is, a drain ends. */
static uint64_t goal_of(struct ring_reader *reader, struct ring_hold *hold, bool is_new)
{
	uint64_t head;

	if (!is_new && reader->drain && hold->goal_of == reader->drain)
		return hold->goal - hold->tail <= hold->data_bytes ? hold->goal : hold->tail;
	/* Pairs with the producer's release store of head: the records before it are complete. */
	head = atomic_load_explicit(&hold->header->head, memory_order_acquire);
	if (reader->drain) {
		hold->goal = head;
		hold->goal_of = reader->drain;
	}
	return head;
}

/* Bytes of records that may be put now, beside what else this visit has to tell. */
static uint64_t room_for_records(const struct ring_reader *reader)
{
	uint64_t room = ring_stage_free(&reader->stage);
	uint64_t used = reader->stage.size_bytes - room;

	room = room < 3 * VISIT_BYTES ? 0 : room - 2 * VISIT_BYTES;
	if (!reader->drain)
		return room;
	if (used >= DRAIN_BYTES / 4)
		return 0;
	return room < DRAIN_BYTES ? room : DRAIN_BYTES;
}

/* False: there was no room for all of it. */
static bool take_records(struct ring_reader *reader, uint32_t index, bool is_new)
{
	struct ring_hold *hold = &reader->holds[index];
	uint64_t head = goal_of(reader, hold, is_new);
	const uint8_t *data = (const uint8_t *)hold->header + RING_HEADER_BYTES;
	struct ring_piece piece = {.what = RING_PIECE_RECORDS, .slot = index, .end = head};

	if (head == hold->tail)
		return true;
	if (head - hold->tail > hold->data_bytes || head % 8 != 0 || hold->tail % 8 != 0) {
		piece.what = RING_PIECE_DAMAGE;
		if (ring_stage_free(&reader->stage) < VISIT_BYTES)
			return false;
		ring_stage_put(&reader->stage, &piece);
		hold->tail = head;
		atomic_store_explicit(&hold->header->tail, head, memory_order_release);
		return true;
	}
	note_fill(reader, hold, head);
	while (hold->tail != head) {
		uint64_t place = hold->tail & (hold->data_bytes - 1);
		uint64_t bytes = head - hold->tail;
		uint64_t room = room_for_records(reader);

		if (bytes > hold->data_bytes - place)
			bytes = hold->data_bytes - place;
		if (room == 0)
			return false;
		room = ring_stage_room(&reader->stage, bytes < room ? bytes : room);
		if (room < bytes)
			bytes = whole_records(data + place, bytes, room / 8 * 8);
		if (bytes == 0)
			return false;
		piece.bytes = bytes;
		piece.position = hold->tail;
		memcpy(ring_stage_put(&reader->stage, &piece), data + place, (size_t)bytes);
		hold->tail += bytes;
		/* Pairs with the producer's acquire load: the bytes may be written again. */
		atomic_store_explicit(&hold->header->tail, hold->tail, memory_order_release);
	}
	return true;
}

bool ring_take_drops(struct ring_reader *reader, uint32_t index)
{
	struct ring_hold *hold = &reader->holds[index];

	if (!hold->known || hold->refused)
		return true;
	if (ring_stage_free(&reader->stage) < VISIT_BYTES)
		return false;
	for (uint16_t kind = 0; kind < RING_DROP_KINDS; kind++) {
		uint64_t dropped =
			atomic_load_explicit(&hold->header->dropped[kind], memory_order_relaxed);
		struct ring_piece lost = {
			.what = RING_PIECE_LOST,
			.slot = index,
			.kind = kind,
			.count = dropped - hold->dropped[kind],
		};

		/* A counter never goes back; one that does is believed no further than that. */
		if (dropped > hold->dropped[kind])
			ring_stage_put(&reader->stage, &lost);
		hold->dropped[kind] = dropped;
	}
	return true;
}

/* ---- slots ---- */

/* A thread that has moved to a larger ring has left its last records in a smaller one, which this
 * round may have looked at too early or not yet. They come first. Whose a smaller ring is now, only
 * its records tell: it may have been taken over. */
static bool take_smaller_rings(struct ring_reader *reader, uint32_t index)
{
	const struct ring_slot *slots = ring_slots(reader->control);
	struct ring_hold *hold = &reader->holds[index];

	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++) {
		uint32_t state = atomic_load_explicit(&slots[i].state, memory_order_acquire);

		if (i != index && (state == RING_SLOT_LIVE || state == RING_SLOT_RETIRED) &&
		    slots[i].data_bytes < hold->data_bytes && !ring_take_slot(reader, i))
			return false;
	}
	hold->has_smaller = false;
	return true;
}

/* A retired ring is the next thread's once nothing is left in it. */
static bool free_slot(struct ring_reader *reader, uint32_t index)
{
	struct ring_slot *slot = &ring_slots(reader->control)[index];
	uint32_t state = RING_SLOT_RETIRED;
	bool is_empty = true;

	/* A slot that changed meanwhile was taken over by another thread. One that did not may have
	 * been taken over and retired again: once it is ours, what came meanwhile is taken too. */
	if (!atomic_compare_exchange_strong_explicit(&slot->state, &state, RING_SLOT_CLAIMED,
						     memory_order_acquire, memory_order_relaxed))
		return true;
	if (!reader->holds[index].refused)
		is_empty = take_records(reader, index, true) && ring_take_drops(reader, index);
	/* Pairs with the acquire of the thread that claims the slot next, or takes it over. */
	atomic_store_explicit(&slot->state, is_empty ? RING_SLOT_FREE : RING_SLOT_RETIRED,
			      memory_order_release);
	return is_empty;
}

static bool visit(struct ring_reader *reader, uint32_t index, uint32_t state)
{
	struct ring_slot *slot = &ring_slots(reader->control)[index];
	struct ring_hold *hold = &reader->holds[index];
	uint32_t generation;

	if (ring_stage_free(&reader->stage) < 2 * VISIT_BYTES)
		return false;
	generation = slot->generation;
	if (!hold->known || hold->generation != generation)
		meet_owner(reader, index, slot, generation);
	if (hold->has_smaller && !take_smaller_rings(reader, index))
		return false;
	if (!hold->refused && !take_records(reader, index, false))
		return false;
	return state != RING_SLOT_RETIRED || free_slot(reader, index);
}

/* Visits of smaller rings from here end: a ring is not visited from itself. */
bool ring_take_slot(struct ring_reader *reader, uint32_t index)
{
	struct ring_hold *hold = &reader->holds[index];
	/* Pairs with the release store of LIVE or RETIRED: the slot's fields are set. */
	uint32_t state = atomic_load_explicit(&ring_slots(reader->control)[index].state,
					      memory_order_acquire);
	bool is_complete;

	/* Of the many slots that nobody uses nothing else is touched. */
	if ((state != RING_SLOT_LIVE && state != RING_SLOT_RETIRED) || hold->is_visited)
		return true;
	hold->is_visited = true;
	is_complete = visit(reader, index, state);
	hold->is_visited = false;
	return is_complete;
}

bool ring_take_can_wait(const struct ring_reader *reader, uint32_t index, uint32_t share)
{
	const struct ring_slot *slot = &ring_slots(reader->control)[index];
	const struct ring_hold *hold = &reader->holds[index];
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

	if (state != RING_SLOT_LIVE)
		return state != RING_SLOT_RETIRED;
	if (!hold->known || hold->generation != slot->generation || hold->has_smaller)
		return false;
	return hold->refused ||
	       atomic_load_explicit(&hold->header->head, memory_order_relaxed) - hold->tail <
		       hold->data_bytes / share;
}
