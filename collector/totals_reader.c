/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums only grow, so a look that falls between two stores of the owner is made good by the next
 * one, and the last one is exact. Every number is read once into a copy; a row whose key changes or
 * whose sums go back is damage, counted once per table and left alone.
 */
#define _GNU_SOURCE
#include "totals_reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record.h"
#include "ring_reader.h"

#define BATCH_RECORDS 64u
#define MISSES	      2u /* then the thread is given up: rows are the collector's own */

struct batch {
	const struct ring_sink *sink;
	uint32_t thread;
	uint32_t count;
	struct record_total records[BATCH_RECORDS];
};

void totals_reader_init(struct totals_reader *reader, struct ring_reader *rings)
{
	memset(reader, 0, sizeof(*reader));
	reader->rings = rings;
}

static void unmap_view(const struct ring_reader *rings, struct totals_view *view)
{
	if (view->rows && !rings->base)
		munmap(view->rows, view->row_count * sizeof(*view->rows));
	free(view->seen);
	view->rows = NULL;
	view->seen = NULL;
}

void totals_reader_close(struct totals_reader *reader)
{
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++)
		unmap_view(reader->rings, &reader->views[i]);
}

bool totals_reader_is_needed(const struct totals_reader *reader)
{
	const struct ring_control *control = reader->rings->control;

	return control->version_minor >= RING_MINOR_TABLES && control->recording != RING_RECORD_ALL;
}

/* ---- tables ---- */

static bool is_possible(const struct ring_reader *rings, uint64_t offset, uint32_t row_count)
{
	off_t end = rings->base ? 0 : lseek(rings->memfd, 0, SEEK_END);
	uint64_t available = rings->base ? rings->base_bytes : end > 0 ? (uint64_t)end : 0;

	if (row_count < RING_TABLE_MIN_ROWS || row_count > RING_TABLE_MAX_ROWS ||
	    (row_count & (row_count - 1)) != 0)
		return false;
	if (offset < RING_CONTROL_BYTES || offset % (uint64_t)sysconf(_SC_PAGESIZE) != 0)
		return false;
	return offset <= available && row_count * sizeof(struct ring_total) <= available - offset;
}

static bool map_view(const struct ring_reader *rings, struct totals_view *view, uint64_t offset,
		     uint32_t row_count)
{
	void *mapped;

	if (view->rows && view->offset == offset && view->row_count == row_count) {
		memset(view->seen, 0, row_count * sizeof(*view->seen));
		return true;
	}
	unmap_view(rings, view);
	if (!is_possible(rings, offset, row_count))
		return false;
	mapped = rings->base ? rings->base + offset
			     : mmap(NULL, row_count * sizeof(struct ring_total), PROT_READ,
				    MAP_SHARED, rings->memfd, (off_t)offset);
	if (mapped == MAP_FAILED)
		return false;
	view->seen = calloc(row_count, sizeof(*view->seen));
	if (!view->seen) {
		if (!rings->base)
			munmap(mapped, row_count * sizeof(struct ring_total));
		return false;
	}
	view->rows = mapped;
	view->offset = offset;
	view->row_count = row_count;
	return true;
}

static void count_damage(struct totals_view *view, const struct ring_sink *sink)
{
	if (!view->damaged)
		sink->lost(sink->context, RECORD_KIND_total, LOSS_DAMAGED, 1);
	view->damaged = true;
}

static void meet_owner(struct totals_reader *reader, struct totals_view *view,
		       const struct ring_table *table, uint32_t generation,
		       const struct ring_sink *sink)
{
	view->known = true;
	view->generation = generation;
	view->since_ticks = table->claimed_ticks;
	view->thread = 0;
	view->missed = 0;
	view->damaged = false;
	if (!map_view(reader->rings, view, table->offset, table->row_count)) {
		unmap_view(reader->rings, view);
		count_damage(view, sink);
	}
}

/* ---- rows ---- */

static void give(struct batch *batch)
{
	if (batch->count)
		batch->sink->records(batch->sink->context, batch->thread, batch->records,
				     batch->count * sizeof(batch->records[0]));
	batch->count = 0;
}

static void read_row(struct totals_view *view, uint32_t index, uint64_t now_ticks,
		     struct batch *batch)
{
	const struct ring_total *row = &view->rows[index];
	struct totals_seen *seen = &view->seen[index];
	/* Pairs with the owner's release store: site and detail are complete. */
	uint64_t what = atomic_load_explicit(&row->what, memory_order_acquire);
	struct totals_seen now;

	if (!what)
		return;
	now.what = what;
	now.count = atomic_load_explicit(&row->count, memory_order_relaxed);
	now.failed = atomic_load_explicit(&row->failed, memory_order_relaxed);
	now.bytes = atomic_load_explicit(&row->bytes, memory_order_relaxed);
	now.duration = atomic_load_explicit(&row->duration, memory_order_relaxed);
	if (!seen->what)
		seen->what = what;
	if (!memcmp(seen, &now, sizeof(now)))
		return;
	if (seen->what != what || now.count < seen->count || now.failed < seen->failed) {
		count_damage(view, batch->sink);
		return;
	}
	batch->records[batch->count++] = (struct record_total){
		.head = {.kind = RECORD_KIND_total, .size_bytes = sizeof(struct record_total)},
		.begin_ticks = view->since_ticks,
		.end_ticks = now_ticks,
		.site = row->site,
		.detail = row->detail,
		.count = now.count - seen->count,
		.failed = now.failed - seen->failed,
		.size_bytes = now.bytes - seen->bytes,
		.duration = now.duration - seen->duration,
		.longest = atomic_load_explicit(&row->longest, memory_order_relaxed),
		.device = what >> 48 == 0xffff ? DEVICE_UNKNOWN : (uint32_t)(what >> 48),
		.api = (uint16_t)what,
		.variant = (uint16_t)(what >> 32),
		.total_of = (uint8_t)(what >> 16),
		.flags = (uint8_t)(what >> 24),
	};
	*seen = now;
	if (batch->count == BATCH_RECORDS)
		give(batch);
}

static void read_rows(struct totals_view *view, const struct ring_sink *sink, uint64_t now_ticks)
{
	struct batch batch = {.sink = sink, .thread = view->thread};

	if (!view->rows)
		return;
	for (uint32_t i = 0; i < view->row_count; i++)
		read_row(view, i, now_ticks, &batch);
	give(&batch);
	view->since_ticks = now_ticks;
}

/* False: its ring has not been met yet, the next look, if there is one, will know more. */
static bool find_thread(struct totals_reader *reader, struct totals_view *view,
			const struct ring_table *table, enum totals_look look)
{
	if (!view->thread)
		view->thread =
			ring_reader_thread(reader->rings, table->thread_id, table->claimed_ticks);
	return view->thread || look == TOTALS_LAST || ++view->missed > MISSES;
}

static void visit(struct totals_reader *reader, uint32_t index, const struct ring_sink *sink,
		  uint64_t now_ticks, enum totals_look look)
{
	struct ring_table *table = &ring_tables(reader->rings->control)[index];
	struct totals_view *view = &reader->views[index];
	/* Pairs with the release store of LIVE or RETIRED: the slot's fields are set. */
	uint32_t state = atomic_load_explicit(&table->state, memory_order_acquire);
	uint32_t generation;

	if (state != RING_SLOT_LIVE && state != RING_SLOT_RETIRED)
		return;
	generation = table->generation;
	if (!view->known || view->generation != generation)
		meet_owner(reader, view, table, generation, sink);
	if (!find_thread(reader, view, table, look) ||
	    (state == RING_SLOT_LIVE && look == TOTALS_ENDED))
		return;
	read_rows(view, sink, now_ticks);
	/* A thread may have taken the table over and left it again since it was read: once it is
	 * ours, what came meanwhile is read too. */
	if (state != RING_SLOT_RETIRED ||
	    !atomic_compare_exchange_strong_explicit(&table->state, &state, RING_SLOT_CLAIMED,
						     memory_order_acquire, memory_order_relaxed))
		return;
	read_rows(view, sink, now_ticks);
	/* Pairs with the acquire of the thread that claims the slot next. */
	atomic_store_explicit(&table->state, RING_SLOT_FREE, memory_order_release);
}

void totals_reader_run(struct totals_reader *reader, const struct ring_sink *sink,
		       uint64_t now_ticks, enum totals_look look)
{
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++)
		visit(reader, i, sink, now_ticks, look);
}
