/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers one after the other take four bytes each; numbers from anywhere are found too and do not
 * take a page each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "number_map.h"

static uint64_t scattered(uint64_t number)
{
	return number * 0x9e3779b97f4a7c15u;
}

static void numbers_are_found_with_their_values_only(void **state)
{
	struct number_map map;

	(void)state;
	number_map_init(&map);
	assert_int_equal(number_map_get(&map, 7), 0);
	number_map_set(&map, 7, 70);
	number_map_set(&map, UINT64_MAX, 1);
	number_map_set(&map, 0, UINT32_MAX);
	assert_int_equal(number_map_get(&map, 7), 70);
	assert_int_equal(number_map_get(&map, UINT64_MAX), 1);
	assert_int_equal(number_map_get(&map, 0), UINT32_MAX);
	/* In their pages, and beside them. */
	assert_int_equal(number_map_get(&map, 8), 0);
	assert_int_equal(number_map_get(&map, UINT64_MAX - 1), 0);
	assert_int_equal(number_map_get(&map, NUMBER_MAP_PAGE), 0);
	number_map_set(&map, 7, 71);
	assert_int_equal(number_map_get(&map, 7), 71);
	assert_int_equal(map.count, 3);
	number_map_fini(&map);
}

static void numbers_in_order_fill_their_pages(void **state)
{
	const uint64_t count = 500000, first = 5000000000u;
	struct number_map map;

	(void)state;
	number_map_init(&map);
	for (uint64_t i = 0; i < count; i++)
		number_map_set(&map, first + i, (uint32_t)i + 1);
	for (uint64_t i = count; i-- > 0;) {
		if (number_map_get(&map, first + i) != i + 1)
			fail_msg("number %llu", (unsigned long long)i);
	}
	assert_int_equal(map.count, count);
	assert_int_equal(map.strays.count, 0);
	assert_true(map.page_count <= count / NUMBER_MAP_PAGE + 2);
	number_map_fini(&map);
}

static void scattered_numbers_take_no_page_each(void **state)
{
	const uint32_t count = 40000;
	struct number_map map;

	(void)state;
	number_map_init(&map);
	for (uint32_t i = 1; i <= count; i++)
		number_map_set(&map, scattered(i), i);
	for (uint32_t i = 1; i <= count; i++) {
		if (number_map_get(&map, scattered(i)) != i)
			fail_msg("number %u", i);
	}
	assert_true(map.page_count < 2000);
	assert_int_equal(map.count + map.strays.count, count);
	/* Numbers in order still get pages, once there are enough of them. */
	for (uint32_t i = 1; i <= 64 * count; i++)
		number_map_set(&map, i, i);
	for (uint32_t i = 1; i <= count; i++) {
		number_map_set(&map, scattered(i), i + 1);
		if (number_map_get(&map, scattered(i)) != i + 1 ||
		    number_map_get(&map, (uint64_t)i * 64) != i * 64)
			fail_msg("number %u after the others", i);
	}
	number_map_fini(&map);
}

static void a_stray_number_stays_one_when_its_page_is_made(void **state)
{
	struct number_map map;
	const uint64_t stray = 3ull << 40;

	(void)state;
	number_map_init(&map);
	for (uint32_t i = 1; i <= 20000; i++)
		number_map_set(&map, scattered(i), i);
	number_map_set(&map, stray, 5);
	assert_int_equal(*map_find(&map.strays, stray), 5);
	/* Numbers fill the first pages, in which scattered ones lie, and then its neighbour comes.
	 */
	for (uint32_t i = 1; map.count / (NUMBER_MAP_PAGE / 16) < map.page_count; i++) {
		uint64_t page = scattered(i % 1000 + 1) / NUMBER_MAP_PAGE * NUMBER_MAP_PAGE;

		number_map_set(&map, page + i / 1000, 1);
	}
	number_map_set(&map, stray + 1, 6);
	assert_null(map_find(&map.strays, stray + 1));
	assert_int_equal(number_map_get(&map, stray), 5);
	number_map_set(&map, stray, 8);
	assert_int_equal(number_map_get(&map, stray), 8);
	assert_int_equal(number_map_get(&map, stray + 1), 6);
	number_map_fini(&map);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_found_with_their_values_only),
		cmocka_unit_test(numbers_in_order_fill_their_pages),
		cmocka_unit_test(scattered_numbers_take_no_page_each),
		cmocka_unit_test(a_stray_number_stays_one_when_its_page_is_made),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
