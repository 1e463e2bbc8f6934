/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PCIe rates by generation and width.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "link_rate.h"

static void rates_lie_between_minimum_and_raw(void **state)
{
	(void)state;
	for (uint16_t generation = 1; generation <= 6; generation++) {
		struct link_rate rate = link_rate_of(generation, 16);

		assert_true(rate.minimum_gbs <= rate.attainable_gbs);
		assert_true(rate.attainable_gbs < rate.raw_gbs);
		if (generation > 1)
			assert_true(rate.attainable_gbs >
				    link_rate_of((uint16_t)(generation - 1), 16).attainable_gbs);
	}
}

static void measured_links_are_within_five_percent(void **state)
{
	(void)state;
	assert_float_equal(link_rate_of(3, 16).attainable_gbs, 12.5, 0.6);  /* 12.15 / 12.89 */
	assert_float_equal(link_rate_of(4, 16).attainable_gbs, 25.95, 0.5); /* 25.7 .. 26.2 */
	assert_float_equal(link_rate_of(5, 16).attainable_gbs, 55.2, 0.5);  /* 55.43 / 55.06 */
}

static void width_scales(void **state)
{
	(void)state;
	assert_float_equal(link_rate_of(4, 8).attainable_gbs,
			   link_rate_of(4, 16).attainable_gbs / 2, 1e-9);
}

static void unknown_links_have_no_rate(void **state)
{
	(void)state;
	assert_float_equal(link_rate_of(0, 16).raw_gbs, 0, 0);
	assert_float_equal(link_rate_of(4, 0).raw_gbs, 0, 0);
	assert_float_equal(link_rate_of(9, 16).raw_gbs, 0, 0);
	assert_float_equal(link_rate_of(4, 999).raw_gbs, 0, 0);
}

static void measured_nvlinks_lie_between_minimum_and_raw(void **state)
{
	static const struct {
		double both_directions_gbs, measured_gbs;
	} rows[] = {{600, 235}, {900, 363}, {900, 367}, {1800, 682}, {300, 120}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct link_rate rate = link_rate_of_nvlink(rows[i].both_directions_gbs);

		assert_true(rows[i].measured_gbs > rate.minimum_gbs);
		assert_true(rows[i].measured_gbs < rate.raw_gbs);
		assert_true(fabs(rows[i].measured_gbs / rate.attainable_gbs - 1) < 0.06);
	}
	assert_float_equal(link_rate_of_nvlink(0).attainable_gbs, 0, 0);
	assert_float_equal(link_rate_of_nvlink(-1).raw_gbs, 0, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_lie_between_minimum_and_raw),
		cmocka_unit_test(measured_links_are_within_five_percent),
		cmocka_unit_test(width_scales),
		cmocka_unit_test(unknown_links_have_no_rate),
		cmocka_unit_test(measured_nvlinks_lie_between_minimum_and_raw),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
