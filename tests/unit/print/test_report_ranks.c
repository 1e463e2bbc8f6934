/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of ranks says how each is bound, as people ask for it.
 */
#include "rank_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_ranks.h"
#include "text.h"
#include "xmalloc.h"

static char *replaced(char *old, const char *text)
{
	free(old);
	return text ? xstrdup(text) : NULL;
}

/* Four ranks; the last one's binding is not in its file. */
static void bind_ranks(struct rank_bench *bench)
{
	static const char *const cpus[] = {"0-15", "0-15", "32-47", NULL};
	static const char *const seen[] = {"3", "4-5", "40", NULL};
	static const char *const nodes[] = {"0", "0", "0-1", NULL};

	for (size_t i = 0; i < 4; i++) {
		struct rank_summary *rank = &bench->items[i];

		rank->pid = 4000 + (int64_t)i;
		rank->ordinal = (uint32_t)i;
		rank->gpu = xstrdup("NVIDIA A100-SXM4-80GB");
		rank->pci = text_format("0000:%x7:00.0", (unsigned int)i);
		rank->cpus_allowed = replaced(rank->cpus_allowed, cpus[i]);
		rank->nodes_allowed = replaced(rank->nodes_allowed, nodes[i]);
		rank->cpus_used = replaced(rank->cpus_used, seen[i]);
	}
	bench->items[3].gpu_node = -1;
}

static const char golden[] =
	"  rank  host                  pid  GPU  PCI           GPU node   nodes  CPU"
	"s allowed   CPUs seen      GPU name\n"
	"     0  node                 4000    0  0000:07:00.0         0       0  0-1"
	"5           3              NVIDIA A100-SXM4-80GB\n"
	"     1  node                 4001    1  0000:17:00.0         0       0  0-1"
	"5           4-5            NVIDIA A100-SXM4-80GB\n"
	"     2  node                 4002    2  0000:27:00.0         1     0-1  32-"
	"47          40             NVIDIA A100-SXM4-80GB\n"
	"     3  node                 4003    3  0000:37:00.0         ?       ?  ?  "
	"            ?              NVIDIA A100-SXM4-80GB\n";

static void the_binding_of_every_rank_is_a_row(void **state)
{
	struct rank_bench bench;
	struct report_data report = {0};
	char *shown = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&shown, &size);

	(void)state;
	rank_bench_init(&bench, 4);
	bind_ranks(&bench);
	rank_bench_run(&bench);
	report.job = &bench.job;
	report.job_findings = bench.findings;
	report_ranks_text(to, &report, "", "");
	fclose(to);
	if (!strstr(shown, golden))
		fail_msg("%s", shown);
	/* The finding below speaks of the same CPUs. */
	assert_non_null(strstr(shown, "Ranks 0, 1 on node may use the same CPUs"));
	free(shown);
	rank_bench_fini(&bench);
}

/* It stopped after a few steps, so no steps were found in its file. */
static void the_whole_run_of_a_rank_is_no_step_of_the_job(void **state)
{
	struct rank_bench bench;
	struct report_data report = {0};
	char *shown = NULL, *row;
	size_t size = 0;
	FILE *to = open_memstream(&shown, &size);

	(void)state;
	rank_bench_init(&bench, 4);
	bench.items[2].is_whole_run = true;
	bench.items[2].step_ms *= 20;
	bench.items[2].part_ms[LEDGER_IDLE_HOST_AWAY] += 1000;
	rank_bench_run(&bench);
	assert_float_equal(bench.job.step_ms, 100, 1e-6);
	assert_int_not_equal(bench.job.detail, 2);
	report.job = &bench.job;
	report.job_findings = bench.findings;
	report_ranks_text(to, &report, "", "");
	fclose(to);
	row = strstr(shown, "whole run, it has no steps");
	assert_non_null(row);
	assert_null(strstr(row + 1, "whole run"));
	free(shown);
	rank_bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole_run_of_a_rank_is_no_step_of_the_job),
		cmocka_unit_test(the_binding_of_every_rank_is_a_row),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
