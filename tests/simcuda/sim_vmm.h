/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Physical memory of the simulated driver (cuMemCreate) and what other processes learn of memory.
 * Included by the files that make, map, export and import it.
 */
#ifndef GPUTRACE_SIM_VMM_H
#define GPUTRACE_SIM_VMM_H

#include "sim_api.h"

enum { SIM_GRANULARITY = 2 << 20 };

/* Lives until no handle and no mapping is left. */
struct sim_physical {
	struct sim_object object;
	struct sim_device *device;
	size_t bytes;
	unsigned handle_count, mapping_count;
	unsigned handle_types;
	int fd; /* where the bytes are: of its own when it can be exported */
	long long offset;
	bool owns_fd, is_imported, is_multicast;
	unsigned multicast_devices;
};

/* How a process finds memory of another: a descriptor there, and where in it the bytes are. */
struct sim_share {
	char magic[8];
	int pid, fd;
	uint64_t offset, bytes;
	int device;
};
_Static_assert(sizeof(struct sim_share) <= 64, "an IPC handle has 64 bytes");

/* sim_vmm.c */
struct sim_physical *sim_vmm_physical(CUmemGenericAllocationHandle handle);
void sim_vmm_drop_if_unused(struct sim_physical *physical);
/* sim_ipc.c: the file that an exported piece of physical memory lies in. */
int sim_ipc_new_file(size_t bytes, const struct sim_device *device);

#endif
