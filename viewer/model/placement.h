/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the work for one GPU came from: the NUMA nodes of the CPUs that its calls were made on, and
 * of the pages that its copies used.
 */
#ifndef GPUTRACE_MODEL_PLACEMENT_H
#define GPUTRACE_MODEL_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

struct model;

#define PLACEMENT_FAR_DISTANCE 20 /* of the firmware's table; 10 is local */

struct placement {
	const char *unknown; /* why nothing can be said; NULL: the rest is valid */
	int32_t gpu_node;
	uint64_t calls;	   /* of steady steps whose CPU is known */
	double far_share;  /* of these, from nodes that are far from the GPU */
	int32_t far_node;  /* the one with most of them, -1 none */
	uint16_t distance; /* from there to the GPU's node */
	uint64_t moves;	   /* of launching threads from one node to another, as far as was seen */
	double moves_per_s;
	/* Mean time of a launch call on near and on far CPUs; 0 where there are none. */
	double near_launch_ns, far_launch_ns;
	double launches_far_per_step;
	const char *node_cpus; /* of the GPU's node, NULL unknown */
	bool can_bind;	       /* the job may use CPUs of that node */
	/* Pages of host buffers that were copied to or from this GPU. */
	uint64_t pages, pages_far;
	uint64_t buffers;   /* asked about; some may have had no answer */
	int32_t pages_node; /* far node with the most of them, -1 none */
};

void placement_build(const struct model *model, uint16_t device, struct placement *placement);
/* Distance between two nodes as recorded, 0 unknown. */
uint16_t placement_distance(const struct model *model, int32_t from, int32_t to);

#endif
