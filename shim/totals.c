/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of totals. A row is found by hashing and linear probing; its owner is the only writer, so
 * adding is a load and a store of each number, without a lock. A table that is three quarters full
 * is exchanged for a larger one; in the largest, what finds no row is added to one "other" row per
 * function, which still says how many, how long and how much.
 */
#include "totals.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../collector/format/record.h"
#include "hash.h"
#include "options.h"
#include "session.h"
#include "thread.h"
#include "ticks.h"
#include "totals_sample.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define FIRST_ROWS    RING_TABLE_MIN_ROWS
#define MOST_ROWS     16384u /* 1 MiB for a thread */
#define GROWTH	      4u
#define FAILURES_KEPT 8u /* of each row, recorded singly */
#define SHAPE_BITS    21u
#define SCRATCH_BYTES 192u

struct totals {
	struct session_table table;
	uint32_t used;
	bool is_largest;
	struct sample_state sample;
	_Alignas(8) char scratch[SCRATCH_BYTES];
};

/* What is added to a row. */
struct amount {
	uint64_t what, site, detail;
	uint64_t bytes, duration;
	bool has_failed;
};

static uint32_t recording;  /* enum ring_recording */
static struct totals *pool; /* by thread block */

uint32_t totals_open(void)
{
	recording = RING_RECORD_ALL;
	if (shim_options.recording[0] == 's')
		recording = RING_RECORD_SUMMED;
	else if (shim_options.sample_launches)
		recording = RING_RECORD_SAMPLED;
	else if (shim_options.sample_rate)
		recording = RING_RECORD_BY_RATE;
	if (recording == RING_RECORD_ALL)
		return recording;
	sample_open((uint32_t)shim_options.sample_launches, (uint32_t)shim_options.sample_rate,
		    ticks_init());
	if (!pool) {
		size_t bytes = RING_SLOT_COUNT * sizeof(struct totals);
		void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory == MAP_FAILED)
			return recording; /* no thread gets a table: calls are counted as lost */
		/* As for thread blocks: a child must not add to its parent's sums. */
		madvise(memory, bytes, MADV_WIPEONFORK);
		pool = memory;
	}
	return recording;
}

void totals_describe(char *text, size_t size)
{
	switch (recording) {
	case RING_RECORD_SUMMED:
		snprintf(text, size, "summary");
		break;
	case RING_RECORD_SAMPLED:
		snprintf(text, size, "sampled: 1 of %ld launches", shim_options.sample_launches);
		break;
	case RING_RECORD_BY_RATE:
		snprintf(text, size, "sampled above %ld launches/s per thread",
			 shim_options.sample_rate);
		break;
	default:
		snprintf(text, size, "full");
	}
}

bool totals_attach(struct thread *thread)
{
	if (recording == RING_RECORD_ALL)
		return true;
	struct totals *me = pool ? &pool[thread->block] : NULL;
	if (!me)
		return false;
	memset(me, 0, sizeof(*me));
	if (session_table_claim(FIRST_ROWS, thread->thread_id, thread->claimed_ticks, &me->table))
		return false;
	me->used = me->table.used;
	thread->totals = me;
	return true;
}

void totals_retire(struct thread *thread)
{
	struct totals *me = thread->totals;
	if (!me)
		return;
	sample_finish(&me->sample, thread, ticks_now());
	thread->totals = NULL;
	session_table_retire(me->table.slot);
}

/* ---- rows ---- */

static bool grow(struct totals *me, const struct thread *thread)
{
	struct session_table larger;
	uint32_t rows = me->table.row_count * GROWTH;
	if (me->is_largest || rows > MOST_ROWS)
		return false;
	int saved_errno = errno;
	int rc = session_table_claim(rows, thread->thread_id, thread->claimed_ticks, &larger);
	errno = saved_errno;
	me->is_largest = rc != 0;
	if (rc)
		return false;
	session_table_retire(me->table.slot);
	me->table = larger;
	me->used = larger.used;
	return true;
}

/* The row with this key, or an empty one for it; NULL in a table that is full. */
static struct ring_total *probe(struct totals *me, const struct amount *amount, bool *is_new)
{
	uint32_t mask = me->table.row_count - 1;
	uint64_t hash = hash_mix(amount->site ^ (amount->detail << 32 | amount->detail >> 32) ^
				 amount->what * 0x9e3779b97f4a7c15ull);
	for (uint32_t step = 0; step <= mask; step++) {
		struct ring_total *row = &me->table.rows[((uint32_t)hash + step) & mask];
		uint64_t what = atomic_load_explicit(&row->what, memory_order_relaxed);
		*is_new = !what;
		if (!what || (what == amount->what && row->site == amount->site &&
			      row->detail == amount->detail))
			return row;
	}
	return NULL;
}

static void make_row(struct totals *me, struct ring_total *row, const struct amount *amount)
{
	row->site = amount->site;
	row->detail = amount->detail;
	/* Pairs with the collector's acquire load: the rest of the key is there. */
	atomic_store_explicit(&row->what, amount->what, memory_order_release);
	me->used++;
}

static struct ring_total *row_of(struct totals *me, const struct thread *thread,
				 struct amount *amount)
{
	bool is_new;
	struct ring_total *row = probe(me, amount, &is_new);
	if (__builtin_expect(row && !is_new, 1))
		return row;
	if (me->used < me->table.row_count / 4 * 3 || grow(me, thread)) {
		row = probe(me, amount, &is_new);
	} else {
		amount->site = amount->detail = 0;
		amount->what |= (uint64_t)TOTAL_OTHER << 24;
		row = probe(me, amount, &is_new);
	}
	if (row && is_new)
		make_row(me, row, amount);
	return row;
}

static void add_to(_Atomic uint64_t *sum, uint64_t more)
{
	atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + more,
			      memory_order_relaxed);
}

/* How many of this row have failed, this one included. */
static uint64_t add(struct thread *thread, struct amount *amount)
{
	struct ring_total *row = row_of(thread->totals, thread, amount);
	if (!row) {
		ring_writer_drop(&thread->ring, RECORD_KIND_total);
		return 0;
	}
	add_to(&row->count, 1);
	add_to(&row->bytes, amount->bytes);
	add_to(&row->duration, amount->duration);
	if (amount->duration > atomic_load_explicit(&row->longest, memory_order_relaxed))
		atomic_store_explicit(&row->longest, amount->duration, memory_order_relaxed);
	if (__builtin_expect(amount->has_failed, 0))
		add_to(&row->failed, 1);
	return atomic_load_explicit(&row->failed, memory_order_relaxed);
}

/* ---- what a record is summed under ---- */

static uint64_t clamp_extent(uint32_t extent)
{
	return extent < (1u << SHAPE_BITS) ? extent : (1u << SHAPE_BITS) - 1;
}

static uint64_t size_detail(uint64_t size_bytes)
{
	return (uint64_t)total_size_class(size_bytes) << 24;
}

/* What tells records of one function and site apart, as FORMAT.md says. */
static uint16_t describe(const void *record, unsigned int kind, struct amount *amount)
{
	const union {
		const void *any;
		const struct record_copy *copy;
		const struct record_set *set;
		const struct record_launch *launch;
		const struct record_memory *memory;
		const struct record_gemm *gemm;
		const struct record_collective *collective;
		const struct record_conv *conv;
		const struct record_graph *graph;
		const struct record_sync *sync;
		const struct record_gpu_kernel *gpu_kernel;
		const struct record_gpu_copy *gpu_copy;
		const struct record_gpu_set *gpu_set;
		const struct record_gpu_sync *gpu_sync;
		const struct record_gpu_graph *gpu_graph;
	} of = {record};
	switch (kind) {
	case RECORD_KIND_copy:
		amount->bytes = of.copy->size_bytes;
		amount->detail = (uint64_t)of.copy->direction |
				 (uint64_t)of.copy->source_kind << 8 |
				 (uint64_t)of.copy->destination_kind << 16 |
				 size_detail(of.copy->size_bytes);
		return of.copy->call.flags & CALL_ASYNC;
	case RECORD_KIND_set:
		amount->bytes = of.set->size_bytes;
		amount->detail = size_detail(of.set->size_bytes);
		return of.set->call.flags & CALL_ASYNC;
	case RECORD_KIND_launch:
		amount->detail = of.launch->kernel;
		return (uint16_t)of.launch->launch_flags;
	case RECORD_KIND_memory:
		/* A free says no size, and each size of an allocation matters elsewhere. */
		amount->bytes = of.memory->size_bytes;
		amount->detail =
			(uint64_t)of.memory->memory_kind << 16 | size_detail(of.memory->size_bytes);
		return of.memory->op;
	case RECORD_KIND_gemm:
		amount->detail = clamp_extent(of.gemm->m) | clamp_extent(of.gemm->n) << SHAPE_BITS |
				 clamp_extent(of.gemm->k) << 2 * SHAPE_BITS;
		return (uint16_t)(of.gemm->type_a | of.gemm->type_compute << 8);
	case RECORD_KIND_conv:
		return of.conv->op;
	case RECORD_KIND_collective:
		amount->bytes = of.collective->size_bytes;
		amount->detail = of.collective->hash;
		return of.collective->op;
	case RECORD_KIND_graph:
		amount->detail = of.graph->op == GRAPH_LAUNCH ? of.graph->executable : 0;
		return of.graph->op;
	case RECORD_KIND_sync:
		return (uint16_t)of.sync->scope;
	case RECORD_KIND_gpu_kernel:
		amount->detail = of.gpu_kernel->kernel;
		return 0;
	case RECORD_KIND_gpu_copy:
		amount->bytes = of.gpu_copy->size_bytes;
		amount->detail = (uint64_t)of.gpu_copy->direction |
				 (uint64_t)of.gpu_copy->source_kind << 8 |
				 (uint64_t)of.gpu_copy->destination_kind << 16 |
				 size_detail(of.gpu_copy->size_bytes);
		return of.gpu_copy->is_async;
	case RECORD_KIND_gpu_set:
		amount->bytes = of.gpu_set->size_bytes;
		amount->detail = size_detail(of.gpu_set->size_bytes);
		return 0;
	case RECORD_KIND_gpu_sync:
		return (uint16_t)of.gpu_sync->scope;
	case RECORD_KIND_gpu_graph:
		amount->detail = of.gpu_graph->gpu.graph;
		return 0;
	default:
		return 0;
	}
}

/* ---- calls ---- */

void *totals_scratch(struct thread *thread, unsigned int kind, size_t size_bytes)
{
	if (__builtin_expect(
		    (thread->is_live ^ 1) | thread->is_writing | (size_bytes > SCRATCH_BYTES), 0))
		return thread_reserve_refused(thread, kind);
	thread->is_writing = 1;
	atomic_signal_fence(memory_order_seq_cst);
	return thread->totals->scratch;
}

/* The scratch place is free again. */
static void release(struct thread *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->is_writing = 0;
}

static void record_singly(struct thread *thread)
{
	const struct record_head *head = (const void *)thread->totals->scratch;
	void *room = ring_writer_reserve(&thread->ring, head->size_bytes);
	if (!room)
		room = thread_reserve_full(thread, head->kind, head->size_bytes);
	if (!room)
		return;
	memcpy(room, head, head->size_bytes);
	ring_writer_commit(&thread->ring, head->size_bytes);
}

/* Few in any program, and what memory, graphs and ranks are understood by. */
static bool is_rare(const void *record, unsigned int kind)
{
	return kind == RECORD_KIND_memory || kind == RECORD_KIND_communicator ||
	       (kind == RECORD_KIND_graph &&
		((const struct record_graph *)record)->op != GRAPH_LAUNCH);
}

static bool is_kept(struct thread *thread, const struct call_part *part, bool is_nested)
{
	if (is_rare(part, part->head.kind))
		return true;
	if (recording == RING_RECORD_SUMMED)
		return false;
	bool is_launch = part->head.kind == RECORD_KIND_launch ||
			 part->head.kind == RECORD_KIND_gemm || part->head.kind == RECORD_KIND_conv;
	bool keeps = sample_keeps(&thread->totals->sample, thread, part->end_ticks);
	if (is_launch && !is_nested)
		sample_learn_launch(part->api);
	/* The nodes of a captured graph are told as a whole or not at all. */
	return keeps || (part->flags & CALL_CAPTURED);
}

void totals_expect(struct thread *thread, uint32_t correlation)
{
	/* A call of a runtime that is not hooked comes before the call of the driver that it makes
	 * and that is hooked: nothing is decided yet. */
	if (recording != RING_RECORD_SUMMED && thread->current_call &&
	    sample_keeps(&thread->totals->sample, thread, ticks_now()))
		sample_keep_correlation(correlation);
}

void totals_take_call(struct thread *thread, bool is_nested)
{
	const struct call_part *part = (const void *)thread->totals->scratch;
	unsigned int kind = part->head.kind;
	struct amount amount = {.site = part->site, .has_failed = part->status != 0};
	uint64_t failures = 0;
	if (kind != RECORD_KIND_communicator) {
		uint16_t variant = describe(part, kind, &amount);
		unsigned int flags = (is_nested ? TOTAL_NESTED : 0u) |
				     (part->flags & CALL_CAPTURED ? TOTAL_CAPTURED : 0u);
		amount.what = ring_total_what(part->api, (uint8_t)kind, (uint8_t)flags, variant,
					      part->device);
		if (!(part->flags & CALL_NO_TIMES))
			amount.duration = part->end_ticks - part->begin_ticks;
		if (amount.has_failed)
			amount.bytes = 0;
		failures = add(thread, &amount);
	}
	if (is_kept(thread, part, is_nested) || (amount.has_failed && failures <= FAILURES_KEPT))
		record_singly(thread);
	release(thread);
	if (__builtin_expect(thread->totals->sample.untold_end_ticks != 0, 0))
		sample_tell(&thread->totals->sample, thread);
}

/* ---- work of the GPU ---- */

void *totals_reserve_gpu(struct thread *thread, unsigned int kind, size_t size_bytes)
{
	return thread->totals ? totals_scratch(thread, kind, size_bytes)
			      : thread_reserve(thread, kind, size_bytes);
}

void totals_commit_gpu(struct thread *thread)
{
	if (!thread->totals) {
		thread_commit(thread);
		return;
	}
	const struct gpu_part *part = (const void *)thread->totals->scratch;
	unsigned int kind = part->head.kind;
	struct amount amount = {.duration = part->end_ns - part->begin_ns};
	uint16_t variant = describe(part, kind, &amount);
	amount.what = ring_total_what(0, (uint8_t)kind, 0, variant, part->device);
	/* What becomes of memory is recorded singly, as calls about it are. */
	bool is_memory = kind == RECORD_KIND_gpu_memory || kind == RECORD_KIND_gpu_pool;
	if (!is_memory)
		add(thread, &amount);
	/* Only launches are sampled; a blocking call's work may be read before the call has ended.
	 */
	if (is_memory ||
	    (recording != RING_RECORD_SUMMED &&
	     (kind != RECORD_KIND_gpu_kernel || sample_has_correlation(part->correlation))))
		record_singly(thread);
	release(thread);
}
