/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long things take on the modelled GPU. Kernels are a roofline over the row of
 * viewer/knowledge/gpus.tsv (generated into sim_gpus.inc), copies a link rate with a start-up time.
 * The constants come from public measurements of real GPUs: 25.7 GB/s pinned over Gen4 x16, 55 over
 * Gen5, about 40 % of that from pageable memory but never more than one core can stage, and 6.5 us
 * from call to end for a tiny copy, of which 1.5 are on the GPU.
 */
#include "sim_internal.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_FLOOR_NS	     1700.0
#define KERNEL_DEFAULT_BYTES 16.0 /* per thread: the memory traffic of an unknown kernel */
#define SET_FLOOR_NS	     1300.0
#define COPY_ON_GPU_NS	     1500.0
#define PAGEABLE_TO_DEVICE   0.40
#define PAGEABLE_FROM_DEVICE 0.42
#define STAGING_RATE	     12e9
#define STAGED_SHARE	     0.47 /* of a link, between two GPUs without peer access */

enum {
	LAUNCH_LATENCY_NS = 2500,
	COPY_START_NS = 5000,
	COMMAND_BUFFER_BYTES = 64 << 10, /* a smaller pageable copy travels with its command */
	STAGING_BYTES = 512 << 10,
	COSTS_MAX = 256,
};

static struct cost_rule {
	regex_t name;
	struct sim_named_cost cost;
} costs[COSTS_MAX];
static unsigned cost_count;

double sim_model_link_rate(const struct sim_gpu *gpu)
{
	static const double rate_of_16_lanes[] = {0, 2.9e9, 5.8e9, 12.5e9, 25.7e9, 55.2e9, 106e9};
	const char *text = getenv("SIMCUDA_LINK_GBS");
	double rate = text ? atof(text) * 1e9 : 0;

	if (rate > 0)
		return rate;
	/* Grace modules reach their host over NVLink-C2C, the small ones share its memory. */
	if (strncmp(gpu->name, "GH200", 5) == 0 || strncmp(gpu->name, "GB200", 5) == 0 ||
	    strncmp(gpu->name, "GB300", 5) == 0)
		return 330e9;
	if (gpu->pcie_generation < 1 || gpu->pcie_generation > 6)
		return gpu->bandwidth_gbs * 0.5e9;
	return rate_of_16_lanes[gpu->pcie_generation] * gpu->pcie_width / 16.0;
}

void sim_model_load_costs(const char *path)
{
	char line[1024], *fields[4];
	FILE *file = fopen(path, "re");

	if (!file) {
		fprintf(stderr, "simcuda: cannot open SIMCUDA_KERNEL_COSTS \"%s\"\n", path);
		return;
	}
	while (cost_count < COSTS_MAX && fgets(line, sizeof(line), file)) {
		struct cost_rule *rule = &costs[cost_count];
		char *rest = line;
		unsigned count = 0;

		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#' || line[0] == '\0')
			continue;
		while (count < 4 && rest)
			fields[count++] = strsep(&rest, "\t");
		if (count != 4 || regcomp(&rule->name, fields[0], REG_EXTENDED | REG_NOSUB) != 0) {
			fprintf(stderr, "simcuda: not a row of kernel costs: \"%s\"\n", line);
			continue;
		}
		rule->cost.fixed_ns = atof(fields[1]);
		rule->cost.bytes_per_thread = atof(fields[2]);
		rule->cost.flops_per_thread = atof(fields[3]);
		cost_count++;
	}
	fclose(file);
}

const struct sim_named_cost *sim_model_named_cost(const char *kernel)
{
	for (unsigned i = 0; i < cost_count; i++) {
		if (regexec(&costs[i].name, kernel, 0, NULL, 0) == 0)
			return &costs[i].cost;
	}
	return NULL;
}

uint64_t sim_model_kernel_ns(const struct sim_device *device, const struct sim_function *function,
			     const struct simcuda_cost *library_cost, uint64_t threads)
{
	const struct sim_gpu *gpu = device->gpu;
	double fixed_ns = 0, bytes = KERNEL_DEFAULT_BYTES * (double)threads, flops = 0;
	double peak = gpu->fp32_tflops * 1e12, memory_ns, math_ns;

	if (library_cost) {
		fixed_ns = library_cost->fixed_ns;
		bytes = library_cost->bytes;
		flops = library_cost->flops;
		if (library_cost->peak_flops > 0)
			peak = library_cost->peak_flops;
		if (library_cost->efficiency > 0)
			peak *= library_cost->efficiency;
	} else if (function->cost) {
		fixed_ns = function->cost->fixed_ns;
		bytes = function->cost->bytes_per_thread * (double)threads;
		flops = function->cost->flops_per_thread * (double)threads;
	}
	memory_ns = bytes / gpu->bandwidth_gbs;
	math_ns = flops / peak * 1e9;
	return (uint64_t)((fixed_ns > 0 ? fixed_ns : KERNEL_FLOOR_NS) +
			  (memory_ns > math_ns ? memory_ns : math_ns));
}

struct sim_copy_cost sim_model_copy(const struct sim_device *device, size_t bytes, int direction,
				    bool is_pageable)
{
	struct sim_copy_cost cost = {.start_ns = COPY_START_NS};
	double rate = device->link_rate;

	if (direction == 8) /* inside the device: every byte is read and written */
		rate = device->gpu->bandwidth_gbs * 1e9 / 2;
	if (is_pageable) {
		rate *= direction == 1 ? PAGEABLE_TO_DEVICE : PAGEABLE_FROM_DEVICE;
		if (rate > STAGING_RATE)
			rate = STAGING_RATE;
	}
	cost.link_share = 1;
	cost.rate_limit = 1e15;
	if (is_pageable) {
		cost.link_share = direction == 1 ? PAGEABLE_TO_DEVICE : PAGEABLE_FROM_DEVICE;
		cost.rate_limit = STAGING_RATE;
	}
	cost.busy_ns = (uint64_t)(COPY_ON_GPU_NS + (double)bytes / rate * 1e9);
	if (is_pageable && direction == 1) {
		if (bytes <= COMMAND_BUFFER_BYTES)
			cost.is_in_command = true;
		else
			cost.unstaged_ns = (uint64_t)(STAGING_BYTES / device->link_rate * 1e9);
		if (cost.unstaged_ns > cost.busy_ns / 2)
			cost.unstaged_ns = cost.busy_ns / 2;
	}
	return cost;
}

uint64_t sim_model_peer_ns(const struct sim_device *from, const struct sim_device *to,
			   bool is_direct, size_t bytes)
{
	double rate = from->link_rate < to->link_rate ? from->link_rate : to->link_rate;

	return (uint64_t)(COPY_ON_GPU_NS +
			  (double)bytes / (is_direct ? rate : rate * STAGED_SHARE) * 1e9);
}

uint64_t sim_model_set_ns(const struct sim_device *device, size_t bytes)
{
	return (uint64_t)(SET_FLOOR_NS + (double)bytes / device->gpu->bandwidth_gbs);
}

uint64_t sim_model_launch_latency_ns(void)
{
	return LAUNCH_LATENCY_NS;
}
