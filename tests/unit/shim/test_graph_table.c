/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of graphs: found, copied, forgotten, bounded, and never torn. */
#include "../../../shim/graph_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>
#include <pthread.h>

static const void *handle(uintptr_t number)
{
	return (const void *)(number * 64 + 4096);
}

static void an_executable_knows_where_its_graph_was_captured(void **state)
{
	const struct graph_origin origin = {.site = 77, .nodes = 3, .kernels = 2, .copies = 1};
	struct graph_origin found;

	(void)state;
	graph_table_forget();
	assert_false(graph_table_find(handle(1), &found));
	assert_int_equal(found.site, 0);
	graph_table_put(handle(1), &origin);
	graph_table_count(handle(1), GRAPH_NODE_SET);
	graph_table_count(handle(9), GRAPH_NODE_SET); /* unknown: stays so */
	graph_table_copy(handle(1), handle(2));
	graph_table_remove(handle(1));
	assert_false(graph_table_find(handle(1), &found));
	assert_false(graph_table_find(handle(9), &found));
	assert_true(graph_table_find(handle(2), &found));
	assert_int_equal(found.site, 77);
	assert_int_equal(found.nodes, 4);
	assert_int_equal(found.sets, 1);
	/* A handle that was reused for a graph of unknown origin is unknown. */
	graph_table_copy(handle(9), handle(2));
	assert_false(graph_table_find(handle(2), &found));
	assert_false(graph_table_find(NULL, &found));
}

static void a_million_graphs_take_no_more_room(void **state)
{
	struct graph_origin found, origin = {0};
	unsigned int known = 0;

	(void)state;
	graph_table_forget();
	for (uintptr_t i = 0; i < 1000000; i++) {
		origin.site = i + 1;
		graph_table_put(handle(i), &origin);
		assert_true(graph_table_find(handle(i), &found));
		assert_int_equal(found.site, i + 1);
	}
	for (uintptr_t i = 0; i < 1000000; i++) {
		if (!graph_table_find(handle(i), &found))
			continue;
		known++;
		assert_int_equal(found.site, i + 1);
	}
	assert_in_range(known, 1000, 4096);
}

static _Atomic int stop;

static void *write_always(void *unused)
{
	struct graph_origin origin;

	(void)unused;
	for (uint32_t i = 1; !atomic_load(&stop); i++) {
		origin = (struct graph_origin){i, i, i, i, i};
		graph_table_put(handle(5), &origin);
		if (i % 16 == 0)
			graph_table_remove(handle(5));
	}
	return NULL;
}

static void a_reader_never_sees_half_an_entry(void **state)
{
	struct graph_origin found;
	unsigned int seen = 0;
	pthread_t writer;

	(void)state;
	graph_table_forget();
	atomic_store(&stop, 0);
	pthread_create(&writer, NULL, write_always, NULL);
	for (unsigned int i = 0; i < 50000000 && seen < 200000; i++) {
		if (!graph_table_find(handle(5), &found))
			continue;
		seen++;
		assert_true(found.nodes == found.site && found.kernels == found.site &&
			    found.copies == found.site && found.sets == found.site);
	}
	atomic_store(&stop, 1);
	pthread_join(writer, NULL);
	assert_true(seen > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_executable_knows_where_its_graph_was_captured),
		cmocka_unit_test(a_million_graphs_take_no_more_room),
		cmocka_unit_test(a_reader_never_sees_half_an_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
