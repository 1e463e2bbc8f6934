/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays beyond the limit lie in files and hold what they held in memory.
 */
#include "unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "big_array.h"
#include "number_select.h"
#include "number_sort.h"
#include "run_sort.h"

#define MIB ((size_t)1 << 20)

/* The least limit: 6 MiB of it may lie in memory. */
static int set_limit(void **state)
{
	(void)state;
	big_array_set_limit(16 * MIB);
	return 0;
}

static int expect_no_files(void **state)
{
	(void)state;
	return big_array_file_bytes() != 0;
}

static uint64_t *grow_to(size_t count, size_t *capacity)
{
	uint64_t *items = NULL;

	*capacity = 0;
	for (size_t i = 0; i < count; i++) {
		if (i == *capacity)
			items = big_array_grow(items, capacity, sizeof(*items));
		items[i] = i * 3;
	}
	return items;
}

static void expect_items(const uint64_t *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (items[i] != i * 3)
			fail_msg("item %zu is %llu", i, (unsigned long long)items[i]);
	}
}

static void a_growing_array_moves_into_a_file_and_keeps_its_items(void **state)
{
	size_t capacity, count = 4 * MIB; /* 32 MiB */
	uint64_t *items = grow_to(count, &capacity);

	(void)state;
	assert_true(big_array_file_bytes() >= 32 * MIB);
	expect_items(items, count);
	items = big_array_trim(items, &capacity, count / 2, sizeof(*items));
	assert_int_equal(capacity, count / 2);
	expect_items(items, count / 2);
	big_array_free(items);
}

static void small_arrays_never_lie_in_files(void **state)
{
	size_t capacity;
	uint64_t *items = grow_to(1000, &capacity), *large = big_array_new(2 * MIB, 8);

	(void)state;
	assert_true(big_array_file_bytes() >= 16 * MIB);
	big_array_free(large);
	assert_int_equal(big_array_file_bytes(), 0);
	expect_items(items, 1000);
	big_array_free(items);
	big_array_free(NULL);
}

static void new_arrays_are_zeroed_wherever_they_lie(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		uint8_t *memory = big_array_new(4, MIB), *file = big_array_new(12, MIB);

		for (size_t at = 0; at < 12 * MIB; at += 509)
			assert_int_equal(file[at], 0);
		for (size_t at = 0; at < 4 * MIB; at += 509)
			assert_int_equal(memory[at], 0);
		memset(memory, 7, 4 * MIB);
		memset(file, 7, 12 * MIB);
		big_array_free(memory);
		big_array_free(file);
	}
}

/* Mapped pages of files, the program's own among them. */
static size_t resident_file_bytes(void)
{
	unsigned long size, resident, shared = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu %lu %lu", &size, &resident, &shared), 3);
	fclose(file);
	return shared * (size_t)sysconf(_SC_PAGESIZE);
}

static void what_lies_in_files_does_not_stay_resident(void **state)
{
	size_t capacity, most = 0, count = 16 * MIB; /* 128 MiB */
	uint64_t *items = grow_to(count, &capacity);

	(void)state;
	for (int round = 0; round < 4; round++) {
		expect_items(items, count);
		if (resident_file_bytes() > most)
			most = resident_file_bytes();
	}
	/* 128 MiB without relief; a tick of the clock may be long. */
	assert_true(most < 96 * MIB);
	big_array_free(items);
}

/* A limit on files says no as a full disk does. */
static void arrays_stay_in_memory_when_no_file_can_hold_them(void **state)
{
	struct rlimit before, none = {0, 0};
	size_t capacity, count = 4 * MIB;
	uint64_t *items;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	items = grow_to(count, &capacity);
	assert_int_equal(big_array_file_bytes(), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	expect_items(items, count);
	big_array_free(items);
}

static void a_file_that_cannot_grow_comes_back_into_memory(void **state)
{
	struct rlimit before, few = {24 * MIB, 0};
	size_t capacity, count = 8 * MIB;
	uint64_t *items;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	few.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
	items = grow_to(count, &capacity);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(big_array_file_bytes(), 0);
	expect_items(items, count);
	big_array_free(items);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct item {
	uint64_t key, place;
};

static int compare_items(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	return (a->key > b->key) - (a->key < b->key);
}

/* Chunks of one stream: each in order but for a few, each reaching into the one before. */
static void a_long_stream_of_overlapping_chunks_is_sorted_and_stable(void **state)
{
	size_t count = 600000, chunk = 20000;
	struct item *items = big_array_new(count, sizeof(*items));
	uint64_t random = 99;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		uint64_t stray = next_random(&random) % 350;

		items[i].key = 100 + i / chunk * 900 + i % chunk / 10;
		if (stray < 7)
			items[i].key -= stray;
		items[i].place = i;
	}
	run_sort(items, count, sizeof(*items), compare_items);
	for (size_t i = 1; i < count; i++) {
		if (items[i - 1].key > items[i].key ||
		    (items[i - 1].key == items[i].key && items[i - 1].place >= items[i].place))
			fail_msg("items %zu and %zu are in the wrong order", i - 1, i);
	}
	big_array_free(items);
}

static int compare_numbers(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void numbers_are_sorted_as_by_comparing_them(void **state)
{
	static const size_t counts[] = {0, 1, 2, 511, 512, 5000, 70000};
	uint64_t random = 3;

	(void)state;
	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		size_t count = counts[c];
		double *numbers = calloc(count + 1, sizeof(*numbers));
		double *expected = calloc(count + 1, sizeof(*expected));

		for (size_t i = 0; i < count; i++) {
			int64_t number = (int64_t)next_random(&random) >> next_random(&random) % 60;

			numbers[i] = (double)number / (c % 2 ? 1000.0 : 1.0);
		}
		memcpy(expected, numbers, count * sizeof(*numbers));
		qsort(expected, count, sizeof(*expected), compare_numbers);
		number_sort(numbers, count);
		for (size_t i = 0; i < count; i++)
			assert_true(numbers[i] == expected[i]);
		free(numbers);
		free(expected);
	}
}

static int compare_integers(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

static void a_number_is_found_by_its_rank(void **state)
{
	static const size_t counts[] = {1, 2, 3, 100, 5000};
	uint64_t random = 5;

	(void)state;
	for (size_t round = 0; round < 200; round++) {
		size_t count = counts[round % 5], rank = next_random(&random) % count;
		int64_t *numbers = calloc(count, sizeof(*numbers));
		int64_t *sorted = calloc(count, sizeof(*sorted));

		/* From all alike to all of 64 bits, of either sign. */
		for (size_t i = 0; i < count; i++)
			sorted[i] = numbers[i] =
				(int64_t)next_random(&random) >> (round % 2 ? round % 64 : 63);
		qsort(sorted, count, sizeof(*sorted), compare_integers);
		assert_int_equal(number_select(numbers, count, rank), sorted[rank]);
		free(numbers);
		free(sorted);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_growing_array_moves_into_a_file_and_keeps_its_items),
		cmocka_unit_test(small_arrays_never_lie_in_files),
		cmocka_unit_test(new_arrays_are_zeroed_wherever_they_lie),
		cmocka_unit_test(what_lies_in_files_does_not_stay_resident),
		cmocka_unit_test(arrays_stay_in_memory_when_no_file_can_hold_them),
		cmocka_unit_test(a_file_that_cannot_grow_comes_back_into_memory),
		cmocka_unit_test(a_long_stream_of_overlapping_chunks_is_sorted_and_stable),
		cmocka_unit_test(numbers_are_sorted_as_by_comparing_them),
		cmocka_unit_test(a_number_is_found_by_its_rank),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, set_limit, expect_no_files);
}
