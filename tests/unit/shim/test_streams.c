/* SPDX-License-Identifier: Apache-2.0 */
/* Which streams are in an open capture. */
#include "../../../shim/streams.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char handles[600];

static void a_stream_is_captured_between_begin_and_end(void **state)
{
	(void)state;
	assert_false(streams_is_captured(&handles[0]));
	streams_begin_capture(&handles[0]);
	streams_begin_capture(&handles[0]); /* driver and runtime both say so */
	assert_true(streams_is_captured(&handles[0]));
	assert_false(streams_is_captured(&handles[1]));
	assert_int_equal(streams_open_captures, 1);
	streams_end_capture(&handles[0]);
	streams_end_capture(&handles[0]);
	assert_false(streams_is_captured(&handles[0]));
	assert_int_equal(streams_open_captures, 0);
}

static void streams_join_through_events(void **state)
{
	(void)state;
	streams_begin_capture(&handles[0]);
	streams_join(&handles[0], &handles[10]); /* an event recorded there */
	streams_join(&handles[10], &handles[1]); /* a stream waits for it */
	streams_join(&handles[11], &handles[2]); /* an event from elsewhere */
	assert_true(streams_is_captured(&handles[1]));
	assert_false(streams_is_captured(&handles[2]));
	streams_end_capture(&handles[0]);
	assert_false(streams_is_captured(&handles[1]));
}

static void two_captures_end_separately(void **state)
{
	(void)state;
	streams_begin_capture(&handles[0]);
	streams_begin_capture(&handles[1]);
	streams_join(&handles[1], &handles[2]);
	streams_end_capture(&handles[0]);
	assert_true(streams_is_captured(&handles[1]));
	assert_true(streams_is_captured(&handles[2]));
	assert_int_equal(streams_open_captures, 1);
	streams_end_capture(&handles[1]);
	assert_int_equal(streams_open_captures, 0);
}

static void too_many_do_no_harm(void **state)
{
	(void)state;
	for (int i = 0; i < 600; i++)
		streams_begin_capture(&handles[i]);
	for (int i = 0; i < 600; i++)
		streams_end_capture(&handles[i]);
	assert_int_equal(streams_open_captures, 0);
	assert_false(streams_is_captured_slow(&handles[0]));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_is_captured_between_begin_and_end),
		cmocka_unit_test(streams_join_through_events),
		cmocka_unit_test(two_captures_end_separately),
		cmocka_unit_test(too_many_do_no_harm),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
