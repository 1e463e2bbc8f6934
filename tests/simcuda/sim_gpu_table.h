/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU models that can be simulated: the rows of viewer/knowledge/gpus.tsv, which
 * sim_gen_gpus.awk turns into C.
 */
#ifndef GPUTRACE_SIM_GPU_TABLE_H
#define GPUTRACE_SIM_GPU_TABLE_H

struct sim_gpu {
	const char *name, *device_name;
	int major, minor, sm_count, boost_mhz;
	double fp32_tflops, memory_gib, bandwidth_gbs, l2_mib;
	int pcie_generation, pcie_width;
	double nvlink_gbs; /* all links, both directions */
	int nvlink_generation, tdp_w;
};

/* By the table's name or an alias of it (a100-sxm-80gb); NULL when there is none. */
const struct sim_gpu *sim_gpu_table_find(const char *name);

#endif
