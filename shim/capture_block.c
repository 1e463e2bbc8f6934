/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block records from c10's reports. Only the GPU's blocks are kept: the CPU allocator reports while
 * a profiler runs and has no totals. A ring that is full may be exchanged for a larger one, but is
 * never waited for.
 */
#include "capture_block.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "../collector/format/record.h"
#include "lifecycle.h"
#include "session.h"
#include "site.h"
#include "thread.h"
#include "ticks.h"

#define TYPE_CUDA 1u /* c10::DeviceType */
#define DEVICES	  64u

static _Atomic uint64_t seen_bytes[DEVICES]; /* by capture_block_alone() */

/* A thread that may record now, without deciding or opening anything. */
static struct thread *hook_thread(void)
{
	struct thread *thread = thread_now;
	if (!lifecycle_reports_matter || thread == &thread_muted ||
	    atomic_load_explicit(&lifecycle_mode, memory_order_acquire) != LIFECYCLE_RECORDING)
		return NULL;
	if (thread_records(thread))
		return thread;
	/* A child of a raw clone keeps the mode of its parent; a wrapped call will see to it. */
	if (thread->is_live || session_pid != getpid() ||
	    !atomic_load_explicit(thread_capture_switch, memory_order_relaxed))
		return NULL;
	thread = thread_attach();
	if (!thread)
		session_count_unrecorded();
	return thread;
}

static void write_block(struct thread *thread, unsigned int op, const void *block,
			uint64_t size_bytes, uint64_t allocated_bytes, uint64_t reserved_bytes,
			uint32_t device, const void *frame)
{
	int saved_errno = errno;
	thread->in_hook = 1;
	/* Who gave a block back is seldom of interest, and often Python's garbage collector. */
	uint64_t site =
		op == BLOCK_FREE ? 0 : site_of_hook(thread, op == BLOCK_OUT_OF_MEMORY, frame);
	struct record_block *record = thread_reserve(thread, RECORD_KIND_block, sizeof(*record));
	if (record) {
		*record = (struct record_block){
			.head = {RECORD_KIND_block, sizeof(*record), 0},
			.ticks = ticks_now(),
			.site = site,
			.address = (uintptr_t)block,
			.size_bytes = size_bytes,
			.allocated_bytes = allocated_bytes,
			.reserved_bytes = reserved_bytes,
			.device = device,
			.op = (uint8_t)op,
		};
		thread_commit(thread);
	}
	thread->in_hook = 0;
	errno = saved_errno;
}

void capture_block(const void *block, int64_t change, uint64_t allocated_bytes,
		   uint64_t reserved_bytes, uint64_t where, const void *frame)
{
	struct thread *thread;
	if ((where & 0xff) != TYPE_CUDA || !(thread = hook_thread()))
		return;
	write_block(thread, change < 0 ? BLOCK_FREE : BLOCK_ALLOC, block,
		    change < 0 ? 0 - (uint64_t)change : (uint64_t)change, allocated_bytes,
		    reserved_bytes, (uint32_t)(where >> 8 & 0xff), frame);
}

void capture_block_alone(const void *block, int64_t change, uint64_t where, const void *frame)
{
	struct thread *thread;
	if ((where & 0xff) != TYPE_CUDA || !(thread = hook_thread()))
		return;
	/* Such releases also had another layout of the device: the current one is sure. */
	uint32_t device = thread->device;
	uint64_t total = device < DEVICES
				 ? atomic_fetch_add_explicit(&seen_bytes[device], (uint64_t)change,
							     memory_order_relaxed) +
					   (uint64_t)change
				 : 0;
	write_block(thread, change < 0 ? BLOCK_FREE : BLOCK_ALLOC, block,
		    change < 0 ? 0 - (uint64_t)change : (uint64_t)change,
		    (int64_t)total < 0 ? 0 : total, 0, device, frame);
}

void capture_out_of_memory(int64_t wanted, uint64_t allocated_bytes, uint64_t reserved_bytes,
			   uint64_t where, const void *frame)
{
	struct thread *thread;
	if ((where & 0xff) != TYPE_CUDA || !(thread = hook_thread()))
		return;
	write_block(thread, BLOCK_OUT_OF_MEMORY, NULL, (uint64_t)wanted, allocated_bytes,
		    reserved_bytes, (uint32_t)(where >> 8 & 0xff), frame);
}

void capture_block_after_fork(void)
{
	for (uint32_t i = 0; i < DEVICES; i++)
		atomic_store_explicit(&seen_bytes[i], 0, memory_order_relaxed);
}
