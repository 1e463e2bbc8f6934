/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from the environment. */
#include "../../../shim/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static int clear(void **state)
{
	(void)state;
#define OPTION_TEXT(field, variable, value, help)	       unsetenv(variable);
#define OPTION_CHOICE(field, variable, value, words, help)     unsetenv(variable);
#define OPTION_NUMBER(field, variable, value, low, high, help) unsetenv(variable);
#define OPTION_SIZE(field, variable, value, low, high, help)   unsetenv(variable);
#define OPTION_SPAN(field, variable, value, low, high, help)   unsetenv(variable);
#include "../../../shim/options.def"
	return 0;
}

static void nothing_set_gives_the_defaults(void **state)
{
	(void)state;
	options_read();
	assert_string_equal(shim_options.mode, "on");
	assert_string_equal(shim_options.out_dir, ".");
	assert_null(shim_options.name);
	assert_int_equal(shim_options.ring_kib, 256);
	assert_int_equal(shim_options.memory_mib, 64);
	assert_string_equal(shim_options.on_full, "drop");
	assert_null(shim_options.ignored);
}

static void values_are_taken_and_kept(void **state)
{
	(void)state;
	setenv("GPUTRACE", "off", 1);
	setenv("GPUTRACE_OUT", "/some/where", 1);
	setenv("GPUTRACE_RING_KIB", "65536", 1);
	options_read();
	/* Programs change their environment later. */
	setenv("GPUTRACE_OUT", "/else/where", 1);
	assert_string_equal(shim_options.mode, "off");
	assert_string_equal(shim_options.out_dir, "/some/where");
	assert_int_equal(shim_options.ring_kib, 65536);
	assert_null(shim_options.ignored);
}

static void empty_means_not_set(void **state)
{
	(void)state;
	setenv("GPUTRACE", "", 1);
	setenv("GPUTRACE_NAME", "", 1);
	setenv("GPUTRACE_RING_KIB", "", 1);
	options_read();
	assert_string_equal(shim_options.mode, "on");
	assert_null(shim_options.name);
	assert_int_equal(shim_options.ring_kib, 256);
	assert_null(shim_options.ignored);
}

static void values_that_do_not_fit_are_ignored_and_named(void **state)
{
	static const char *const bad[][2] = {
		{"GPUTRACE_RING_KIB", "31"},
		{"GPUTRACE_RING_KIB", "65537"},
		{"GPUTRACE_RING_KIB", "12x"},
		{"GPUTRACE_RING_KIB", "-256"},
		{"GPUTRACE_RING_KIB", "999999999999999999999999"},
		{"GPUTRACE_MAX_SIZE", "2X"},
		{"GPUTRACE_MAX_SIZE", "2GG"},
		{"GPUTRACE_MAX_SIZE", "1K"},
		{"GPUTRACE_MAX_SIZE", "9999999999999999T"},
		{"GPUTRACE_KEEP_LAST", "m"},
		{"GPUTRACE_KEEP_LAST", "2s"},
		{"GPUTRACE_KEEP_LAST", "-5m"},
		{"GPUTRACE_ON_FULL", "wai"},
		{"GPUTRACE_ON_FULL", "waits"},
		{"GPUTRACE_ON_FULL", "drop|wait"},
		{"GPUTRACE_GPU", "OFF"},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		clear(state);
		setenv(bad[i][0], bad[i][1], 1);
		options_read();
		assert_non_null(shim_options.ignored);
		assert_string_equal(shim_options.ignored, bad[i][0]);
		assert_int_equal(shim_options.ring_kib, 256);
		assert_string_equal(shim_options.on_full, "drop");
		assert_string_equal(shim_options.gpu, "cupti");
	}
}

static void sizes_and_spans_have_units(void **state)
{
	static const struct {
		const char *text;
		long mib;
	} sizes[] = {{"512", 512}, {"512M", 512},   {"2G", 2048},
		     {"8192K", 8}, {"1T", 1048576}, {"0", 0}};
	static const struct {
		const char *text;
		long seconds;
	} spans[] = {{"90", 90}, {"90s", 90}, {"10m", 600}, {"2h", 7200}, {"1d", 86400}};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		setenv("GPUTRACE_MAX_SIZE", sizes[i].text, 1);
		options_read();
		assert_null(shim_options.ignored);
		assert_int_equal(shim_options.max_mib, sizes[i].mib);
	}
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		setenv("GPUTRACE_KEEP_LAST", spans[i].text, 1);
		options_read();
		assert_null(shim_options.ignored);
		assert_int_equal(shim_options.keep_s, spans[i].seconds);
	}
}

static void a_text_too_long_to_keep_is_ignored(void **state)
{
	(void)state;
	static char text[20000];
	for (size_t i = 0; i + 1 < sizeof(text); i++)
		text[i] = 'a';
	setenv("GPUTRACE_OUT", text, 1);
	options_read();
	assert_string_equal(shim_options.out_dir, ".");
	assert_string_equal(shim_options.ignored, "GPUTRACE_OUT");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_set_gives_the_defaults, clear),
		cmocka_unit_test_setup(values_are_taken_and_kept, clear),
		cmocka_unit_test_setup(empty_means_not_set, clear),
		cmocka_unit_test_setup(values_that_do_not_fit_are_ignored_and_named, clear),
		cmocka_unit_test_setup(sizes_and_spans_have_units, clear),
		cmocka_unit_test_setup(a_text_too_long_to_keep_is_ignored, clear),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
