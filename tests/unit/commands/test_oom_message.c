/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of every release are read by their words, and judged by their numbers.
 */
#include <string.h>

#include "oom_message.h"
#include "unit_test.h"

#define GIB 1073741824.0

static struct oom_messages read_messages(const char *text)
{
	struct oom_messages messages;

	oom_messages_read(text, &messages);
	return messages;
}

static const struct {
	const char *release, *text;
	enum memory_verdict verdict;
	double wanted_gib, capacity_gib, free_gib, allocated_gib, reserved_gib; /* < 0: not told */
	bool is_expandable_enough;
} cases[] = {
	{"1.3, cached",
	 "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 1; 11.00 GiB total "
	 "capacity; 6.00 GiB already allocated; 512.00 MiB free; 10.00 GiB cached)",
	 MEMORY_FRAGMENTED, 2, 11, 0.5, 6, 10, true},
	{"2.0, beyond the card",
	 "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB (GPU 0; "
	 "8.00 GiB total capacity; 3.00 GiB already allocated; 0 bytes free; 4.00 GiB reserved in "
	 "total by PyTorch) If reserved memory is >> allocated memory try setting "
	 "max_split_size_mb to avoid fragmentation.",
	 MEMORY_TOO_LARGE, 20, 8, 0, 3, 4, false},
	{"2.1, capacty",
	 "CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacty of 6.00 GiB of "
	 "which 0 bytes is free. Of the allocated memory 2.50 GiB is allocated by PyTorch, and "
	 "2.50 GiB is reserved by PyTorch but unallocated.",
	 MEMORY_FRAGMENTED, 1, 6, 0, 2.5, 5, true},
	{"2.5, full",
	 "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 80.00 GiB "
	 "of which 1.00 GiB is free. Including non-PyTorch memory, this process has 79.00 GiB "
	 "memory in use. Of the allocated memory 77.00 GiB is allocated by PyTorch, and 512.00 MiB "
	 "is reserved by PyTorch but unallocated.",
	 MEMORY_FULL, 2, 80, 1, 77, 77.5, false},
	{"2.5, full, but it would have passed",
	 "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 80.00 GiB "
	 "of which 1.50 GiB is free. Including non-PyTorch memory, this process has 78.50 GiB "
	 "memory in use. Of the allocated memory 77.00 GiB is allocated by PyTorch, and 1.00 GiB "
	 "is reserved by PyTorch but unallocated.",
	 MEMORY_FULL, 2, 80, 1.5, 77, 78, true},
	{"2.5, somebody else",
	 "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 80.00 GiB "
	 "of which 1.00 GiB is free. Process 7 has 40.00 GiB memory in use. Including non-PyTorch "
	 "memory, this process has 39.00 GiB memory in use. Of the allocated memory 38.00 GiB is "
	 "allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.",
	 MEMORY_OTHERS_HOLD, 2, 80, 1, 38, 38 + 100 / 1024.0, false},
	{"2.5, somebody else, and fragmented less than was asked for",
	 "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 80.00 GiB "
	 "of which 5.00 GiB is free. Process 7 has 38.00 GiB memory in use. Including non-PyTorch "
	 "memory, this process has 37.00 GiB memory in use. Of the allocated memory 25.00 GiB is "
	 "allocated by PyTorch, and 10.00 GiB is reserved by PyTorch but unallocated.",
	 MEMORY_OTHERS_HOLD, 20, 80, 5, 25, 35, false},
	{"2.5, private pools alone",
	 "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 80.00 GiB "
	 "of which 1.00 GiB is free. Including non-PyTorch memory, this process has 79.00 GiB "
	 "memory in use. Of the allocated memory 77.00 GiB is allocated by PyTorch, with 30.00 GiB "
	 "allocated in private pools (e.g., CUDA Graphs).",
	 MEMORY_OUTSIDE, 2, 80, 1, 77, -1, false},
};

static void assert_gib(const char *release, const char *name, double expected, uint64_t bytes)
{
	double got = bytes == MEMORY_NOT_TOLD ? -1 : (double)bytes / GIB;

	if (got < expected - 1e-6 || got > expected + 1e-6)
		fail_msg("%s: %s is %f GiB, not %f", release, name, got, expected);
}

static void every_wording_is_read_and_judged(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct oom_messages messages = read_messages(cases[i].text);
		const struct memory_shortage *s;

		assert_int_equal(messages.count, 1);
		s = &messages.items[0].shortage;
		assert_gib(cases[i].release, "request", cases[i].wanted_gib, s->wanted_bytes);
		assert_gib(cases[i].release, "capacity", cases[i].capacity_gib, s->capacity_bytes);
		assert_gib(cases[i].release, "free", cases[i].free_gib, s->device_free_bytes);
		assert_gib(cases[i].release, "allocated", cases[i].allocated_gib,
			   s->allocated_bytes);
		assert_gib(cases[i].release, "reserved", cases[i].reserved_gib, s->reserved_bytes);
		if (messages.items[0].judgement.verdict != cases[i].verdict)
			fail_msg("%s: %s", cases[i].release,
				 memory_verdict_name(messages.items[0].judgement.verdict));
		assert_int_equal(messages.items[0].judgement.is_compact_enough,
				 cases[i].is_expandable_enough);
		oom_messages_free(&messages);
	}
}

static void ranks_and_lines_are_told_apart(void **state)
{
	struct oom_messages messages = read_messages(
		"[rank0]:[rank0]: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a "
		"total capacity of 80.00 GiB of which 0 bytes is free.\n"
		"step 3\n"
		"[rank: 1] CUDA out of memory. Tried to allocate 1.00 GiB. GPU 1 has a total "
		"capacity of 80.00 GiB of which 0 bytes is free.\n"
		"[2]:\n  rank      : 12 (local_rank: 2)\n  CUDA out of memory. Tried to allocate "
		"1.00 GiB. GPU 2 has a total capacity of 80.00 GiB of which 0 bytes is free.\n"
		"  CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of "
		"80.00 GiB of which 0 bytes is free.\n");

	(void)state;
	assert_int_equal(messages.count, 3);
	assert_int_equal(messages.items[0].rank, 0);
	assert_int_equal(messages.items[0].line, 1);
	assert_int_equal(messages.items[0].repeated, 1); /* the launcher repeats it */
	assert_int_equal(messages.items[1].rank, 1);
	assert_int_equal(messages.items[1].gpu, 1);
	assert_int_equal(messages.items[1].line, 3);
	assert_int_equal(messages.items[2].rank, 12);
	oom_messages_free(&messages);
}

static void a_process_that_fills_the_card_is_this_one(void **state)
{
	struct oom_messages messages = read_messages(
		"CUDA out of memory. Tried to allocate 158.00 MiB. GPU 0 has a total capacity of "
		"23.69 GiB of which 115.69 MiB is free. Process 21422 has 23.57 GiB memory in use. "
		"Of the allocated memory 22.14 GiB is allocated by PyTorch, and 910.35 MiB is "
		"reserved by PyTorch but unallocated.");

	(void)state;
	assert_int_equal(messages.count, 1);
	assert_int_equal(messages.items[0].process_count, 1);
	assert_int_equal(messages.items[0].processes[0].pid, 21422);
	assert_true(messages.items[0].processes[0].is_own);
	assert_false(messages.items[0].judgement.is_foreign);
	assert_int_equal(messages.items[0].judgement.verdict, MEMORY_FRAGMENTED);
	oom_messages_free(&messages);
}

static void a_limit_of_the_program_accuses_nobody(void **state)
{
	struct oom_messages messages = read_messages(
		"CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of "
		"80.00 GiB of which 60.00 GiB is free. 20.00 GiB allowed; Of the allocated memory "
		"19.50 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but "
		"unallocated.");

	(void)state;
	assert_int_equal(messages.count, 1);
	assert_gib("limit", "allowed", 20, messages.items[0].allowed_bytes);
	assert_int_equal(messages.items[0].judgement.verdict, MEMORY_FULL);
	oom_messages_free(&messages);
}

static void bad_texts_give_no_numbers(void **state)
{
	static const char *const texts[] = {
		"",
		"out of memory",
		"CUDA out of memory. Tried to allocate",
		"ut of memory",
		"CUDA out of memory. Tried to allocate 1e999 GiB",
		"CUDA out of memory. Tried to allocate -3 GiB",
		"out of memory. Tried to allocate 99999999999999999999 TiB (GPU ",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct oom_messages messages = read_messages(texts[i]);

		assert_int_equal(messages.count, 0);
		oom_messages_free(&messages);
	}
}

static void a_size_alone_is_not_judged(void **state)
{
	struct oom_messages messages =
		read_messages("CUDA out of memory. Tried to allocate 3.00 GiB");

	(void)state;
	assert_int_equal(messages.count, 1);
	assert_int_equal(messages.items[0].judgement.verdict, MEMORY_NOT_JUDGED);
	assert_non_null(messages.items[0].judgement.reason);
	oom_messages_free(&messages);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_wording_is_read_and_judged),
		cmocka_unit_test(ranks_and_lines_are_told_apart),
		cmocka_unit_test(a_process_that_fills_the_card_is_this_one),
		cmocka_unit_test(a_limit_of_the_program_accuses_nobody),
		cmocka_unit_test(bad_texts_give_no_numbers),
		cmocka_unit_test(a_size_alone_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
