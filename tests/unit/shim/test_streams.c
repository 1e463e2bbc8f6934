/* SPDX-License-Identifier: Apache-2.0 */
/* Which streams are in an open capture. */
#include "../../../shim/streams.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char handles[600];
static struct graph_origin captured;

static void a_stream_is_captured_between_begin_and_end(void **state)
{
	(void)state;
	assert_false(streams_is_captured(&handles[0]));
	streams_begin_capture(&handles[0], 0);
	streams_begin_capture(&handles[0], 0); /* driver and runtime both say so */
	assert_true(streams_is_captured(&handles[0]));
	assert_false(streams_is_captured(&handles[1]));
	assert_int_equal(streams_open_captures, 1);
	streams_end_capture(&handles[0], &captured);
	streams_end_capture(&handles[0], &captured);
	assert_false(streams_is_captured(&handles[0]));
	assert_int_equal(streams_open_captures, 0);
}

static void streams_join_through_events(void **state)
{
	(void)state;
	streams_begin_capture(&handles[0], 0);
	streams_join(&handles[0], &handles[10]); /* an event recorded there */
	streams_join(&handles[10], &handles[1]); /* a stream waits for it */
	streams_join(&handles[11], &handles[2]); /* an event from elsewhere */
	assert_true(streams_is_captured(&handles[1]));
	assert_false(streams_is_captured(&handles[2]));
	streams_end_capture(&handles[0], &captured);
	assert_false(streams_is_captured(&handles[1]));
}

static void two_captures_end_separately(void **state)
{
	(void)state;
	streams_begin_capture(&handles[0], 0);
	streams_begin_capture(&handles[1], 0);
	streams_join(&handles[1], &handles[2]);
	streams_end_capture(&handles[0], &captured);
	assert_true(streams_is_captured(&handles[1]));
	assert_true(streams_is_captured(&handles[2]));
	assert_int_equal(streams_open_captures, 1);
	streams_end_capture(&handles[1], &captured);
	assert_int_equal(streams_open_captures, 0);
}

static void a_capture_tells_its_site_and_counts_the_nodes_of_all_its_streams(void **state)
{
	(void)state;
	streams_begin_capture(&handles[0], 0x517e);
	streams_join(&handles[0], &handles[10]);
	streams_join(&handles[10], &handles[1]);
	streams_count(&handles[0], GRAPH_NODE_KERNEL);
	streams_count(&handles[1], GRAPH_NODE_KERNEL);
	streams_count(&handles[1], GRAPH_NODE_COPY);
	streams_count(&handles[0], GRAPH_NODE_OTHER);
	streams_count(&handles[2], GRAPH_NODE_SET);		   /* in no capture */
	assert_false(streams_end_capture(&handles[1], &captured)); /* not where it began */
	assert_int_equal(captured.nodes, 0);
	assert_true(streams_end_capture(&handles[0], &captured));
	assert_int_equal(captured.site, 0x517e);
	assert_int_equal(captured.nodes, 4);
	assert_int_equal(captured.kernels, 2);
	assert_int_equal(captured.copies, 1);
	assert_int_equal(captured.sets, 0);
	/* The next one begins with nothing. */
	streams_begin_capture(&handles[0], 1);
	assert_true(streams_end_capture(&handles[0], &captured));
	assert_int_equal(captured.nodes, 0);
}

static void too_many_do_no_harm(void **state)
{
	(void)state;
	for (int i = 0; i < 600; i++)
		streams_begin_capture(&handles[i], 0);
	for (int i = 0; i < 600; i++)
		streams_end_capture(&handles[i], &captured);
	assert_int_equal(streams_open_captures, 0);
	assert_false(streams_is_captured_slow(&handles[0]));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_is_captured_between_begin_and_end),
		cmocka_unit_test(streams_join_through_events),
		cmocka_unit_test(two_captures_end_separately),
		cmocka_unit_test(a_capture_tells_its_site_and_counts_the_nodes_of_all_its_streams),
		cmocka_unit_test(too_many_do_no_harm),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
