// SPDX-License-Identifier: Apache-2.0
/* The set of written numbers: once each, again after a refusal, bounded when full, from threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "site_set.h"

#include <pthread.h>

#define CAPACITY 1024

static _Atomic uint64_t slots[CAPACITY];
static _Atomic uint8_t states[CAPACITY];
static struct site_set set = {slots, states, CAPACITY, 0};

static int clear(void **state)
{
	(void)state;
	site_set_clear(&set);
	return 0;
}

static void a_number_is_claimed_once(void **state)
{
	uint32_t slot, other;

	(void)state;
	assert_int_equal(site_set_claim(&set, 42, &slot), SITE_SET_CLAIMED);
	assert_int_equal(site_set_claim(&set, 42, &other), SITE_SET_KNOWN);
	site_set_settle(&set, slot, 1);
	assert_int_equal(site_set_claim(&set, 42, &other), SITE_SET_KNOWN);
	assert_int_equal(site_set_claim(&set, 43, &other), SITE_SET_CLAIMED);
}

static void what_could_not_be_written_is_claimed_again(void **state)
{
	uint32_t slot;

	(void)state;
	assert_int_equal(site_set_claim(&set, 42, &slot), SITE_SET_CLAIMED);
	site_set_settle(&set, slot, 0);
	assert_int_equal(site_set_claim(&set, 42, &slot), SITE_SET_CLAIMED);
	site_set_settle(&set, slot, 1);
	assert_int_equal(site_set_claim(&set, 42, &slot), SITE_SET_KNOWN);
}

static void a_full_set_still_knows_what_it_has(void **state)
{
	uint32_t slot, claimed = 0, full = 0;

	(void)state;
	for (uint64_t n = 1; n <= 2 * CAPACITY; n++) {
		switch (site_set_claim(&set, n * 0x9e3779b97f4a7c15u, &slot)) {
		case SITE_SET_CLAIMED:
			site_set_settle(&set, slot, 1);
			claimed++;
			break;
		case SITE_SET_FULL:
			full++;
			break;
		case SITE_SET_KNOWN:
			fail_msg("%s", "a new number was known");
		}
	}
	assert_int_equal(claimed, CAPACITY - CAPACITY / 4);
	assert_int_equal(full, 2 * CAPACITY - claimed);
	for (uint64_t n = 1; n <= claimed; n++)
		assert_int_equal(site_set_claim(&set, n * 0x9e3779b97f4a7c15u, &slot),
				 SITE_SET_KNOWN);
}

static void *claim_all(void *context)
{
	uint64_t *claimed = context;

	for (uint64_t n = 1; n <= 700; n++) {
		uint32_t slot;

		if (site_set_claim(&set, n * 0x9e3779b97f4a7c15u, &slot) == SITE_SET_CLAIMED) {
			site_set_settle(&set, slot, 1);
			++*claimed;
		}
	}
	return NULL;
}

static void threads_share_the_claims(void **state)
{
	pthread_t threads[4];
	uint64_t claimed[4] = {0, 0, 0, 0};

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, claim_all, &claimed[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(claimed[0] + claimed[1] + claimed[2] + claimed[3], 700);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_number_is_claimed_once, clear),
		cmocka_unit_test_setup(what_could_not_be_written_is_claimed_again, clear),
		cmocka_unit_test_setup(a_full_set_still_knows_what_it_has, clear),
		cmocka_unit_test_setup(threads_share_the_claims, clear),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
