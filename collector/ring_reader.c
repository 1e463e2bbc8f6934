/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drains rings. A ring whose numbers make no sense is skipped up to its head and counted once as
 * damaged per owner; the others go on.
 */
#define _GNU_SOURCE
#include "ring_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bytes.h"
#include "error.h"
#include "record.h"
#include "small_file.h"

#define STAGING_BYTES (256u * 1024) /* more than the largest record */

#ifndef F_GET_SEALS
#define F_GET_SEALS   1034
#define F_SEAL_SHRINK 0x0002
#define F_SEAL_SEAL   0x0001
#endif

static uint64_t memory_bytes(const struct ring_reader *reader)
{
	off_t end;

	if (reader->base)
		return reader->base_bytes;
	end = lseek(reader->memfd, 0, SEEK_END);
	return end > 0 ? (uint64_t)end : 0;
}

static int check_control(const struct ring_control *control, struct error *err)
{
	if (control->magic != RING_MAGIC)
		return error_set(err, -EPROTO, "the shared memory is not a gputrace session");
	if (control->version_major != RING_VERSION_MAJOR)
		return error_set(err, -EPROTO, "the session has ring version %u, this collector %d",
				 control->version_major, RING_VERSION_MAJOR);
	if (control->control_bytes != RING_CONTROL_BYTES || control->slot_count != RING_SLOT_COUNT)
		return error_set(err, -EPROTO, "the session's control region has other sizes");
	return 0;
}

/* Without the seal the job could shrink the memory under us, which would be a SIGBUS. A file in
 * /dev/shm, where there is no memfd, cannot be sealed; it is ours and has no name by which anybody
 * but the job could open it. */
static bool can_be_trusted(int memfd)
{
	int seals = fcntl(memfd, F_GET_SEALS);
	struct stat status;

	if (seals >= 0 && seals & F_SEAL_SHRINK)
		return true;
	return seals == F_SEAL_SEAL && small_file_stat(memfd, &status) == 0 &&
	       S_ISREG(status.st_mode) && status.st_nlink == 0 && status.st_uid == geteuid();
}

/* Takes the mapped control region; the caller unmaps it on failure. */
static int open_control(struct ring_reader *reader, void *control, struct error *err)
{
	int rc = check_control(control, err);

	if (rc < 0)
		return rc;
	reader->staging = malloc(STAGING_BYTES);
	if (!reader->staging)
		return error_set(err, -ENOMEM, "out of memory for draining");
	reader->control = control;
	reader->clock_kind = reader->control->clock_kind;
	return 0;
}

int ring_reader_open(struct ring_reader *reader, int memfd, struct error *err)
{
	void *control;
	int rc;

	memset(reader, 0, sizeof(*reader));
	reader->memfd = memfd;
	if (!can_be_trusted(memfd))
		return error_set(err, -EPROTO,
				 "descriptor %d is not memory sealed against shrinking", memfd);
	if (memory_bytes(reader) < RING_CONTROL_BYTES)
		return error_set(err, -EPROTO,
				 "the shared memory is smaller than a control region");
	control = mmap(NULL, RING_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (control == MAP_FAILED)
		return error_set(err, -errno, "cannot map the control region: %s", strerror(errno));
	rc = open_control(reader, control, err);
	if (rc < 0)
		munmap(control, RING_CONTROL_BYTES);
	return rc;
}

int ring_reader_open_mapped(struct ring_reader *reader, void *base, uint64_t bytes,
			    struct error *err)
{
	memset(reader, 0, sizeof(*reader));
	reader->memfd = -1;
	reader->base = base;
	reader->base_bytes = bytes;
	if (bytes < RING_CONTROL_BYTES)
		return error_set(err, -EPROTO, "the memory is smaller than a control region");
	return open_control(reader, base, err);
}

static void unmap_view(const struct ring_reader *reader, struct ring_view *view)
{
	if (view->header && !reader->base)
		munmap(view->header, RING_HEADER_BYTES + (size_t)view->data_bytes);
	view->header = NULL;
}

void ring_reader_close(struct ring_reader *reader)
{
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++)
		unmap_view(reader, &reader->views[i]);
	if (reader->control && !reader->base)
		munmap(reader->control, RING_CONTROL_BYTES);
	free(reader->staging);
	reader->control = NULL;
	reader->staging = NULL;
}

/* ---- slots ---- */

static bool sizes_are_possible(const struct ring_reader *reader, uint64_t offset,
			       uint32_t data_bytes)
{
	uint64_t needed = (uint64_t)RING_HEADER_BYTES + data_bytes;
	uint64_t available = memory_bytes(reader);

	if (data_bytes < RING_MIN_BYTES || data_bytes > RING_MAX_BYTES ||
	    (data_bytes & (data_bytes - 1)) != 0)
		return false;
	if (offset < RING_CONTROL_BYTES || offset % (uint64_t)sysconf(_SC_PAGESIZE) != 0)
		return false;
	return offset <= available && needed <= available - offset;
}

static bool map_view(struct ring_reader *reader, struct ring_view *view, uint64_t offset,
		     uint32_t data_bytes)
{
	void *mapped;

	if (view->header && view->offset == offset && view->data_bytes == data_bytes)
		return true;
	unmap_view(reader, view);
	if (!sizes_are_possible(reader, offset, data_bytes))
		return false;
	mapped = reader->base
			 ? reader->base + offset
			 : mmap(NULL, RING_HEADER_BYTES + (size_t)data_bytes,
				PROT_READ | PROT_WRITE, MAP_SHARED, reader->memfd, (off_t)offset);
	if (mapped == MAP_FAILED)
		return false;
	view->header = mapped;
	view->offset = offset;
	view->data_bytes = data_bytes;
	/* Only a collector before this one can have moved the shared tail. */
	view->tail = atomic_load_explicit(&view->header->tail, memory_order_relaxed);
	memset(view->dropped, 0, sizeof(view->dropped));
	return true;
}

/* A thread that moved to a larger ring keeps its number. */
static uint32_t thread_number(struct ring_reader *reader, const struct ring_view *view)
{
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++) {
		const struct ring_view *other = &reader->views[i];

		if (other != view && other->known && other->thread_id == view->thread_id &&
		    other->claimed_ticks == view->claimed_ticks)
			return other->thread;
	}
	return ++reader->threads;
}

static size_t place_of(uint32_t thread_id, uint64_t claimed_ticks)
{
	uint64_t hash = (claimed_ticks ^ thread_id) * 0x9e3779b97f4a7c15ull;

	return (hash >> 32) % RING_THREADS_MET;
}

/* What follows in the ring is another thread's. */
static void meet_thread(struct ring_reader *reader, struct ring_view *view, uint32_t thread_id,
			uint64_t claimed_ticks, const struct ring_sink *sink)
{
	uint32_t threads = reader->threads;

	view->known = false;
	view->thread_id = thread_id;
	view->claimed_ticks = claimed_ticks;
	view->thread = thread_number(reader, view);
	view->known = true;
	reader->met[place_of(thread_id, claimed_ticks)] =
		(struct ring_thread){claimed_ticks, thread_id, view->thread};
	if (view->thread > threads)
		sink->thread(sink->context, view->thread, view->thread_id, view->claimed_ticks);
}

/* A new owner of the slot: reads its fields once and decides whether they can be believed. */
static void meet_owner(struct ring_reader *reader, struct ring_view *view, struct ring_slot *slot,
		       uint32_t generation, const struct ring_sink *sink)
{
	view->generation = generation;
	view->damaged = false;
	view->refused = !map_view(reader, view, slot->offset, slot->data_bytes);
	if (view->refused)
		sink->lost(sink->context, 0, LOSS_DAMAGED, 1);
	meet_thread(reader, view, slot->thread_id, slot->claimed_ticks, sink);
}

/* ---- records ---- */

/* Gives the staged records on, leaving out padding. Bytes used; less than `bytes` when the last
 * record continues behind the staging buffer. *bad is set where no record is. */
static size_t deliver(struct ring_reader *reader, struct ring_view *view, size_t bytes,
		      const struct ring_sink *sink, bool *bad)
{
	const uint8_t *staging = reader->staging;
	size_t at = 0, run = 0;

	while (bytes - at >= sizeof(struct record_head)) {
		uint16_t kind = bytes_load16(staging + at);
		size_t size = bytes_load16(staging + at + offsetof(struct record_head, size_bytes));

		if (size < sizeof(struct record_head) || size % 8 != 0) {
			*bad = true;
			break;
		}
		if (size > bytes - at)
			break;
		if (kind == RECORD_PAD) {
			if (at > run)
				sink->records(sink->context, view->thread, staging + run, at - run);
			run = at + size;
			if (size == sizeof(struct ring_owner) &&
			    bytes_load32(staging + at + offsetof(struct ring_owner, pad_kind)) ==
				    RING_PAD_OWNER)
				meet_thread(
					reader, view,
					bytes_load32(staging + at +
						     offsetof(struct ring_owner, thread_id)),
					bytes_load64(staging + at +
						     offsetof(struct ring_owner, claimed_ticks)),
					sink);
		}
		at += size;
	}
	if (at > run)
		sink->records(sink->context, view->thread, staging + run, at - run);
	return at;
}

static void skip_damage(struct ring_view *view, uint64_t head, const struct ring_sink *sink)
{
	if (!view->damaged)
		sink->lost(sink->context, 0, LOSS_DAMAGED, 1);
	view->damaged = true;
	view->tail = head;
}

static void note_fill(struct ring_reader *reader, const struct ring_view *view, uint64_t head)
{
	uint64_t percent = (head - view->tail) * 100 / view->data_bytes;

	if (percent > reader->fill_percent)
		reader->fill_percent = (uint32_t)percent;
}

static size_t drain_view(struct ring_reader *reader, struct ring_view *view,
			 const struct ring_sink *sink)
{
	/* Pairs with the producer's release store of head: the records before it are complete. */
	uint64_t head = atomic_load_explicit(&view->header->head, memory_order_acquire);
	const uint8_t *data = (const uint8_t *)view->header + RING_HEADER_BYTES;
	size_t taken = 0;

	if (head == view->tail)
		return 0;
	if (head - view->tail > view->data_bytes || head % 8 != 0 || view->tail % 8 != 0)
		skip_damage(view, head, sink);
	note_fill(reader, view, head);
	while (view->tail != head) {
		uint64_t place = view->tail & (view->data_bytes - 1);
		uint64_t bytes = head - view->tail;
		size_t used;
		bool bad = false;

		if (bytes > view->data_bytes - place)
			bytes = view->data_bytes - place;
		if (bytes > STAGING_BYTES)
			bytes = STAGING_BYTES;
		memcpy(reader->staging, data + place, (size_t)bytes);
		used = deliver(reader, view, (size_t)bytes, sink, &bad);
		taken += used;
		view->tail += used;
		/* No progress: a record that crosses the end of the ring or of what is committed.
		 */
		if (bad || used == 0)
			skip_damage(view, head, sink);
		/* Pairs with the producer's acquire load: the bytes may be written again. */
		atomic_store_explicit(&view->header->tail, view->tail, memory_order_release);
	}
	return taken;
}

static void count_view_drops(struct ring_view *view, const struct ring_sink *sink)
{
	for (uint16_t kind = 0; kind < RING_DROP_KINDS; kind++) {
		uint64_t dropped =
			atomic_load_explicit(&view->header->dropped[kind], memory_order_relaxed);

		/* A counter never goes back; one that does is believed no further than that. */
		if (dropped > view->dropped[kind])
			sink->lost(sink->context, kind, LOSS_RING_FULL,
				   dropped - view->dropped[kind]);
		view->dropped[kind] = dropped;
	}
}

static size_t visit_slot(struct ring_reader *reader, uint32_t index, const struct ring_sink *sink);

/* A thread that has moved to a larger ring has left its last records in a smaller one, which this
 * round may have looked at too early or not yet. They come first. Whose a smaller ring is now, only
 * its records tell: it may have been taken over. */
static size_t drain_smaller_rings(struct ring_reader *reader, uint32_t index,
				  const struct ring_sink *sink)
{
	const struct ring_slot *slots = ring_slots(reader->control);
	const struct ring_view *view = &reader->views[index];
	size_t taken = 0;

	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++) {
		uint32_t state = atomic_load_explicit(&slots[i].state, memory_order_acquire);

		if (i != index && (state == RING_SLOT_LIVE || state == RING_SLOT_RETIRED) &&
		    slots[i].data_bytes < view->data_bytes)
			taken += visit_slot(reader, i, sink);
	}
	return taken;
}

/* An owner is met once, so that visits of smaller rings from here end. */
static size_t visit_slot(struct ring_reader *reader, uint32_t index, const struct ring_sink *sink)
{
	struct ring_slot *slot = &ring_slots(reader->control)[index];
	struct ring_view *view = &reader->views[index];
	/* Pairs with the release store of LIVE or RETIRED: the slot's fields are set. */
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
	uint32_t generation;
	size_t taken = 0;

	if (state != RING_SLOT_LIVE && state != RING_SLOT_RETIRED)
		return 0;
	generation = slot->generation;
	if (!view->known || view->generation != generation) {
		meet_owner(reader, view, slot, generation, sink);
		if (!view->refused)
			taken += drain_smaller_rings(reader, index, sink);
	}
	if (!view->refused)
		taken += drain_view(reader, view, sink);
	/* A slot that changed meanwhile was taken over by another thread. One that did not may have
	 * been taken over and retired again: once it is ours, what came meanwhile is drained too.
	 */
	if (state != RING_SLOT_RETIRED ||
	    !atomic_compare_exchange_strong_explicit(&slot->state, &state, RING_SLOT_CLAIMED,
						     memory_order_acquire, memory_order_relaxed))
		return taken;
	if (!view->refused) {
		taken += drain_view(reader, view, sink);
		count_view_drops(view, sink);
	}
	/* Pairs with the acquire of the thread that claims the slot next. */
	atomic_store_explicit(&slot->state, RING_SLOT_FREE, memory_order_release);
	return taken;
}

size_t ring_reader_drain(struct ring_reader *reader, const struct ring_sink *sink)
{
	size_t taken = 0;

	reader->fill_percent = 0;
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++)
		taken += visit_slot(reader, i, sink);
	return taken;
}

void ring_reader_count_drops(struct ring_reader *reader, const struct ring_sink *sink)
{
	uint64_t unrecorded =
		atomic_load_explicit(&reader->control->unrecorded, memory_order_relaxed);

	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++) {
		struct ring_view *view = &reader->views[i];

		if (view->known && !view->refused)
			count_view_drops(view, sink);
	}
	if (unrecorded > reader->unrecorded)
		sink->lost(sink->context, 0, LOSS_NO_RING, unrecorded - reader->unrecorded);
	reader->unrecorded = unrecorded;
}

uint32_t ring_reader_thread(const struct ring_reader *reader, uint32_t thread_id,
			    uint64_t claimed_ticks)
{
	const struct ring_thread *met = &reader->met[place_of(thread_id, claimed_ticks)];

	if (met->thread && met->thread_id == thread_id && met->claimed_ticks == claimed_ticks)
		return met->thread;
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++) {
		const struct ring_view *view = &reader->views[i];

		if (view->known && view->thread_id == thread_id &&
		    view->claimed_ticks == claimed_ticks)
			return view->thread;
	}
	return 0;
}
