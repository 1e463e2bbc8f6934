/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See machine_bench.h.
 */
#include "machine_bench.h"

void bench_sample(struct bench *bench, enum sample_metric metric, int64_t time_ns, int64_t value)
{
	struct record_sample sample = {
		.ticks = (uint64_t)time_ns, .value = value, .metric = (uint16_t)metric};

	script_add_record(bench->script, RECORD_KIND_sample, &sample, sizeof(sample));
}

void bench_pages(struct bench *bench, int32_t node, uint32_t on_node, uint32_t sampled)
{
	struct record_pages pages = {.size_bytes = 64 << 20,
				     .pages_sampled = sampled,
				     .pages_on_node = on_node,
				     .node = node};

	script_add_record(bench->script, RECORD_KIND_pages, &pages, sizeof(pages));
}

void bench_two_nodes(struct bench *bench, const char *cpus_allowed)
{
	script_device(bench->script, 0)->numa_node = 1;
	script_info(bench->script, "host.numa_nodes", "2");
	script_info(bench->script, "numa.0.distances", "10 21");
	script_info(bench->script, "numa.1.distances", "21 10");
	script_info(bench->script, "numa.0.cpus", "0,2");
	script_info(bench->script, "numa.1.cpus", "1,3");
	script_info(bench->script, "process.cpus_allowed", cpus_allowed);
	script_info(bench->script, "process.numa_nodes_allowed", "0-1");
}

void bench_copy_steps(struct bench *bench, uint64_t bytes)
{
	for (int step = 0; step < 20; step++) {
		bench->machine.site = 5;
		machine_copy(&bench->machine, COPY_H2D, bytes, MEMORY_PINNED, false);
		bench->machine.site = 6;
		machine_kernel(&bench->machine, "ampere_sgemm_128x128_nn", 10000000);
		machine_kernel(&bench->machine, "adam_step", 50000);
	}
}
