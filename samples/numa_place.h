/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts this thread on CPUs near to a GPU or far from it, by what the kernel says of both. Where
 * GPUTRACE_ROOT is set, the files of that machine are asked instead of this one's.
 */
#ifndef GPUTRACE_SAMPLES_NUMA_PLACE_H
#define GPUTRACE_SAMPLES_NUMA_PLACE_H

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMA_PLACE_NODES = 64 };

static inline bool numa_place_read(char *text, size_t size, const char *file)
{
	const char *root = getenv("GPUTRACE_ROOT");
	char path[1024];
	FILE *stream;
	bool is_read;

	snprintf(path, sizeof(path), "%s%s", root ? root : "", file);
	stream = fopen(path, "r");
	if (!stream)
		return false;
	is_read = fgets(text, (int)size, stream) != NULL;
	fclose(stream);
	return is_read;
}

/* The CPUs of a node that this process may use; how many. */
static inline int numa_place_cpus(int node, cpu_set_t *cpus)
{
	char file[96], text[512];
	cpu_set_t allowed;
	int count = 0;

	CPU_ZERO(cpus);
	snprintf(file, sizeof(file), "/sys/devices/system/node/node%d/cpulist", node);
	if (!numa_place_read(text, sizeof(text), file) ||
	    sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return 0;
	for (char *at = text; *at >= '0' && *at <= '9';) {
		long first = strtol(at, &at, 10);
		long last = *at == '-' ? strtol(at + 1, &at, 10) : first;

		for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++) {
			if (!CPU_ISSET((size_t)cpu, &allowed))
				continue;
			CPU_SET((size_t)cpu, cpus);
			count++;
		}
		at += *at == ',';
	}
	return count;
}

/* Binds this thread to CPUs of the node of the GPU at a PCI address, or of the farthest node that
 * the process may use. The node, or -1 when there is none such. */
static inline int numa_place(const char *address, bool is_near)
{
	char file[96], text[512];
	int gpu_node, node = -1;
	long farthest = 0;
	cpu_set_t cpus;

	snprintf(file, sizeof(file), "/sys/bus/pci/devices/%s/numa_node", address);
	/* Drivers write the address in capitals, the kernel does not. */
	for (char *at = file; *at; at++)
		*at = (char)(*at >= 'A' && *at <= 'F' ? *at - 'A' + 'a' : *at);
	if (!numa_place_read(text, sizeof(text), file))
		return -1;
	gpu_node = (int)strtol(text, NULL, 10);
	snprintf(file, sizeof(file), "/sys/devices/system/node/node%d/distance", gpu_node);
	if (gpu_node < 0 || !numa_place_read(text, sizeof(text), file))
		return -1;
	if (is_near) {
		node = gpu_node;
	} else {
		char *at = text;

		for (int i = 0; i < NUMA_PLACE_NODES; i++) {
			char *end;
			long distance = strtol(at, &end, 10);

			if (end == at)
				break;
			at = end;
			if (i == gpu_node || distance <= farthest || !numa_place_cpus(i, &cpus))
				continue;
			farthest = distance;
			node = i;
		}
	}
	if (node < 0 || !numa_place_cpus(node, &cpus) ||
	    sched_setaffinity(0, sizeof(cpus), &cpus) != 0)
		return -1;
	return node;
}

#endif
