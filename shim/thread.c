/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaches threads to rings and lets go of them. A thread gets a block from a pool that the kernel
 * wipes in a forked child, so that a child without fork handlers (raw clone) cannot write into its
 * parent's rings either. A ring that fills is exchanged for a larger one.
 */
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../collector/format/record.h"
#include "lifecycle.h"
#include "options.h"
#include "session.h"
#include "shim_log.h"
#include "site.h"
#include "ticks.h"
#include "totals.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define GROWTH_FACTOR	     4u
#define GROWTH_MAX_BYTES     (4u * 1024 * 1024)
#define TAKE_OVER_MIN_BYTES  (8u * 1024)
#define NO_RING_PAUSE_NS     1000000ull
#define WAIT_PER_CALL_NS     1000000ull
#define OWN_WAIT_NS	     200000000ull
#define WAIT_PER_RUN_NS	     100000000ull
#define HEARTBEAT_MAX_AGE_NS 100000000ull

struct thread thread_idle, thread_muted;
__thread struct thread *thread_now = &thread_idle;

static _Atomic uint32_t switch_off;
_Atomic uint32_t *thread_capture_switch = &switch_off;

static struct thread *blocks;
static _Atomic uint8_t block_used[RING_SLOT_COUNT];
static pthread_key_t exit_key;
static bool exit_key_exists;
static _Atomic uint64_t waited_ns;
/* Where there is no ring to be had, a thread without one asks again with its next call: not with
 * every one of them. 0: a ring may have come free. */
static _Atomic uint64_t no_ring_until_ns;

/* Runs when a thread ends; other destructors may still call CUDA, which attaches again. */
static void thread_ended(void *block)
{
	struct thread *thread = block;
	if (thread->is_live && thread_now == thread)
		thread_retire(thread);
}

int thread_init(void)
{
	size_t size = RING_SLOT_COUNT * sizeof(struct thread);
	if (!blocks) {
		void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory == MAP_FAILED)
			return -errno;
		/* Old kernels do not know this: then the fork handler alone must do. */
		madvise(memory, size, MADV_WIPEONFORK);
		blocks = memory;
	}
	if (!exit_key_exists) {
		int rc = pthread_key_create(&exit_key, thread_ended);
		if (rc)
			return -rc;
		exit_key_exists = true;
	}
	thread_capture_switch = &session_control->capture_enabled;
	return 0;
}

static struct thread *block_take(void)
{
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++) {
		if (!atomic_load_explicit(&block_used[i], memory_order_relaxed) &&
		    !atomic_exchange_explicit(&block_used[i], 1, memory_order_acquire)) {
			memset(&blocks[i], 0, sizeof(blocks[i]));
			blocks[i].block = i;
			return &blocks[i];
		}
	}
	return NULL;
}

/* The record that makes what follows in a taken over ring this thread's own. */
static bool write_owner(struct thread *thread)
{
	struct ring_owner *owner = ring_writer_reserve(&thread->ring, sizeof(*owner));
	if (!owner)
		return false;
	*owner = (struct ring_owner){
		.kind = RECORD_PAD,
		.size_bytes = sizeof(*owner),
		.pad_kind = RING_PAD_OWNER,
		.thread_id = thread->thread_id,
		.claimed_ticks = thread->claimed_ticks,
	};
	ring_writer_commit(&thread->ring, sizeof(*owner));
	return true;
}

static bool take_over(struct thread *thread, uint32_t room_bytes)
{
	struct session_ring ring;
	if (session_ring_take_over(room_bytes, &ring))
		return false;
	ring_writer_attach(&thread->ring, ring.header, ring.data_bytes, ring.slot, ring.head);
	if (write_owner(thread))
		return true;
	session_ring_retire(ring.slot, ring.head, false);
	return false;
}

/* A ring with much room that an ended thread has left, else one of its own, else any with room. */
static bool ring_get(struct thread *thread)
{
	struct session_ring ring;
	uint32_t wanted_bytes = (uint32_t)shim_options.ring_kib * 1024;
	if (take_over(thread, wanted_bytes / 4 * 3))
		return true;
	if (session_ring_claim(wanted_bytes, RING_MIN_BYTES, thread->thread_id,
			       thread->claimed_ticks, &ring))
		return take_over(thread, TAKE_OVER_MIN_BYTES);
	ring_writer_attach(&thread->ring, ring.header, ring.data_bytes, ring.slot, ring.head);
	return true;
}

static void block_give(struct thread *thread)
{
	thread->is_live = 0;
	atomic_store_explicit(&block_used[thread->block], 0, memory_order_release);
}

struct thread *thread_attach(void)
{
	if (thread_now != &thread_idle && thread_now->is_live)
		return thread_now;
	uint64_t until_ns = atomic_load_explicit(&no_ring_until_ns, memory_order_relaxed);
	if (until_ns && ticks_monotonic() < until_ns)
		return NULL;
	int saved_errno = errno;
	/* Muted meanwhile: pthread_setspecific may allocate, and allocators have been seen to call
	 * CUDA. */
	thread_now = &thread_muted;
	struct thread *thread = block_take();
	if (thread) {
		thread->thread_id = (uint32_t)syscall(SYS_gettid);
		thread->claimed_ticks = ticks_now();
		thread->device = DEVICE_UNKNOWN;
		bool has_ring = ring_get(thread);
		/* Without a place for its totals it would tell half the truth. */
		bool has_place = has_ring && totals_attach(thread);
		if (!has_place || pthread_setspecific(exit_key, thread)) {
			if (has_place)
				totals_retire(thread);
			else
				atomic_store_explicit(&no_ring_until_ns,
						      ticks_monotonic() + NO_RING_PAUSE_NS,
						      memory_order_relaxed);
			if (has_ring)
				session_ring_retire(thread->ring.slot, thread->ring.head, false);
			block_give(thread);
			thread = NULL;
		} else {
			site_thread_attach(thread);
			thread->is_live = 1;
		}
	}
	thread_now = thread ? thread : &thread_idle;
	errno = saved_errno;
	return thread;
}

void thread_retire(struct thread *thread)
{
	totals_retire(thread);
	session_ring_retire(thread->ring.slot, thread->ring.head, false);
	atomic_store_explicit(&no_ring_until_ns, 0, memory_order_relaxed);
	thread_now = &thread_idle;
	site_thread_retire(thread);
	block_give(thread);
}

void thread_forget_all(void)
{
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++) {
		if (atomic_load_explicit(&block_used[i], memory_order_relaxed)) {
			blocks[i].is_live = 0;
			atomic_store_explicit(&block_used[i], 0, memory_order_relaxed);
		}
	}
	thread_now = &thread_idle;
	thread_capture_switch = &switch_off;
	atomic_store_explicit(&waited_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&no_ring_until_ns, 0, memory_order_relaxed);
}

/* Moves the thread to a larger ring. What is in the old one stays readable until it is drained. */
static bool thread_grow(struct thread *thread)
{
	struct session_ring ring;
	uint64_t bytes = (uint64_t)thread->ring.data_bytes * GROWTH_FACTOR;
	if (bytes > GROWTH_MAX_BYTES)
		bytes = GROWTH_MAX_BYTES;
	if (bytes <= thread->ring.data_bytes)
		return false;
	/* Never to a smaller one: that a thread's records in smaller rings are older is what the
	 * collector goes by. */
	if (session_ring_claim((uint32_t)bytes, thread->ring.data_bytes * 2, thread->thread_id,
			       thread->claimed_ticks, &ring))
		return false;
	uint32_t old_slot = thread->ring.slot;
	uint64_t old_head = thread->ring.head;
	ring_writer_attach(&thread->ring, ring.header, ring.data_bytes, ring.slot, ring.head);
	session_ring_retire(old_slot, old_head, true);
	return true;
}

/* GPUTRACE_ON_FULL=wait: gives the collector a little time, as long as it is alive. A thread of
 * ours holds up nobody and gives it more: a burst of GPU records is larger than a ring. */
static void *thread_wait_for_room(struct thread *thread, size_t size_bytes)
{
	uint64_t begin_ns = ticks_monotonic(), now_ns = begin_ns;
	void *record = NULL;
	uint64_t limit_ns = thread->is_own ? OWN_WAIT_NS : WAIT_PER_CALL_NS;
	uint64_t age_ns = thread->is_own ? OWN_WAIT_NS : HEARTBEAT_MAX_AGE_NS;
	while (!record && now_ns - begin_ns < limit_ns) {
		uint64_t heartbeat_ns = atomic_load_explicit(
			&session_control->collector_heartbeat_ns, memory_order_relaxed);
		if ((!thread->is_own &&
		     atomic_load_explicit(&waited_ns, memory_order_relaxed) >= WAIT_PER_RUN_NS) ||
		    now_ns - heartbeat_ns > age_ns)
			break;
		struct timespec pause = {0, 50000};
		nanosleep(&pause, NULL);
		uint64_t after_ns = ticks_monotonic();
		if (!thread->is_own)
			atomic_fetch_add_explicit(&waited_ns, after_ns - now_ns,
						  memory_order_relaxed);
		now_ns = after_ns;
		record = ring_writer_reserve(&thread->ring, size_bytes);
	}
	return record;
}

void *thread_reserve_refused(struct thread *thread, unsigned int kind)
{
	if (thread->is_live)
		ring_writer_drop(&thread->ring, kind);
	return NULL;
}

void *thread_reserve_full(struct thread *thread, unsigned int kind, size_t size_bytes)
{
	int saved_errno = errno;
	void *record = NULL;
	if (thread_grow(thread))
		record = ring_writer_reserve(&thread->ring, size_bytes);
	if (!record && !thread->in_hook && (thread->is_own || shim_options.on_full[0] == 'w'))
		record = thread_wait_for_room(thread, size_bytes);
	if (!record) {
		if (!thread->in_hook)
			session_notice_collector();
		ring_writer_drop(&thread->ring, kind);
		atomic_signal_fence(memory_order_seq_cst);
		thread->is_writing = 0;
	}
	errno = saved_errno;
	return record;
}
