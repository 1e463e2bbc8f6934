/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NUMA nodes of a machine: their CPUs, their memory and the distances between them (the
 * firmware's table: 10 is local, 20 twice as far).
 */
#ifndef GPUTRACE_NUMA_NODES_H
#define GPUTRACE_NUMA_NODES_H

#include <stddef.h>
#include <stdint.h>

#define NUMA_MAX_NODES 64

struct numa_node {
	int32_t id;
	char cpus[256]; /* list, "" a node of memory alone */
	uint64_t memory_bytes;
	char distances[256];		   /* as the kernel writes them */
	uint16_t distance[NUMA_MAX_NODES]; /* by index; 0 unknown */
};

struct numa_nodes {
	size_t count;
	struct numa_node nodes[NUMA_MAX_NODES];
};

/* count 0: the machine does not tell. */
void numa_nodes_read(const char *root, struct numa_nodes *nodes);
/* Index of a node, -1 unknown. */
int numa_nodes_find(const struct numa_nodes *nodes, int32_t id);
/* The node of a CPU, -1 unknown. */
int32_t numa_nodes_of_cpu(const struct numa_nodes *nodes, uint32_t cpu);
/* Between two nodes by id, 0 unknown. */
uint16_t numa_nodes_distance(const struct numa_nodes *nodes, int32_t from, int32_t to);

#endif
