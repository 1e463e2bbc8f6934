/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT304 names ranks that are bound to the same CPUs or to one node.
 */
#include "rank_bench.h"

#include <stdlib.h>
#include "xmalloc.h"

static void ranks_on_the_same_few_cpus_are_raised(void **state)
{
	struct rank_bench bench;
	const struct finding *finding;

	(void)state;
	rank_bench_init(&bench, 4);
	for (size_t rank = 0; rank < 4; rank++) {
		free(bench.items[rank].cpus_allowed);
		bench.items[rank].cpus_allowed = xstrdup("0-1");
	}
	rank_bench_run(&bench);
	finding = rank_bench_only(&bench, "GT304");
	assert_string_equal(rank_bench_text(finding, "ranks"), "0, 1, 2, 3");
	assert_float_equal(rank_bench_number(finding, "cpu_count"), 2, 0.1);
	assert_int_equal(finding->severity, SEVERITY_MEDIUM);
	rank_bench_fini(&bench);
}

static void ranks_with_cpus_of_their_own_are_silent(void **state)
{
	struct rank_bench bench;
	static const char *const cpus[] = {"0-15", "16-31", "32-47", "48-63"};

	(void)state;
	rank_bench_init(&bench, 4);
	for (size_t rank = 0; rank < 4; rank++) {
		free(bench.items[rank].cpus_allowed);
		bench.items[rank].cpus_allowed = xstrdup(cpus[rank]);
	}
	rank_bench_run(&bench);
	assert_int_equal(rank_bench_status(&bench, "GT304"), JUDGED_SILENT);
	rank_bench_fini(&bench);
}

static void ranks_that_are_not_bound_are_silent(void **state)
{
	struct rank_bench bench;

	(void)state;
	rank_bench_init(&bench, 4);
	rank_bench_run(&bench);
	assert_int_equal(rank_bench_status(&bench, "GT304"), JUDGED_SILENT);
	rank_bench_fini(&bench);
}

static void ranks_on_one_node_away_from_their_gpus_are_raised(void **state)
{
	struct rank_bench bench;
	const struct finding *finding;
	static const char *const cpus[] = {"0-7", "8-15", "16-23", "24-31"};

	(void)state;
	rank_bench_init(&bench, 4);
	for (size_t rank = 0; rank < 4; rank++) {
		free(bench.items[rank].cpus_allowed);
		bench.items[rank].cpus_allowed = xstrdup(cpus[rank]);
	}
	for (size_t rank = 0; rank < 4; rank++) {
		free(bench.items[rank].nodes_allowed);
		bench.items[rank].nodes_allowed = xstrdup("0");
	}
	rank_bench_run(&bench);
	finding = rank_bench_only(&bench, "GT304");
	assert_float_equal(rank_bench_number(finding, "ranks_away_from_gpu"), 2, 0.1);
	rank_bench_fini(&bench);
}

/* Neither costs a known time: what matters more comes first, in whatever order they were raised. */
static void ranks_on_too_few_cpus_stand_before_those_on_another_node(void **state)
{
	struct rank_bench bench;

	(void)state;
	rank_bench_init(&bench, 4);
	for (size_t rank = 0; rank < 4; rank++) {
		free(bench.items[rank].cpus_allowed);
		bench.items[rank].cpus_allowed = xstrdup("0-1");
		free(bench.items[rank].nodes_allowed);
		bench.items[rank].nodes_allowed = xstrdup("0");
	}
	rank_bench_run(&bench);
	assert_int_equal(bench.findings.count, 2);
	assert_string_equal(bench.findings.items[0].id, "GT304");
	assert_int_equal(bench.findings.items[0].severity, SEVERITY_MEDIUM);
	assert_string_equal(bench.findings.items[1].id, "GT304");
	assert_int_equal(bench.findings.items[1].severity, SEVERITY_INFO);
	rank_bench_fini(&bench);
}

static void ranks_of_different_hosts_do_not_share(void **state)
{
	struct rank_bench bench;
	static const char *const hosts[] = {"a", "b", "c", "d"};

	(void)state;
	rank_bench_init(&bench, 4);
	for (size_t rank = 0; rank < 4; rank++) {
		free(bench.items[rank].cpus_allowed);
		bench.items[rank].cpus_allowed = xstrdup("0-1");
	}
	for (size_t rank = 0; rank < 4; rank++) {
		free(bench.items[rank].host);
		bench.items[rank].host = xstrdup(hosts[rank]);
	}
	rank_bench_run(&bench);
	assert_int_equal(rank_bench_status(&bench, "GT304"), JUDGED_SILENT);
	rank_bench_fini(&bench);
}

static void files_without_cpus_are_not_judged(void **state)
{
	struct rank_bench bench;

	(void)state;
	rank_bench_init(&bench, 2);
	free(bench.items[1].cpus_allowed);
	bench.items[1].cpus_allowed = NULL;
	rank_bench_run(&bench);
	assert_int_equal(rank_bench_status(&bench, "GT304"), NOT_JUDGED);
	rank_bench_fini(&bench);
}

static void one_file_is_not_judged(void **state)
{
	(void)state;
	assert_int_equal(rank_bench_of_one_file("GT304", "4"), NOT_JUDGED);
}

static void a_job_of_one_rank_is_silent(void **state)
{
	(void)state;
	assert_int_equal(rank_bench_of_one_file("GT304", NULL), JUDGED_SILENT);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_on_the_same_few_cpus_are_raised),
		cmocka_unit_test(ranks_with_cpus_of_their_own_are_silent),
		cmocka_unit_test(ranks_that_are_not_bound_are_silent),
		cmocka_unit_test(ranks_on_one_node_away_from_their_gpus_are_raised),
		cmocka_unit_test(ranks_on_too_few_cpus_stand_before_those_on_another_node),
		cmocka_unit_test(ranks_of_different_hosts_do_not_share),
		cmocka_unit_test(files_without_cpus_are_not_judged),
		cmocka_unit_test(one_file_is_not_judged),
		cmocka_unit_test(a_job_of_one_rank_is_silent),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
