/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of one job side by side: their collectives matched by communicator and sequence number,
 * their clocks aligned, and each collective's time told apart into transfer (the shortest of all
 * ranks) and waiting for the last rank to come.
 */
#ifndef GPUTRACE_RANKS_JOB_RANKS_H
#define GPUTRACE_RANKS_JOB_RANKS_H

#include "rank_summary.h"

/* One collective of which the files say something different than that all is well. */
struct collective_case {
	uint64_t hash;
	uint32_t sequence;
	uint32_t first, second; /* indexes of ranks: that differ; that joined, that did not */
	size_t count;		/* cases of this communicator in all, from this one on */
};

struct job_ranks {
	struct rank_summary *items; /* by rank */
	size_t count;
	bool is_job;	     /* they are ranks of one job: something connects them */
	bool is_by_order;    /* collectives matched by their order alone */
	uint32_t world_size; /* 0 unknown; more than count: files are missing */
	size_t matched;	     /* collectives that all ranks of their communicator have, with times */
	double waiting_ms;   /* of all ranks per step */
	double late_ms;	     /* kept waiting by one rank alone, per step, of all ranks */
	double step_ms;	     /* mean of the ranks that can be compared */
	size_t detail;	     /* the rank that stands for the others, or that keeps them waiting */
};

/* Takes the summaries over. */
void job_ranks_build(struct rank_summary *items, size_t count, struct job_ranks *out);
void job_ranks_free(struct job_ranks *job);

/* Whether the rank has figures like the others': of a step, where any of them has steps. A rank
 * that stopped after a few has none, and its whole run is no step. */
bool job_ranks_is_comparable(const struct job_ranks *job, size_t index);
/* The smallest set of ranks, at most a quarter of them and at least one, that causes most of the
 * waiting: how many, and their indexes by what they cause; *share of late_ms. */
size_t job_ranks_latest(const struct job_ranks *job, size_t *indexes, double *share);
/* The ledger part in which a rank has most more than the median of the others, and how much. */
enum ledger_part job_ranks_excess(const struct job_ranks *job, size_t index, double *excess_ms);

/* Groups of entries with one communicator and number, by communicator, then number. */
struct collective_entry {
	const struct rank_collective *of;
	uint32_t rank; /* index */
};
struct collective_entry *job_ranks_entries(const struct job_ranks *job, size_t *count);

#endif
