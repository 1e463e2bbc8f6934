/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job of several ranks needs to know of one of them: who it is, where it runs, where its
 * step goes, and every collective with its times. Made from a model that can be freed afterwards,
 * so that the files of a job need not be in memory together.
 */
#ifndef GPUTRACE_RANKS_RANK_SUMMARY_H
#define GPUTRACE_RANKS_RANK_SUMMARY_H

#include "model.h"

/* One collective of one rank; times are that rank's own until the clocks are aligned. */
struct rank_collective {
	uint64_t hash; /* of the communicator */
	uint64_t size_bytes;
	int64_t call_ns;
	int64_t begin_ns, end_ns; /* on the GPU; equal: not in the file */
	uint32_t sequence;
	uint32_t rank_count; /* of the communicator, 0 unknown */
	uint32_t peer;
	uint8_t kind, element, reduction;
	bool is_steady; /* begun in a steady step */
};

struct rank_summary {
	char *path, *host, *gpu, *pci, *cpus_allowed, *cpus_used, *nodes_allowed; /* NULL unknown */
	int64_t rank, pid;							  /* -1 unknown */
	uint32_t world_size;							  /* 0 unknown */
	uint32_t ordinal;
	int32_t gpu_node;   /* -1 unknown */
	uint32_t host_cpus; /* 0 unknown */
	bool is_simulated, has_ledger;
	bool is_whole_run; /* no steps were found: the figures are not of a step */
	double step_ms;
	double part_ms[LEDGER_PART_COUNT];
	double compute_ms;
	size_t steady_count;
	int64_t last_ns; /* of anything that was recorded, samples too */
	struct model_communicator *communicators;
	size_t communicator_count;
	struct rank_collective *collectives; /* in the order of calls; without messages */
	size_t collective_count;
	bool is_from_kernels; /* collectives come from kernels' names, numbered by order */

	/* Filled in by job_ranks_build(). Per steady step of this rank, where collectives matched.
	 */
	int64_t clock_offset_ns; /* add it to get the first rank's clock */
	bool is_aligned;
	double communication_ms, waiting_ms;
	double late_ms; /* for which it alone kept the others waiting */
	uint64_t matched, entered_last;
};

void rank_summary_build(const struct model *model, struct rank_summary *out);
void rank_summary_free(struct rank_summary *summary);

#endif
