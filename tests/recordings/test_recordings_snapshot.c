/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every PyTorch memory snapshot with reference numbers: what is held at the end, the history, and
 * the peaks that follow from both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "error.h"
#include "record.h"
#include "recording_reference.h"
#include "trace_reader.h"

#define MAX_DEVICES 16
#define MAX_OPS	    24

struct held {
	uint64_t segments, small, large, expandable, private_pools, reserved;
	uint64_t blocks, live_blocks, live_bytes, live_requested, pending_bytes;
	uint64_t free_blocks, free_bytes, largest_free, free_segments, free_segment_bytes;
	/* of the segment that is being read */
	uint64_t segment_bytes, segment_live;
};

struct snapshot_facts {
	struct held held[MAX_DEVICES];
	uint64_t history[MAX_DEVICES], ops[MAX_DEVICES][MAX_OPS];
	uint64_t peak_allocated[MAX_DEVICES], peak_reserved[MAX_DEVICES], alloc_bytes[MAX_DEVICES];
	uint64_t largest_alloc[MAX_DEVICES], last_allocated[MAX_DEVICES];
	uint64_t with_site;
};

static void end_segment(struct held *h)
{
	if (h->segment_bytes && !h->segment_live) {
		h->free_segments++;
		h->free_segment_bytes += h->segment_bytes;
	}
	h->segment_bytes = h->segment_live = 0;
}

static void add_held(struct held *h, const struct record_block *b)
{
	if (b->op == BLOCK_HELD_SEGMENT) {
		end_segment(h);
		h->segments++;
		*(b->flags & BLOCK_SMALL_POOL ? &h->small : &h->large) += 1;
		h->expandable += (b->flags & BLOCK_EXPANDABLE) != 0;
		h->private_pools += (b->flags & BLOCK_PRIVATE_POOL) != 0;
		h->reserved += b->size_bytes;
		h->segment_bytes = b->size_bytes;
		return;
	}
	h->blocks++;
	if (b->op == BLOCK_HELD_FREE) {
		h->free_blocks++;
		h->free_bytes += b->size_bytes;
		if (b->size_bytes > h->largest_free)
			h->largest_free = b->size_bytes;
		return;
	}
	h->segment_live += b->size_bytes;
	if (b->op == BLOCK_HELD_PENDING) {
		h->pending_bytes += b->size_bytes;
		return;
	}
	h->live_blocks++;
	h->live_bytes += b->size_bytes;
	h->live_requested += b->requested_bytes;
}

static void add_history(struct snapshot_facts *f, const struct record_block *b)
{
	f->history[b->device]++;
	f->last_allocated[b->device] = b->allocated_bytes;
	if (b->allocated_bytes > f->peak_allocated[b->device])
		f->peak_allocated[b->device] = b->allocated_bytes;
	if (b->reserved_bytes > f->peak_reserved[b->device])
		f->peak_reserved[b->device] = b->reserved_bytes;
	if (b->op != BLOCK_ALLOC)
		return;
	f->alloc_bytes[b->device] += b->size_bytes;
	if (b->size_bytes > f->largest_alloc[b->device])
		f->largest_alloc[b->device] = b->size_bytes;
}

static int on_batch(void *context, const struct trace_batch *batch)
{
	struct snapshot_facts *f = context;
	const struct record_block *rows = batch->rows;
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct record_block *b = &rows[i];
		assert_true(b->device < MAX_DEVICES && b->op < MAX_OPS);
		f->ops[b->device][b->op]++;
		f->with_site += b->site != 0;
		if (b->op >= BLOCK_HELD_SEGMENT)
			add_held(&f->held[b->device], b);
		else
			add_history(f, b);
	}
	return 0;
}

static void read_blocks(const char *path, void *context)
{
	struct snapshot_facts *f = context;
	struct trace *trace;
	struct error err = {0};
	if (trace_open(path, &trace, &err) ||
	    trace_read(trace, 1ull << RECORD_KIND_block, on_batch, f, &err))
		fail_msg("%s", err.text);
	assert_int_equal(trace_health(trace)->lost_total, 0);
	for (size_t i = 0; i < MAX_DEVICES; i++)
		end_segment(&f->held[i]);
	trace_close(trace);
}

static void compare_held(const char *file, yajl_val r, const struct held *h)
{
	const struct {
		const char *name;
		uint64_t got;
	} rows[] = {
		{"segments", h->segments},
		{"seg_small", h->small},
		{"seg_large", h->large},
		{"expandable", h->expandable},
		{"private_pool_segments", h->private_pools},
		{"reserved", h->reserved},
		{"allocated", h->live_bytes},
		{"requested", h->live_requested},
		{"blocks", h->blocks},
		{"pending_free_bytes", h->pending_bytes},
		{"inactive_blocks", h->free_blocks},
		{"inactive_bytes", h->free_bytes},
		{"largest_inactive", h->largest_free},
		{"wholly_free_segments", h->free_segments},
		{"wholly_free_bytes", h->free_segment_bytes},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_count(file, rows[i].name, reference_number(r, rows[i].name), rows[i].got);
}

static void compare_history(const char *file, yajl_val r, const struct snapshot_facts *f,
			    int device)
{
	static const struct {
		const char *name;
		uint8_t op;
	} actions[] = {
		{"alloc", BLOCK_ALLOC},
		{"free_requested", BLOCK_FREE_REQUESTED},
		{"free_completed", BLOCK_FREE},
		{"segment_alloc", BLOCK_SEGMENT_ALLOC},
		{"segment_free", BLOCK_SEGMENT_FREE},
		{"oom", BLOCK_OUT_OF_MEMORY},
	};
	yajl_val counts = reference_member(r, "actions");
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		assert_count(file, actions[i].name, reference_number(counts, actions[i].name),
			     f->ops[device][actions[i].op]);
	assert_count(file, "history", reference_number(r, "events"), f->history[device]);
	assert_count(file, "peak requested", reference_number(r, "peak_requested"),
		     f->peak_allocated[device]);
	assert_count(file, "peak reserved", reference_number(r, "peak_reserved"),
		     f->peak_reserved[device]);
	assert_count(file, "bytes allocated", reference_number(r, "alloc_bytes"),
		     f->alloc_bytes[device]);
	assert_count(file, "largest", reference_number(r, "largest_alloc"),
		     f->largest_alloc[device]);
	/* The history ends at what is held. */
	assert_count(file, "requested at the end", (double)f->held[device].live_requested,
		     f->last_allocated[device]);
}

static void snapshot_has_the_reference_numbers(void **state)
{
	yajl_val entry = *state;
	const char *file = reference_text(entry, "file");
	struct snapshot_facts *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	recording_import(file, read_blocks, f);

	yajl_val devices = reference_member(entry, "devices");
	assert_true(YAJL_IS_OBJECT(devices) && devices->u.object.len > 0);
	for (size_t i = 0; i < devices->u.object.len; i++)
		compare_held(file, devices->u.object.values[i],
			     &f->held[atoi(devices->u.object.keys[i])]);
	yajl_val history = reference_member(entry, "history");
	for (size_t i = 0; YAJL_IS_OBJECT(history) && i < history->u.object.len; i++)
		compare_history(file, history->u.object.values[i], f,
				atoi(history->u.object.keys[i]));
	assert_true(f->with_site > 0);
	free(f);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return reference_run("memsnap", snapshot_has_the_reference_numbers);
}
