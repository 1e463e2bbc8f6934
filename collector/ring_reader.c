/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the shared memory, and gives on what ring_take.c has copied out of it: whose it is, and
 * record by record. What is damaged is counted once per owner; the other rings go on.
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
#include "ring_take.h"
#include "small_file.h"

#define STAGE_BYTES (1024u * 1024) /* more than the largest record, and some */

#ifndef F_GET_SEALS
#define F_GET_SEALS   1034
#define F_SEAL_SHRINK 0x0002
#define F_SEAL_SEAL   0x0001
#endif

uint64_t ring_take_memory_bytes(const struct ring_reader *reader)
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
	if (ring_stage_open(&reader->stage, STAGE_BYTES) < 0)
		return error_set(err, -ENOMEM, "out of memory for draining");
	pthread_mutex_init(&reader->lock, NULL);
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
	if (ring_take_memory_bytes(reader) < RING_CONTROL_BYTES)
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

int ring_reader_set_room(struct ring_reader *reader, uint64_t bytes)
{
	struct ring_stage larger;
	int rc = ring_stage_open(&larger, bytes);

	if (rc < 0)
		return rc;
	ring_stage_close(&reader->stage);
	reader->stage = larger;
	return 0;
}

void ring_reader_close(struct ring_reader *reader)
{
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++)
		ring_take_unmap(reader, &reader->holds[i]);
	if (!reader->control)
		return;
	if (!reader->base)
		munmap(reader->control, RING_CONTROL_BYTES);
	ring_stage_close(&reader->stage);
	pthread_mutex_destroy(&reader->lock);
	reader->control = NULL;
}

/* ---- whose ---- */

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

static void meet_owner(struct ring_reader *reader, struct ring_view *view,
		       const struct ring_piece *owner, const struct ring_sink *sink)
{
	view->damaged = false;
	view->skip_until = 0;
	view->refused = owner->is_refused;
	if (view->refused)
		sink->lost(sink->context, 0, LOSS_DAMAGED, 1);
	meet_thread(reader, view, owner->thread_id, owner->claimed_ticks, sink);
}

/* ---- records ---- */

/* Gives records on, leaving out padding. Bytes used; less than `bytes` where no record is. */
static size_t give_records(struct ring_reader *reader, struct ring_view *view,
			   const uint8_t *staging, size_t bytes, const struct ring_sink *sink)
{
	size_t at = 0, run = 0;

	while (bytes - at >= sizeof(struct record_head)) {
		uint16_t kind = bytes_load16(staging + at);
		size_t size = bytes_load16(staging + at + offsetof(struct record_head, size_bytes));

		if (size < sizeof(struct record_head) || size % 8 != 0 || size > bytes - at)
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

static void count_damage(struct ring_view *view, uint64_t end, const struct ring_sink *sink)
{
	if (!view->damaged)
		sink->lost(sink->context, 0, LOSS_DAMAGED, 1);
	view->damaged = true;
	view->skip_until = end;
}

static size_t give_piece(struct ring_reader *reader, const struct ring_piece *piece,
			 const struct ring_sink *sink)
{
	struct ring_view *view = &reader->views[piece->slot];
	size_t used;

	switch (piece->what) {
	case RING_PIECE_OWNER:
		meet_owner(reader, view, piece, sink);
		return 0;
	case RING_PIECE_LOST:
		sink->lost(sink->context, piece->kind, LOSS_RING_FULL, piece->count);
		return 0;
	case RING_PIECE_DAMAGE:
		count_damage(view, 0, sink);
		view->tail = piece->end;
		return 0;
	case RING_PIECE_RECORDS:
		break;
	default:
		return 0;
	}
	view->tail = piece->position + piece->bytes;
	if (piece->position < view->skip_until)
		return 0;
	used = give_records(reader, view, (const uint8_t *)(piece + 1), (size_t)piece->bytes, sink);
	/* What was committed with it, behind it, cannot be told into records any more. */
	if (used < piece->bytes)
		count_damage(view, piece->end, sink);
	return used;
}

/* What is in the stage now; what another thread adds meanwhile is for the next time. */
static size_t give_on(struct ring_reader *reader, const struct ring_sink *sink)
{
	const struct ring_piece *piece;
	size_t taken = 0;
	uint64_t end;

	pthread_mutex_lock(&reader->lock);
	end = reader->stage.write;
	pthread_mutex_unlock(&reader->lock);
	while ((piece = ring_stage_next(&reader->stage, end))) {
		taken += give_piece(reader, piece, sink);
		ring_stage_pop(&reader->stage, piece);
	}
	pthread_mutex_lock(&reader->lock);
	ring_stage_rewind(&reader->stage);
	pthread_mutex_unlock(&reader->lock);
	return taken;
}

/* ---- both steps ---- */

/* From *slot on; it becomes where there was no room. */
static bool take_from(struct ring_reader *reader, uint32_t *slot)
{
	uint32_t at = *slot;

	while (at < RING_SLOT_COUNT && ring_take_slot(reader, at))
		at++;
	*slot = at;
	return at == RING_SLOT_COUNT;
}

bool ring_reader_relieve(struct ring_reader *reader, uint32_t share)
{
	bool has_room = true;

	pthread_mutex_lock(&reader->lock);
	for (uint32_t slot = 0; has_room && slot < RING_SLOT_COUNT; slot++)
		has_room = ring_take_can_wait(reader, slot, share) || ring_take_slot(reader, slot);
	pthread_mutex_unlock(&reader->lock);
	return has_room;
}

size_t ring_reader_drain(struct ring_reader *reader, const struct ring_sink *sink)
{
	uint64_t drain = ++reader->last_drain;
	bool is_complete = false;
	uint32_t slot = 0;
	size_t taken = 0;

	while (!is_complete) {
		pthread_mutex_lock(&reader->lock);
		if (slot == 0)
			reader->fullest_percent = 0;
		reader->drain = drain;
		is_complete = take_from(reader, &slot);
		reader->drain = 0;
		reader->fill_percent = reader->fullest_percent;
		pthread_mutex_unlock(&reader->lock);
		taken += give_on(reader, sink);
	}
	return taken;
}

uint64_t ring_reader_waiting(struct ring_reader *reader)
{
	uint64_t bytes;

	pthread_mutex_lock(&reader->lock);
	bytes = reader->stage.size_bytes - ring_stage_free(&reader->stage);
	pthread_mutex_unlock(&reader->lock);
	return bytes;
}

void ring_reader_trim(struct ring_reader *reader)
{
	pthread_mutex_lock(&reader->lock);
	ring_stage_trim(&reader->stage);
	pthread_mutex_unlock(&reader->lock);
}

void ring_reader_count_drops(struct ring_reader *reader, const struct ring_sink *sink)
{
	uint64_t unrecorded =
		atomic_load_explicit(&reader->control->unrecorded, memory_order_relaxed);
	uint32_t slot = 0;

	while (slot < RING_SLOT_COUNT) {
		pthread_mutex_lock(&reader->lock);
		while (slot < RING_SLOT_COUNT && ring_take_drops(reader, slot))
			slot++;
		pthread_mutex_unlock(&reader->lock);
		give_on(reader, sink);
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
