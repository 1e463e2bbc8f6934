/* SPDX-License-Identifier: Apache-2.0 */
/* Node numbers may have gaps; arrays are by index, callers speak of ids. */
#include "numa_nodes.h"

#include <string.h>

#include "cpu_list.h"
#include "machine_file.h"
#include "small_file.h"

#define NODE_DIR "sys/devices/system/node"

static void read_distances(struct numa_node *node)
{
	const char *at = node->distances;

	for (size_t i = 0; i < NUMA_MAX_NODES; i++) {
		uint64_t value;

		at += strspn(at, " ");
		if (!small_file_number(&at, 10, &value) || value > UINT16_MAX)
			return;
		node->distance[i] = (uint16_t)value;
	}
}

static void read_node(const char *root, uint32_t id, struct numa_node *node)
{
	char text[4096];
	const char *total;
	uint64_t kib;

	node->id = (int32_t)id;
	machine_file_line(root, node->cpus, sizeof(node->cpus), NODE_DIR "/node%u/cpulist", id);
	if (machine_file_line(root, node->distances, sizeof(node->distances),
			      NODE_DIR "/node%u/distance", id))
		read_distances(node);
	/* "Node 0 MemTotal:  65000000 kB" */
	if (machine_file_read(root, text, sizeof(text), NODE_DIR "/node%u/meminfo", id) <= 0)
		return;
	total = strstr(text, "MemTotal:");
	if (!total)
		return;
	total += strlen("MemTotal:");
	total += strspn(total, " ");
	if (small_file_number(&total, 10, &kib))
		node->memory_bytes = kib * 1024;
}

void numa_nodes_read(const char *root, struct numa_nodes *nodes)
{
	char online[256];
	const char *at = online;
	uint32_t first, last;

	memset(nodes, 0, sizeof(*nodes));
	if (!machine_file_line(root, online, sizeof(online), NODE_DIR "/online"))
		return;
	while (cpu_list_next(&at, &first, &last)) {
		for (uint32_t id = first; id <= last && nodes->count < NUMA_MAX_NODES; id++)
			read_node(root, id, &nodes->nodes[nodes->count++]);
	}
}

int numa_nodes_find(const struct numa_nodes *nodes, int32_t id)
{
	for (size_t i = 0; i < nodes->count; i++) {
		if (nodes->nodes[i].id == id)
			return (int)i;
	}
	return -1;
}

int32_t numa_nodes_of_cpu(const struct numa_nodes *nodes, uint32_t cpu)
{
	for (size_t i = 0; i < nodes->count; i++) {
		if (cpu_list_has(nodes->nodes[i].cpus, cpu))
			return nodes->nodes[i].id;
	}
	return -1;
}

uint16_t numa_nodes_distance(const struct numa_nodes *nodes, int32_t from, int32_t to)
{
	int left = numa_nodes_find(nodes, from), right = numa_nodes_find(nodes, to);

	return left < 0 || right < 0 ? 0 : nodes->nodes[left].distance[right];
}
