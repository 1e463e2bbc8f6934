/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives site_capture.c what it needs of the shim: memory per thread, the clock, the ring, and the
 * kind of event that a function's calls are. The kind is learned from a function's first record, so
 * that the tables of wrapped functions need not say it once more; until then it always gets a site.
 */
#include "site.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "options.h"
#include "session.h"
#include "site_capture.h"
#include "site_python.h"
#include "ticks.h"
#include "wrap.h"
#include "../collector/format/record.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

uint32_t site_policy;
static _Atomic uintptr_t facts_told;
static uint8_t events[API_COUNT]; /* enum site_event; zero is one that always gets a site */
static struct site_thread *memory[RING_SLOT_COUNT]; /* of each thread block, kept for the next */

void site_learn_kind(uint16_t api, unsigned int record_kind)
{
	enum site_event event = SITE_EVENT_OTHER;
	switch (record_kind) {
	case RECORD_KIND_memory:
		event = SITE_EVENT_ALLOCATION;
		break;
	case RECORD_KIND_copy:
	case RECORD_KIND_set:
		event = SITE_EVENT_COPY;
		break;
	case RECORD_KIND_sync:
		event = SITE_EVENT_SYNC;
		break;
	case RECORD_KIND_communicator:
	case RECORD_KIND_collective:
		event = SITE_EVENT_COLLECTIVE;
		break;
	case RECORD_KIND_launch:
	case RECORD_KIND_gemm:
	case RECORD_KIND_graph:
		event = SITE_EVENT_LAUNCH;
		break;
	default:
		break;
	}
	events[api] = (uint8_t)event;
}

static void put(void *context, const char *key, const char *value)
{
	(void)context;
	session_info(key, value);
}

/* Copies a record of site_capture.c into the ring, after the libraries that its frames lie in. */
static bool emit(void *context, const void *record, uint32_t size_bytes)
{
	struct thread *thread = context;
	const struct record_head *head = record;
	const struct record_site *site = record;
	bool is_new = false;
	if (head->kind == RECORD_KIND_site) {
		for (uint32_t i = 0; i < site->frame_count; i++) {
			if (site->frames[i].type == FRAME_NATIVE)
				is_new |= site_describe_library(thread, site->frames[i].value);
		}
	}
	/* An interpreter may have come with it, embedded after the session began. */
	if (is_new && !thread->in_hook && (site_policy & SITE_STACKS_PYTHON))
		site_python_attach();
	void *room = thread_reserve(thread, head->kind, size_bytes);
	if (!room)
		return false;
	memcpy(room, record, size_bytes);
	thread_commit(thread);
	/* The interpreter is found, and asked whether it agrees, at some first call. */
	if (!thread->in_hook)
		site_report(false);
	return true;
}

uint64_t site_walk(struct thread *thread, uint16_t api, const void *frame)
{
	struct site_call call = {
		.event = (enum site_event)events[api],
		.may_ask_python = true,
		.frame = frame,
		/* Reading the clock once more would cost as much as the walk; the end of the call
		 * before is near enough for a budget. */
		.now_ticks = thread->last_ticks,
		.emit_context = thread,
	};
	if (__builtin_expect(!thread->sites, 0))
		return 0;
	return site_capture(thread->sites, &call);
}

uint64_t site_of_hook(struct thread *thread, bool is_rare, const void *frame)
{
	struct site_call call = {
		.event = is_rare ? SITE_EVENT_ALLOCATION : SITE_EVENT_OTHER,
		.may_ask_python = false,
		.frame = frame,
		.now_ticks = thread->last_ticks,
		.emit_context = thread,
	};
	return site_policy && thread->sites ? site_capture(thread->sites, &call) : 0;
}

void site_open(void)
{
	int parsed = site_stacks_parse(shim_options.stacks);
	struct site_settings settings = {
		.stacks = parsed < 0 ? SITE_STACKS_ALL : (enum site_stacks)parsed,
		.emit = emit,
		.ticks_per_us = session_control->clock_hz / 1000000,
		.unrecorded = session_counter(RING_COUNT_NO_STACK),
	};
	memset(events, 0, sizeof(events));
	atomic_store(&facts_told, 0);
	site_capture_begin(&settings);
	site_policy = settings.stacks;
}

void site_report(bool is_last)
{
	uintptr_t known = site_capture_facts_state();
	if (is_last || atomic_load_explicit(&facts_told, memory_order_relaxed) != known) {
		atomic_store_explicit(&facts_told, known, memory_order_relaxed);
		site_capture_facts(put, NULL);
	}
}

void site_thread_attach(struct thread *thread)
{
	struct site_thread *mine = memory[thread->block];
	thread->last_ticks = thread->claimed_ticks;
	if (!mine && site_policy) {
		mine = mmap(NULL, site_thread_bytes(), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (mine == MAP_FAILED)
			return;
		madvise(mine, site_thread_bytes(), MADV_WIPEONFORK);
		memory[thread->block] = mine;
	}
	thread->sites = mine;
}

void site_thread_retire(struct thread *thread)
{
	if (!thread->sites)
		return;
	site_thread_end(thread->sites);
	/* Zeroes: what is known of this thread's stack must not be looked for on another's. */
	madvise(thread->sites, site_thread_bytes(), MADV_DONTNEED);
	thread->sites = NULL;
}

void site_after_fork(void)
{
	site_policy = 0;
	site_capture_after_fork();
	/* The kernel has wiped these where it can; do it for those where it could not. */
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++) {
		if (memory[i])
			madvise(memory[i], site_thread_bytes(), MADV_DONTNEED);
	}
}
