/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what kind of memory an address is. */
#include "../../../shim/pointers.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../../collector/format/record.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static const void *at(uint64_t address)
{
	return (const void *)(uintptr_t)address;
}

static void every_byte_inside_has_the_kind(void **state)
{
	(void)state;
	uint64_t base = 0x7f0000000000;
	pointers_add(at(base), 10 * MIB + 100, MEMORY_PINNED);
	assert_int_equal(pointers_kind(at(base)), MEMORY_PINNED);
	assert_int_equal(pointers_kind(at(base + 5 * MIB + 12345)), MEMORY_PINNED);
	assert_int_equal(pointers_kind(at(base + 10 * MIB + 99)), MEMORY_PINNED);
	assert_int_equal(pointers_kind(at(base - 1)), MEMORY_UNKNOWN);
	assert_int_equal(pointers_kind(at(base + 10 * MIB + 8 * KIB)), MEMORY_UNKNOWN);
	pointers_remove(at(base));
	for (uint64_t offset = 0; offset < 11 * MIB; offset += 4 * KIB)
		assert_int_equal(pointers_kind(at(base + offset)), MEMORY_UNKNOWN);
}

static void neighbours_on_one_page_end_separately(void **state)
{
	(void)state;
	uint64_t base = 0x7f1000000000;
	pointers_add(at(base), 256, MEMORY_DEVICE);
	pointers_add(at(base + 256), 256, MEMORY_DEVICE);
	pointers_remove(at(base));
	assert_int_equal(pointers_kind(at(base + 300)), MEMORY_DEVICE);
	pointers_remove(at(base + 256));
	assert_int_equal(pointers_kind(at(base + 300)), MEMORY_UNKNOWN);
}

static void a_small_part_of_a_large_block_can_change(void **state)
{
	(void)state;
	uint64_t base = 0x7f2000000000;
	pointers_add(at(base), 8 * MIB, MEMORY_DEVICE);
	pointers_remove(at(base));
	pointers_add(at(base + 2 * MIB), 4 * KIB, MEMORY_PINNED);
	assert_int_equal(pointers_kind(at(base + 2 * MIB + 10)), MEMORY_PINNED);
	assert_int_equal(pointers_kind(at(base + 2 * MIB + 4 * KIB)), MEMORY_UNKNOWN);
	pointers_add(at(base), 8 * MIB, MEMORY_MANAGED);
	assert_int_equal(pointers_kind(at(base + 7 * MIB)), MEMORY_MANAGED);
	pointers_remove(at(base));
	assert_int_equal(pointers_kind(at(base + 7 * MIB)), MEMORY_UNKNOWN);
	pointers_remove(at(base + 2 * MIB));
}

static void the_same_address_again_replaces(void **state)
{
	(void)state;
	uint64_t base = 0x7f3000000000;
	/* Driver and runtime report one allocation each. */
	pointers_add(at(base), 1 * MIB, MEMORY_DEVICE);
	pointers_add(at(base), 1 * MIB, MEMORY_DEVICE);
	pointers_remove(at(base));
	assert_int_equal(pointers_kind(at(base)), MEMORY_UNKNOWN);
	pointers_add(at(base), 64 * KIB, MEMORY_DEVICE);
	pointers_add(at(base), 4 * KIB, MEMORY_PINNED);
	assert_int_equal(pointers_kind(at(base + 8 * KIB)), MEMORY_UNKNOWN);
	pointers_remove(at(base));
}

static void very_large_allocations_are_cheap(void **state)
{
	(void)state;
	uint64_t base = 0x7e0000000000;
	for (int i = 0; i < 20; i++) {
		pointers_add(at(base), 80 * GIB, MEMORY_DEVICE);
		assert_int_equal(pointers_kind(at(base + 79 * GIB + 12345)), MEMORY_DEVICE);
		pointers_remove(at(base));
	}
	assert_int_equal(pointers_kind(at(base + 79 * GIB)), MEMORY_UNKNOWN);
}

static void unknown_addresses_do_no_harm(void **state)
{
	(void)state;
	pointers_remove(at(0));
	pointers_remove(at(0x1234));
	pointers_remove(at(UINT64_MAX));
	assert_int_equal(pointers_kind(at(0)), MEMORY_UNKNOWN);
	assert_int_equal(pointers_kind(at(UINT64_MAX)), MEMORY_UNKNOWN);
	assert_true(pointers_complete());
	/* Nothing that can be kept: from now on unknown memory is not called pageable. */
	pointers_add(at(1ull << 50), MIB, MEMORY_PINNED);
	assert_false(pointers_complete());
}

static void all_can_be_forgotten(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 5000; i++)
		pointers_add(at(0x100000000000 + i * 64 * KIB), 64 * KIB, MEMORY_DEVICE);
	assert_int_equal(pointers_kind(at(0x100000000000 + 5000 * 64 * KIB)), MEMORY_DEVICE);
	pointers_remove_all();
	for (uint64_t i = 1; i <= 5000; i++)
		assert_int_equal(pointers_kind(at(0x100000000000 + i * 64 * KIB)), MEMORY_UNKNOWN);
}

static void *churn(void *argument)
{
	uint64_t base = 0x200000000000 + (uint64_t)(uintptr_t)argument * 64 * MIB;
	for (uint64_t round = 0; round < 300; round++) {
		for (uint64_t i = 0; i < 64; i++)
			pointers_add(at(base + i * 70000), 60000, MEMORY_DEVICE);
		for (uint64_t i = 0; i < 64; i++) {
			if (pointers_kind(at(base + i * 70000 + 30000)) != MEMORY_DEVICE)
				return (void *)1;
		}
		for (uint64_t i = 0; i < 64; i++)
			pointers_remove(at(base + i * 70000));
	}
	return pointers_kind(at(base)) == MEMORY_UNKNOWN ? NULL : (void *)1;
}

static void threads_do_not_disturb_each_other(void **state)
{
	(void)state;
	pthread_t threads[4];
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, churn, (void *)i);
	for (int i = 0; i < 4; i++) {
		void *result;
		pthread_join(threads[i], &result);
		assert_null(result);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_inside_has_the_kind),
		cmocka_unit_test(neighbours_on_one_page_end_separately),
		cmocka_unit_test(a_small_part_of_a_large_block_can_change),
		cmocka_unit_test(the_same_address_again_replaces),
		cmocka_unit_test(very_large_allocations_are_cheap),
		cmocka_unit_test(threads_do_not_disturb_each_other),
		cmocka_unit_test(all_can_be_forgotten),
		cmocka_unit_test(unknown_addresses_do_no_harm),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
