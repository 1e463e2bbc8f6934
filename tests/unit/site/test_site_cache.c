// SPDX-License-Identifier: Apache-2.0
/*
 * Native stacks against the C library's own backtrace(): a random mix of frames made to deceive a
 * cache (variable frames, realigned frames, frame pointers, stale return addresses below), storms
 * of library constructors, of forks and of threads.
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
#include "site_modules.h"

#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#ifdef __clang__
#undef NOINLINE
#define NOINLINE __attribute__((noinline))
#endif

/* What one event saw. */
static struct {
	struct site_cache_thread *me;
	struct site_native_stack stack;
	bool was_recognised;
	void *reference[SITE_NATIVE_DEPTH + 8];
	int reference_count;
	bool wants_reference;
	uint64_t walks, wrong, truncated, recognised;
} seen;

static struct site_cache_thread *new_thread(void)
{
	void *memory = mmap(NULL, site_cache_bytes(), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(memory != MAP_FAILED);
	return memory;
}

/* Recognised or unwound. Returns whether it was recognised. */
static bool walk_as(struct site_cache_thread *me, const struct site_native_request *request,
		    struct site_native_stack *stack)
{
	struct site_native_stack *found =
		site_cache_recognise(me, request->frame, request->stop_begin);
	bool was_recognised = found != NULL;
	uint32_t cost_ns;

	if (!found)
		found = site_cache_unwind(me, request, &cost_ns);
	*stack = *found;
	return was_recognised;
}

static bool walk(struct site_cache_thread *me, const void *frame, struct site_native_stack *stack)
{
	struct site_native_request request = {.frame = frame};

	return walk_as(me, &request, stack);
}

/* Compares with backtrace(), which starts inside event(). */
static void compare(const void *caller)
{
	int first = 0;

	while (first < seen.reference_count && seen.reference[first] != caller)
		first++;
	assert_true(first < seen.reference_count);
	for (uint32_t i = 0; i < seen.stack.frame_count; i++) {
		if (first + (int)i >= seen.reference_count ||
		    (uintptr_t)seen.reference[first + (int)i] != seen.stack.frames[i]) {
			seen.wrong++;
			return;
		}
	}
	if (seen.stack.is_truncated)
		seen.truncated++;
	else if (seen.reference_count < SITE_NATIVE_DEPTH + 8 &&
		 seen.stack.frame_count != (uint32_t)(seen.reference_count - first))
		seen.wrong++;
}

/* Stands for an exported function of the shim. */
static NOINLINE int event(int value)
{
	seen.was_recognised = walk(seen.me, __builtin_frame_address(0), &seen.stack);
	seen.walks++;
	seen.recognised += seen.was_recognised;
	if (seen.wants_reference) {
		seen.reference_count = backtrace(seen.reference, SITE_NATIVE_DEPTH + 8);
		compare(__builtin_return_address(0));
	}
	return value + 1;
}

/* ---- frames of all kinds; each calls the next one that the script names ---- */

typedef int (*frame_function)(const uint8_t *script);
static int run(const uint8_t *script);
static volatile int sink;

static NOINLINE int frame_plain(const uint8_t *script)
{
	return run(script) + 1;
}

static NOINLINE int frame_large(const uint8_t *script)
{
	volatile char space[700];

	space[0] = 1;
	return run(script) + space[0];
}

/* A variable frame. The memory keeps what earlier calls left there: stale return addresses. */
static NOINLINE int frame_variable(const uint8_t *script)
{
	volatile char *space = __builtin_alloca((size_t)script[0] * 16 + 16);

	space[0] = 1;
	return run(script + 1) + space[0];
}

static NOINLINE int frame_aligned(const uint8_t *script)
{
	_Alignas(64) volatile char space[64];

	space[0] = 1;
	sink = (int)(uintptr_t)space;
	return run(script) + space[0];
}

static NOINLINE int frame_aligned_variable(const uint8_t *script)
{
	_Alignas(128) volatile char space[128];
	volatile char *more = __builtin_alloca((size_t)script[0] * 16 + 16);

	space[0] = more[0] = 1;
	return run(script + 1) + space[0];
}

static NOINLINE int frame_many_registers(const uint8_t *script)
{
	int a = sink & 255, b = a * 3, c = b ^ a, d = c + b, e = d * a, f = e - c;
	int below = run(script);

	return below + a + b + c + d + e + f - (a + b + c + d + e + f) + 1;
}

static NOINLINE int frame_twice(const uint8_t *script)
{
	int below = run(script);

	return below + event(below) - event(below);
}

static const frame_function functions[] = {
	frame_plain,	      frame_large, frame_variable, frame_aligned, frame_aligned_variable,
	frame_many_registers, frame_twice};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static NOINLINE int run(const uint8_t *script)
{
	if (script[0] >= FUNCTIONS)
		return event(0);
	return functions[script[0]](script + 1) + 1;
}

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % limit;
}

static void write_script(uint8_t *script, uint32_t length)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < length; i++) {
		uint8_t function = (uint8_t)random_below(FUNCTIONS);

		script[at++] = function;
		if (function == 2 || function == 4)
			script[at++] =
				(uint8_t)random_below(6); /* size; also where a name could be */
	}
	script[at] = 255;
}

static void run_scripts(uint32_t scripts, uint32_t rounds, uint32_t longest)
{
	static uint8_t script[256][128];

	memset(&seen.stack, 0, sizeof(seen.stack));
	seen.walks = seen.wrong = seen.truncated = seen.recognised = 0;
	for (uint32_t i = 0; i < scripts; i++)
		write_script(script[i], 1 + random_below(longest));
	for (uint32_t round = 0; round < rounds; round++)
		run(script[random_below(scripts)]);
}

static int set_up(void **state)
{
	(void)state;
	site_cache_attach(false);
	if (!seen.me)
		seen.me = new_thread();
	seen.wants_reference = true;
	return 0;
}

static void frames_equal_backtrace_in_a_mix_made_to_deceive(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++) {
		run_scripts(200, 3000, 12);
		assert_int_equal(seen.wrong, 0);
		assert_int_equal(seen.truncated, 0);
		assert_true(seen.walks >= 3000);
		assert_true(seen.recognised > seen.walks / 4); /* the cache is what is tried */
	}
}

/* The same frame address, return address and depth; only the middle differs. */
static NOINLINE int middle_a(int value)
{
	volatile char *space = __builtin_alloca(64);

	space[0] = 1;
	return event(value) + space[0];
}

static NOINLINE int through(int value, size_t size_bytes)
{
	volatile char *space = __builtin_alloca(size_bytes);

	space[0] = 1;
	return middle_a(value) + space[0];
}

static NOINLINE int outer_one(int value, size_t size_bytes)
{
	return through(value, size_bytes) + 1;
}

static NOINLINE int outer_two(int value, size_t size_bytes)
{
	volatile char space[160];

	space[0] = 1;
	return through(value, size_bytes) + space[0];
}

static void stacks_that_differ_only_in_a_middle_frame_are_told_apart(void **state)
{
	(void)state;
	seen.wrong = seen.walks = 0;
	for (size_t round = 0; round < 3000; round++) {
		outer_one(1, 16 + 16 * (round % 12));
		outer_two(1, 16 + 16 * (round * 7 % 12));
	}
	assert_int_equal(seen.wrong, 0);
	assert_int_equal(seen.walks, 6000);
}

static void a_known_stack_is_recognised_without_unwinding(void **state)
{
	uint64_t first = 0;

	(void)state;
	seen.wants_reference = false;
	for (sink = 0; sink < 3; sink++) {
		outer_one(1, 16);
		if (sink == 0)
			first = seen.stack.hash;
		assert_int_equal(seen.stack.hash, first);
		assert_int_equal(seen.was_recognised, sink > 0);
	}
}

static NOINLINE int deep(int depth)
{
	int below = depth == 0 ? event(0) : deep(depth - 1);

	__asm__ volatile("" : "+r"(below)); /* keeps the recursion from becoming a loop */
	return below + 1;
}

static void depth_is_bounded_and_marked(void **state)
{
	(void)state;
	deep(200);
	assert_int_equal(seen.stack.frame_count, SITE_NATIVE_DEPTH);
	assert_true(seen.stack.is_truncated);
	deep(3);
	assert_false(seen.stack.is_truncated);
}

/* ---- code without unwind data ---- */

static void jit_code_ends_in_a_marker(void **state)
{
#if defined(__x86_64__)
	/* sub rsp, 40; mov rax, rdi; mov edi, 1; call rax; add rsp, 40; ret */
	static const uint8_t code[] = {0x48, 0x83, 0xec, 0x28, 0x48, 0x89, 0xf8, 0xbf, 0x01, 0x00,
				       0x00, 0x00, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x28, 0xc3};
#elif defined(__aarch64__)
	/* stp x29, x30, [sp, #-16]!; mov x1, x0; mov w0, #1; blr x1; ldp x29, x30, [sp], #16; ret
	 */
	static const uint32_t code[] = {0xa9bf7bfd, 0xaa0003e1, 0x52800020,
					0xd63f0020, 0xa8c17bfd, 0xd65f03c0};
#endif
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(page != MAP_FAILED);
	memcpy(page, code, sizeof(code));
	assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
	__builtin___clear_cache((char *)page, (char *)page + sizeof(code));
	seen.wants_reference = false;
	((void (*)(int (*)(int)))(uintptr_t)page)(event);
	assert_true(seen.stack.is_truncated);
	assert_int_equal(seen.stack.frame_count, 1);
	assert_true(seen.stack.frames[0] - (uintptr_t)page < sizeof(code));
	munmap(page, 4096);
}

static void handler(int signal_number)
{
	(void)signal_number;
	event(0);
}

static void a_walk_from_a_signal_handler_returns(void **state)
{
	(void)state;
	seen.wants_reference = false;
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	/* Elsewhere the kernel's trampoline may lack unwind data; then the walk ends there. */
#if defined(__x86_64__)
	assert_true(seen.stack.frame_count > 2);
#else
	assert_true(seen.stack.frame_count > 2 || seen.stack.is_truncated);
#endif
	signal(SIGUSR1, SIG_DFL);
}

/* ---- as on a C library before 2.35 ---- */

static void the_own_table_of_modules_gives_the_same_frames(void **state)
{
	(void)state;
	site_cache_attach(true);
	memset(seen.me, 0, site_cache_bytes());
	run_scripts(100, 3000, 12);
	assert_int_equal(seen.wrong, 0);
	assert_int_equal(seen.truncated, 0);
	site_cache_attach(false);
}

static void unwinding_is_bounded_in_time(void **state)
{
	struct site_native_stack stack;
	uint64_t unwound = 0;

	(void)state;
	memset(seen.me, 0, site_cache_bytes());
	for (uint64_t i = 0; i < 200000; i++) {
		struct site_native_request request = {.frame = __builtin_frame_address(0),
						      .now_ticks = i * 1000, /* a new one each us */
						      .ticks_per_us = 1000};

		request.stop_begin = i + 1; /* never the same stack as before */
		walk_as(seen.me, &request, &stack);
		unwound += stack.frame_count > 1;
	}
	/* 0.2 s of burst and two percent of 0.2 s, at some 5 us each. */
	assert_in_range(unwound, 10000, 100000);
}

/* ---- without libunwind ---- */

static void frame_pointers_lead_to_the_callers(void **state)
{
	uintptr_t begin = (uintptr_t)deep, here = (uintptr_t)frame_pointers_lead_to_the_callers;
	uint32_t inside = 0;

	(void)state;
	seen.wants_reference = false;
	deep(5);
	for (uint32_t i = 0; i < 6; i++)
		inside += seen.stack.frames[i] - begin < 200;
	assert_int_equal(inside, 6);
	assert_true(seen.stack.frames[6] - here < 400);
	/* The C library has no frame pointers, so the walk does not claim to have seen all. */
	assert_true(seen.stack.is_truncated);
}

/* This file is built with frame pointers then; what they cannot do is not asked of them. */
static int run_without_libunwind(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frame_pointers_lead_to_the_callers, set_up),
		cmocka_unit_test_setup(jit_code_ends_in_a_marker, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frames_equal_backtrace_in_a_mix_made_to_deceive, set_up),
		cmocka_unit_test_setup(stacks_that_differ_only_in_a_middle_frame_are_told_apart,
				       set_up),
		cmocka_unit_test_setup(a_known_stack_is_recognised_without_unwinding, set_up),
		cmocka_unit_test_setup(depth_is_bounded_and_marked, set_up),
		cmocka_unit_test_setup(jit_code_ends_in_a_marker, set_up),
		cmocka_unit_test_setup(a_walk_from_a_signal_handler_returns, set_up),
		cmocka_unit_test_setup(the_own_table_of_modules_gives_the_same_frames, set_up),
		cmocka_unit_test_setup(unwinding_is_bounded_in_time, set_up),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	if (strcmp(site_cache_engine(), "frame pointers") == 0)
		return run_without_libunwind();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
