// SPDX-License-Identifier: Apache-2.0
/*
 * Nanoseconds per event for each policy of GPUTRACE_STACKS in a program without Python, by depth of
 * the native stack: a stack that is known, 64 different ones in turn, one that must be unwound, and
 * the C library's backtrace() for comparison. Values are medians of the lower half of the rounds.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <execinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "site_cache.h"
#include "site_capture.h"

#define ROUNDS 41
#define EVENTS 2000

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static struct site_thread *thread;
static struct site_cache_thread *cache;
static volatile uint64_t sink;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static bool drop(void *context, const void *record, uint32_t size_bytes)
{
	(void)context;
	(void)record;
	(void)size_bytes;
	return true;
}

static void *fresh(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

/* ---- what is measured, one event each ---- */

static NOINLINE void event(void)
{
	struct site_call call = {.event = SITE_EVENT_COPY,
				 .may_ask_python = true,
				 .frame = __builtin_frame_address(0)};

	sink += site_capture(thread, &call);
}

static NOINLINE void event_unwound(void)
{
	static uintptr_t unique;
	struct site_native_request request = {.frame = __builtin_frame_address(0),
					      .stop_begin = ++unique, /* a stack of its own */
					      .stop_end = unique};
	uint32_t cost_ns;

	sink += site_cache_unwind(cache, &request, &cost_ns)->hash;
}

static NOINLINE void event_backtrace(void)
{
	void *frames[64];

	sink += (uint64_t)backtrace(frames, 64);
}

typedef void (*event_function)(void);

/* Frames of different sizes, as real ones are; which: one of 64 call paths. */
#define FRAME(name, next, bytes)                                                                   \
	static NOINLINE void name(int depth, unsigned which, int count, event_function what)       \
	{                                                                                          \
		volatile char space[bytes];                                                        \
		space[0] = (char)depth;                                                            \
		next(depth, which, count, what);                                                   \
		sink += (uint64_t)space[0];                                                        \
	}
static NOINLINE void descend(int depth, unsigned which, int count, event_function what);
FRAME(frame_a, descend, 24)
FRAME(frame_b, descend, 120)

static NOINLINE void descend(int depth, unsigned which, int count, event_function what)
{
	if (depth <= 0) {
		for (int i = 0; i < count; i++)
			what();
	} else if (which & 1) {
		frame_a(depth - 2, which >> 1, count, what);
	} else {
		frame_b(depth - 2, which >> 1, count, what);
	}
	sink++;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* paths 1: the same stack each time; 64: another one each time (with the way down to it). */
static double measure(event_function what, int depth, int paths, int events)
{
	double ns[ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		double begin = now_ns();

		if (paths == 1) {
			descend(depth, 21, events, what);
		} else {
			for (int i = 0; i < events; i++)
				descend(depth, (unsigned)i % 64, 1, what);
		}
		ns[round] = (now_ns() - begin) / events;
	}
	qsort(ns, ROUNDS, sizeof(double), ascending);
	return ns[ROUNDS / 4];
}

static void nothing(void)
{
	sink++;
}

int main(void)
{
	static const int depths[] = {10, 20, 40};
	static const char *const policies[] = {"off", "python", "native", "all"};

	cache = fresh(site_cache_bytes());
	printf("native engine: %s\n", site_cache_engine());
	printf("%-34s%8s%8s%8s\n", "ns per event at depth", "10", "20", "40");
	for (size_t p = 0; p < 4; p++) {
		struct site_settings settings = {(enum site_stacks)site_stacks_parse(policies[p]),
						 drop, 0, NULL};

		site_capture_begin(&settings);
		thread = fresh(site_thread_bytes());
		printf("%-10s%-24s", policies[p], "the same stack");
		for (size_t d = 0; d < 3; d++)
			printf("%8.1f", measure(event, depths[d], 1, EVENTS) -
						measure(nothing, depths[d], 1, EVENTS));
		printf("\n%-10s%-24s", policies[p], "64 stacks in turn");
		for (size_t d = 0; d < 3; d++)
			printf("%8.1f", measure(event, depths[d], 64, EVENTS) -
						measure(nothing, depths[d], 64, EVENTS));
		printf("\n");
	}
	printf("%-34s", "unwound each time");
	for (size_t d = 0; d < 3; d++)
		printf("%8.0f", measure(event_unwound, depths[d], 1, 50));
	printf("\n%-34s", "backtrace() each time");
	for (size_t d = 0; d < 3; d++)
		printf("%8.0f", measure(event_backtrace, depths[d], 1, 50));
	printf("\n");
	return 0;
}
