/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helpers of collector/base that the model leans on: map, sort of runs, growing text.
 */
#include "unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "run_sort.h"
#include "text.h"

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct item {
	int32_t key;
	uint32_t place;
};

static int compare_items(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	return (a->key > b->key) - (a->key < b->key);
}

static void any_mix_of_runs_comes_out_sorted_and_stable(void **state)
{
	uint64_t random = 42;

	(void)state;
	for (size_t count = 0; count < 300; count++) {
		struct item *items = calloc(count + 1, sizeof(*items));
		int32_t key = 0;

		for (size_t i = 0; i < count; i++) {
			/* Runs of random length, with equal keys among them. */
			if (next_random(&random) % 9 == 0)
				key = (int32_t)(next_random(&random) % 50);
			key += (int32_t)(next_random(&random) % 2);
			items[i] = (struct item){key, (uint32_t)i};
		}
		run_sort(items, count, sizeof(*items), compare_items);
		for (size_t i = 1; i < count; i++) {
			assert_true(items[i - 1].key <= items[i].key);
			if (items[i - 1].key == items[i].key)
				assert_true(items[i - 1].place < items[i].place);
		}
		free(items);
	}
}

static void a_descending_array_is_sorted_too(void **state)
{
	struct item items[100];

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		items[i] = (struct item){100 - (int32_t)i, i};
	run_sort(items, 100, sizeof(*items), compare_items);
	for (int32_t i = 0; i < 100; i++)
		assert_int_equal(items[i].key, i + 1);
}

/* The map against a plain array of what must be in it. */
static void a_map_keeps_what_was_put_in_through_removals(void **state)
{
	enum { KEYS = 500 };
	uint64_t random = 7, values[KEYS] = {0};
	bool is_in[KEYS] = {false};
	struct map map;
	size_t count = 0;

	(void)state;
	map_init(&map);
	for (int i = 0; i < 20000; i++) {
		uint64_t key = next_random(&random) % KEYS;
		uint64_t removed = 0;
		bool is_new;

		if (next_random(&random) % 2) {
			*map_slot(&map, key, &is_new) = (uint64_t)i;
			assert_int_equal(is_new, !is_in[key]);
			count += is_new;
			is_in[key] = true;
			values[key] = (uint64_t)i;
		} else {
			assert_int_equal(map_remove(&map, key, &removed), is_in[key]);
			if (is_in[key])
				assert_int_equal(removed, values[key]);
			count -= is_in[key];
			is_in[key] = false;
		}
		assert_int_equal(map.count, count);
	}
	for (uint64_t key = 0; key < KEYS; key++) {
		const uint64_t *found = map_find(&map, key);

		assert_int_equal(found != NULL, is_in[key]);
		if (found)
			assert_int_equal(*found, values[key]);
	}
	map_fini(&map);
}

static void an_empty_map_has_nothing_to_find_or_remove(void **state)
{
	struct map map;

	(void)state;
	map_init(&map);
	assert_null(map_find(&map, 0));
	assert_false(map_remove(&map, 0, NULL));
	map_fini(&map);
}

static void a_noun_goes_with_its_count_as_printed(void **state)
{
	(void)state;
	assert_string_equal(text_noun(1, "copy", "copies"), "copy");
	assert_string_equal(text_noun(1.00001, "copy", "copies"), "copy"); /* printed as 1 */
	assert_string_equal(text_count(1.00001).text, "1");
	assert_string_equal(text_count(0.9639).text, "0.964");
	assert_string_equal(text_count(999.7).text, "1000");
	assert_string_equal(text_count(120510).text, "120510");
	assert_string_equal(text_noun(0, "copy", "copies"), "copies");
	assert_string_equal(text_noun(1.5, "copy", "copies"), "copies");
	assert_string_equal(text_noun(1e300, "copy", "copies"), "copies");
}

static void text_grows_and_is_taken(void **state)
{
	struct text text;
	char *taken;

	(void)state;
	text_init(&text);
	assert_string_equal(text_string(&text), "");
	for (int i = 0; i < 1000; i++)
		text_addf(&text, "%d,", i);
	assert_int_equal(text.length, strlen(text_string(&text)));
	assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4);
	taken = text_take(&text);
	assert_memory_equal(taken, "0,1,2,", 6);
	assert_string_equal(text_string(&text), "");
	free(taken);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_mix_of_runs_comes_out_sorted_and_stable),
		cmocka_unit_test(a_descending_array_is_sorted_too),
		cmocka_unit_test(a_map_keeps_what_was_put_in_through_removals),
		cmocka_unit_test(an_empty_map_has_nothing_to_find_or_remove),
		cmocka_unit_test(a_noun_goes_with_its_count_as_printed),
		cmocka_unit_test(text_grows_and_is_taken),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
