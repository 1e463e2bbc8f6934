// SPDX-License-Identifier: Apache-2.0
/*
 * Many threads that unwind at once, and forks in the middle of their walks.
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

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct site_cache_thread *new_thread(void)
{
	void *memory = mmap(NULL, site_cache_bytes(), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(memory != MAP_FAILED);
	return memory;
}

static void walk_as(struct site_cache_thread *me, const struct site_native_request *request,
		    struct site_native_stack *stack)
{
	struct site_native_stack *found =
		site_cache_recognise(me, request->frame, request->stop_begin);
	uint32_t cost_ns;

	*stack = *(found ? found : site_cache_unwind(me, request, &cost_ns));
}

static void walk(struct site_cache_thread *me, const void *frame, struct site_native_stack *stack)
{
	struct site_native_request request = {.frame = frame};

	walk_as(me, &request, stack);
}

static void *walk_on_thread(void *unused)
{
	struct site_cache_thread *me = new_thread();
	struct site_native_stack stack;
	uint64_t first = 0, differing = 0;

	(void)unused;
	for (int i = 0; i < 2000; i++) {
		struct site_native_request request = {.frame = __builtin_frame_address(0)};

		walk_as(me, &request, &stack);
		if (stack.frame_count > 1) { /* 1: gave up waiting for another thread's walk */
			if (first == 0)
				first = stack.hash;
			differing += stack.hash != first;
		}
		if (i % 50 == 0) /* forget everything: all threads unwind at once */
			memset(me, 0, site_cache_bytes());
	}
	munmap(me, site_cache_bytes());
	return (void *)(uintptr_t)differing;
}

static void threads_that_unwind_at_once_agree_with_themselves(void **state)
{
	pthread_t threads[8];

	(void)state;
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, walk_on_thread, NULL), 0);
	for (size_t i = 0; i < 8; i++) {
		void *differing;

		pthread_join(threads[i], &differing);
		assert_null(differing);
	}
}

static bool is_exact; /* frame pointers alone never are */
static _Atomic int storm_is_over;

static void *walk_until_over(void *unused)
{
	struct site_cache_thread *me = new_thread();

	(void)unused;
	while (!storm_is_over) {
		struct site_native_stack stack;

		walk(me, __builtin_frame_address(0), &stack);
		memset(me, 0, site_cache_bytes());
	}
	return NULL;
}

/* Children are made while other threads are in the middle of a walk; each must be able to walk. */
static void a_storm_of_forks_ends(void **state)
{
	struct site_cache_thread *me = new_thread();
	pthread_t threads[3];
	int failed = 0;

	(void)state;
	storm_is_over = 0;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, walk_until_over, NULL), 0);
	for (int i = 0; i < 300; i++) {
		pid_t child = fork();
		int status = -1;

		assert_true(child >= 0);
		if (child == 0) {
			struct site_native_stack stack;

			alarm(10);
			site_cache_after_fork();
			memset(me, 0, site_cache_bytes());
			walk(me, __builtin_frame_address(0), &stack);
			_exit(stack.frame_count >= 1 && stack.is_truncated == !is_exact ? 0 : 1);
		}
		waitpid(child, &status, 0);
		failed += status != 0;
	}
	storm_is_over = 1;
	for (size_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_unwind_at_once_agree_with_themselves),
		cmocka_unit_test(a_storm_of_forks_ends),
	};

	site_cache_attach(false);
	is_exact = strcmp(site_cache_engine(), "frame pointers") != 0;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
