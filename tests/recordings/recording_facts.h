/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The raw unions and counts of a .gtrace file by the definitions of the reference numbers: kernels
 * whose name contains nccl or rccl are communication, everything else that is no copy is compute.
 */
#ifndef GPUTRACE_TEST_RECORDING_FACTS_H
#define GPUTRACE_TEST_RECORDING_FACTS_H

#include <stdint.h>

#define FACTS_MAX_DEVICES 16
#define FACTS_MAX_COPIES  32
#define FACTS_MAX_CALLS	  64
#define FACTS_MAX_STEPS	  64

struct copy_facts {
	uint8_t direction, source_kind, destination_kind;
	uint64_t count, bytes;
	int64_t ns; /* sum of durations */
};

struct device_facts {
	uint32_t ordinal;
	uint64_t kernels, copies, sets, unlinked;
	int64_t window_ns, busy_ns, linked_window_ns, linked_busy_ns;
	int64_t compute_ns, kernel_only_ns, comm_ns, copy_ns;
	int64_t exposed_comm_ns, exposed_copy_ns, comm_alone_ns; /* alone: not under kernels */
	uint64_t gaps_10us, gaps_100us, gaps_1ms;
	int64_t max_gap_ns, sum_kernel_ns;
	uint64_t kernels_below_5us, kernels_below_10us, distinct_kernels, streams;
	uint64_t gemm_kernels;
	int64_t gemm_ns;
	struct copy_facts copy_kinds[FACTS_MAX_COPIES];
	uint32_t copy_kind_count;
};

struct call_facts {
	char name[96];
	uint64_t count;
	int64_t ns;
};

struct step_facts {
	char name[64];
	int64_t ns;
};

struct recording_facts {
	struct device_facts devices[FACTS_MAX_DEVICES];
	uint32_t device_count;
	struct call_facts calls[FACTS_MAX_CALLS]; /* all functions, all threads */
	uint32_t call_count;
	struct step_facts steps[FACTS_MAX_STEPS];
	uint32_t step_count;
	uint64_t calls_total, launches, graph_launches, gemm_ops, gemm_linked_launches;
	uint64_t marks, launches_with_site;
	double gemm_flop;
	uint64_t loader_waits;
	int64_t loader_ns;
	uint64_t memory_events, alloc_bytes, free_bytes, peak_allocated, peak_reserved;
	uint64_t gpu_syncs;
	int64_t gpu_sync_ns;
	uint64_t lost;
};

/* Into a struct recording_facts; fails the running test when the file cannot be read. */
void recording_facts_read(const char *path, void *facts);
/* NULL when no call of that name is there. */
const struct call_facts *recording_facts_call(const struct recording_facts *facts,
					      const char *name);

#endif
