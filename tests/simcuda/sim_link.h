/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The links of a described machine (SIMCUDA_MACHINE), as the driver uses them: how long a copy
 * takes over them, and what their files in the tree say. Without a described machine
 * sim_link_is_described() is false and nothing else here may be called.
 */
#ifndef GPUTRACE_SIM_LINK_H
#define GPUTRACE_SIM_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim_machine.h"

bool sim_link_open(const struct sim_machine *machine, const char *folder);
bool sim_link_is_described(void);

/* When a copy of so many bytes that begins at begin_ns ends. `gpu` is an index of the description,
 * host_node that of the host's memory (SIM_MACHINE_NONE: unknown), and share that part of the
 * link's rate which the kind of memory allows, never more than `limit` bytes per second. */
uint64_t sim_link_copy(int gpu, bool is_from_device, size_t bytes, int host_node, double share,
		       double limit, uint64_t begin_ns);
/* The same between two GPUs. */
uint64_t sim_link_peer_copy(int from, int to, bool is_direct, size_t bytes, uint64_t begin_ns);
/* The attainable rate of a GPU's own link under load, in bytes per second. */
double sim_link_rate(int gpu);

/* The GPU works from begin_ns to end_ns. True when that woke its link. */
bool sim_link_work(int gpu, uint64_t begin_ns, uint64_t end_ns, bool is_kernel);
/* Lets the files of GPUs that have been idle long enough say so. Returns when to look again, on the
 * driver's clock, or 0 when no link is awake. */
uint64_t sim_link_rest(uint64_t now_ns, bool is_exiting);
/* The node of the CPU that the caller runs on, as the description numbers them. */
int sim_link_node_of_caller(void);
/* Writes down for the collector where host memory lies, which it would ask a kernel of the machine:
 * rows "ADDRESS SIZE NODE" of DIR/simcuda/pages.PID. */
void sim_link_show_pages(uintptr_t address, size_t bytes, int node);
/* Device memory of this process on a GPU, for the others to see; and theirs. */
void sim_link_set_memory(int gpu, size_t bytes);
size_t sim_link_others_bytes(int gpu);

#endif
