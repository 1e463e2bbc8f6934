/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of one device in which something happened that does not happen in the others: how much
 * longer the GPU had nothing to do, and whether that comes back after a fixed number of steps.
 * Built once per device; the rules about stalls read it.
 */
#ifndef GPUTRACE_RULES_STALL_SURVEY_H
#define GPUTRACE_RULES_STALL_SURVEY_H

#include "model.h"

struct stall {
	size_t step;
	int64_t excess_ns;  /* without work or copying, beyond what the median step has */
	int64_t gap_ns;	    /* its longest idle gap */
	uint32_t call;	    /* that ended that gap, MODEL_NONE unknown */
	bool is_checkpoint; /* much more came back from the GPU than in the median step */
};

struct stall_survey {
	struct stall *items; /* by step */
	size_t count;
	size_t judged_steps; /* steady and outlying ones in which the device did something */
	int64_t judged_ns;   /* their length */
	int64_t median_ns;   /* of their lengths */
	int64_t excess_ns;   /* of all stalls */
	size_t checkpoints;
	/* The stalls that are at least half as long as the median one; shorter ones are noise. */
	bool is_periodic;
	size_t periodic_count;
	int64_t periodic_ns;
	double period_steps;			/* median distance of them */
	size_t shortest_period, longest_period; /* likewise */
};

/* Steps of fewer than this tell nothing of what is usual. */
#define STALL_LEAST_STEPS 8

void stall_survey_build(const struct model *model, size_t device, struct stall_survey *survey);
void stall_survey_free(struct stall_survey *survey);

#endif
