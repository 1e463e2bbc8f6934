// SPDX-License-Identifier: Apache-2.0
/*
 * Events from constructors and destructors of libraries that several threads open and close all the
 * time, while others unwind and ask the loader: nothing may hang, and rules of a library that is
 * gone must not be used for the one in its place.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "site_cache.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS	150

__attribute__((visibility("default"))) int site_storm_event(int value);

static __thread struct site_cache_thread *me;
static _Atomic uint64_t events, wrong, truncated;
static _Atomic uint64_t given_up; /* another thread's walk took too long */
static char directory[4096];

__attribute__((noinline)) int site_storm_event(int value)
{
	struct site_native_request request = {.frame = __builtin_frame_address(0)};
	struct site_native_stack stack, *found;
	uint32_t cost_ns;
	void *reference[SITE_NATIVE_DEPTH];
	int count, first = 0;

	if (!me)
		me = mmap(NULL, site_cache_bytes(), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	found = site_cache_recognise(me, request.frame, 0);
	stack = *(found ? found : site_cache_unwind(me, &request, &cost_ns));
	atomic_fetch_add(&events, 1);
	count = backtrace(reference, SITE_NATIVE_DEPTH);
	while (first < count && reference[first] != __builtin_return_address(0))
		first++;
	for (uint32_t i = 0; i < stack.frame_count; i++) {
		if (first + (int)i >= count ||
		    (uintptr_t)reference[first + (int)i] != stack.frames[i]) {
			atomic_fetch_add(&wrong, 1);
			break;
		}
	}
	if (stack.is_truncated)
		atomic_fetch_add(stack.frame_count == 1 ? &given_up : &truncated, 1);
	return value + 1;
}

/* Frame pointers alone skip and miss frames; then only the end of the storm is tested. */
static bool is_exact(void)
{
	return strcmp(site_cache_engine(), "frame pointers") != 0;
}

static void *open_and_close(void *number)
{
	uint32_t state = (uint32_t)(uintptr_t)number * 2654435761u + 1;

	for (int round = 0; round < ROUNDS; round++) {
		char path[4200];
		void *library;
		int (*call)(int);

		state = state * 1664525u + 1013904223u;
		snprintf(path, sizeof(path), "%s/libsite_storm_%u.so", directory, state >> 16 & 3);
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!library) {
			atomic_fetch_add(&wrong, 1000000);
			return NULL;
		}
		call = (int (*)(int))(uintptr_t)dlsym(library, "site_storm_call");
		for (int depth = 0; call && depth < 4; depth++)
			call(depth);
		dlclose(library);
	}
	return NULL;
}

static int count_module(struct dl_phdr_info *info, size_t size, void *count)
{
	(void)info;
	(void)size;
	++*(int *)count;
	return 0;
}

static _Atomic int is_over;

static void *ask_the_loader(void *unused)
{
	(void)unused;
	while (!is_over) {
		int count = 0;

		dl_iterate_phdr(count_module, &count);
	}
	return NULL;
}

static void storm(void)
{
	pthread_t threads[THREADS], asking;

	events = wrong = truncated = given_up = 0;
	is_over = 0;
	alarm(100); /* a hang is a failure */
	assert_int_equal(pthread_create(&asking, NULL, ask_the_loader, NULL), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, (void *)i), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	is_over = 1;
	pthread_join(asking, NULL);
	alarm(0);
	if (is_exact())
		assert_int_equal(wrong, 0);
	assert_true(events >= THREADS * ROUNDS * 4);
}

static void events_in_constructors_neither_hang_nor_mix_up_libraries(void **state)
{
	(void)state;
	site_cache_attach(false);
	storm();
	if (is_exact())
		assert_int_equal(truncated, 0);
	if (is_exact())
		assert_true(given_up <= events / 100);
}

/* As on an older C library, whose modules are kept in a table: read again ten times a second, so
 * libraries that come and go faster end in a marker. */
static void with_a_table_of_modules_the_storm_ends_too(void **state)
{
	(void)state;
	site_cache_attach(true);
	storm();
	site_cache_attach(false);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_in_constructors_neither_hang_nor_mix_up_libraries),
		cmocka_unit_test(with_a_table_of_modules_the_storm_ends_too),
	};
	ssize_t length = readlink("/proc/self/exe", directory, sizeof(directory) - 1);
	char *slash;

	if (length <= 0)
		return 1;
	directory[length] = '\0';
	slash = strrchr(directory, '/');
	*slash = '\0';
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
