// SPDX-License-Identifier: Apache-2.0
/*
 * The policy per kind of event and the records, without Python: which calls get a site, what is
 * written and how often, and what must not be touched meanwhile (errno, the heap, stderr).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "site_capture.h"
#include "format/record.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

/* The program's malloc, counted: a wrapper that records must never call it. */
static uint64_t heap_calls;
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEAP_IS_TAKEN 1
#endif
#endif
#else
#define HEAP_IS_TAKEN 1
#endif
#ifndef HEAP_IS_TAKEN
void *malloc(size_t size)
{
	heap_calls++;
	return __libc_malloc(size);
}
void *calloc(size_t count, size_t size)
{
	heap_calls++;
	return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size)
{
	heap_calls++;
	return __libc_realloc(old, size);
}
#endif

static struct {
	uint64_t sites, names, bytes;
	int refuse;
	uint64_t last_id;
	uint32_t last_frames;
	struct site_frame frames[130];
} sink;

static bool keep(void *context, const void *record, uint32_t size_bytes)
{
	const struct record_head *head = record;
	const struct record_site *site = record;

	assert_ptr_equal(context, &sink);
	assert_int_equal(head->size_bytes, size_bytes);
	assert_int_equal(size_bytes % 8, 0);
	if (sink.refuse > 0) {
		sink.refuse--;
		return false;
	}
	sink.bytes += size_bytes;
	if (head->kind == RECORD_KIND_name) {
		sink.names++;
		return true;
	}
	assert_int_equal(head->kind, RECORD_KIND_site);
	assert_int_equal(size_bytes, sizeof(*site) + site->frame_count * sizeof(site->frames[0]));
	sink.sites++;
	sink.last_id = site->id;
	sink.last_frames = site->frame_count;
	memcpy(sink.frames, site->frames, site->frame_count * sizeof(site->frames[0]));
	return true;
}

static struct site_thread *me;

static void begin(enum site_stacks stacks)
{
	struct site_settings settings = {stacks, keep, 1000, NULL};

	if (me)
		munmap(me, site_thread_bytes());
	me = mmap(NULL, site_thread_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		  -1, 0);
	assert_true(me != MAP_FAILED);
	memset(&sink, 0, sizeof(sink));
	site_capture_begin(&settings);
}

static NOINLINE uint64_t event(enum site_event kind, uint64_t now_ticks)
{
	struct site_call call = {.event = kind,
				 .may_ask_python = true,
				 .frame = __builtin_frame_address(0),
				 .now_ticks = now_ticks,
				 .emit_context = &sink};

	return site_capture(me, &call);
}

static void frames_start_with_the_caller(void **state)
{
	uint64_t site = 0;
	uintptr_t here = (uintptr_t)frames_start_with_the_caller;

	(void)state;
	begin(SITE_STACKS_ALL);
	site = event(SITE_EVENT_COPY, 1);
	assert_int_not_equal(site, 0);
	assert_int_equal(sink.last_id, site);
	assert_int_equal(sink.frames[0].type, FRAME_NATIVE);
	assert_in_range(sink.frames[0].value, here, here + 400);
#if GPUTRACE_HAVE_LIBUNWIND
	assert_true(sink.last_frames > 3);
#endif
}

static void each_site_is_written_once(void **state)
{
	uint64_t first = 0;

	(void)state;
	begin(SITE_STACKS_NATIVE);
	for (volatile uint64_t i = 0; i < 1000; i++) {
		uint64_t site = event(SITE_EVENT_COPY, i);

		if (i == 0)
			first = site;
		assert_int_equal(site, first);
	}
	assert_int_equal(sink.sites, 1);
	assert_int_equal(sink.names, 0);
}

static void a_refused_site_is_written_by_the_next_event(void **state)
{
	uint64_t sites[3];

	(void)state;
	begin(SITE_STACKS_NATIVE);
	sink.refuse = 1;
	for (volatile int i = 0; i < 3; i++)
		sites[i] = event(SITE_EVENT_COPY, 1);
	assert_int_equal(sites[0], 0);
	assert_int_not_equal(sites[1], 0);
	assert_int_equal(sites[1], sites[2]);
	assert_int_equal(sink.sites, 1);
}

static void kinds_that_matter_always_get_a_site(void **state)
{
	static const enum site_event kinds[] = {SITE_EVENT_ALLOCATION, SITE_EVENT_COPY,
						SITE_EVENT_SYNC, SITE_EVENT_COLLECTIVE};

	(void)state;
	begin(SITE_STACKS_NATIVE);
	for (volatile int i = 0; i < 4000; i++)
		assert_int_not_equal(event(kinds[i % 4], 5), 0);
}

static void launches_get_one_on_first_sight_and_by_rate(void **state)
{
	uint64_t with = 0, first = 0, rest = 0, site;

	(void)state;
	begin(SITE_STACKS_NATIVE);
	for (volatile uint64_t i = 0; i < 100000; i++) {
		site = event(SITE_EVENT_LAUNCH, 1000000 + i * 100); /* one each 100 ns */
		if (i == 0)
			first = site;
		else if (site != first && rest == 0)
			rest = site;
		assert_true(site == first || site == rest);
		with += site == first;
	}
	assert_int_not_equal(first, 0);
	assert_int_not_equal(rest, 0);
	/* 10 ms of calls; a walk of some 30 ns, at one part in 50 of the time, each 1.5 us. */
	assert_in_range(with, 2000, 20000);
	/* The others know their return address. */
	assert_int_equal(sink.sites, 2);
	assert_int_equal(sink.last_id, rest);
	assert_int_equal(sink.last_frames, 2);
	assert_int_equal(sink.frames[0].type, FRAME_NATIVE);
	assert_int_equal(sink.frames[1].type, FRAME_TRUNCATED);
	with = 0;
	for (volatile uint64_t i = 0; i < 1000; i++) {
		site = event(SITE_EVENT_LAUNCH, 900000000 + i * 100000);
		if (i == 0)
			first = site;
		with += site == first;
	}
	/* Rare launches all have their stack, but for a few after the first, which was expensive.
	 */
	assert_in_range(with, 980, 1000);
	assert_int_not_equal(first, rest);
}

static void off_costs_nothing_and_gives_nothing(void **state)
{
	(void)state;
	begin(SITE_STACKS_OFF);
	assert_int_equal(event(SITE_EVENT_COPY, 1), 0);
	assert_int_equal(sink.sites, 0);
	begin(SITE_STACKS_PYTHON);
	assert_int_equal(event(SITE_EVENT_COPY, 1), 0); /* this program has no Python */
}

static void words_of_the_option(void **state)
{
	(void)state;
	assert_int_equal(site_stacks_parse(NULL), SITE_STACKS_ALL);
	assert_int_equal(site_stacks_parse(""), SITE_STACKS_ALL);
	assert_int_equal(site_stacks_parse("off"), SITE_STACKS_OFF);
	assert_int_equal(site_stacks_parse("python"), SITE_STACKS_PYTHON);
	assert_int_equal(site_stacks_parse("native"), SITE_STACKS_NATIVE);
	assert_int_equal(site_stacks_parse("all"), SITE_STACKS_ALL);
	assert_int_equal(site_stacks_parse("All"), -1);
}

static NOINLINE uint64_t at_depth(int depth)
{
	uint64_t site = depth == 0 ? event(SITE_EVENT_COPY, 1) : at_depth(depth - 1);

	__asm__ volatile("" : "+r"(site));
	return site;
}

static void errno_and_heap_are_left_alone(void **state)
{
	uint64_t before;

	(void)state;
	begin(SITE_STACKS_ALL);
	errno = 77;
	before = heap_calls;
	for (int depth = 0; depth < 40; depth++) {
		for (volatile int i = 0; i < 3; i++)
			at_depth(depth);
	}
	assert_int_equal(errno, 77);
	assert_int_equal(heap_calls, before);
#if GPUTRACE_HAVE_LIBUNWIND
	assert_int_equal(sink.sites, 40);
#endif
	{
		void *volatile block = malloc(10);

		free(block);
	}
#ifndef HEAP_IS_TAKEN
	assert_true(heap_calls > before); /* the counter counts */
#endif
}

static void facts_say_how_frames_were_read(void **state);
static char facts[512];

static void put(void *context, const char *key, const char *value)
{
	(void)context;
	strncat(facts, key, sizeof(facts) - strlen(facts) - 1);
	strncat(facts, "=", sizeof(facts) - strlen(facts) - 1);
	strncat(facts, value, sizeof(facts) - strlen(facts) - 1);
	strncat(facts, ";", sizeof(facts) - strlen(facts) - 1);
}

static void facts_say_how_frames_were_read(void **state)
{
	(void)state;
	begin(SITE_STACKS_ALL);
	facts[0] = '\0';
	site_capture_facts(put, NULL);
	assert_non_null(strstr(facts, "stacks.policy=all;"));
#if GPUTRACE_HAVE_LIBUNWIND
	assert_non_null(strstr(facts, "stacks.native=libunwind "));
#else
	assert_non_null(strstr(facts, "stacks.native=frame pointers;"));
#endif
	assert_null(strstr(facts, "python"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_start_with_the_caller),
		cmocka_unit_test(each_site_is_written_once),
		cmocka_unit_test(a_refused_site_is_written_by_the_next_event),
		cmocka_unit_test(kinds_that_matter_always_get_a_site),
		cmocka_unit_test(launches_get_one_on_first_sight_and_by_rate),
		cmocka_unit_test(off_costs_nothing_and_gives_nothing),
		cmocka_unit_test(words_of_the_option),
		cmocka_unit_test(errno_and_heap_are_left_alone),
		cmocka_unit_test(facts_say_how_frames_were_read),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
