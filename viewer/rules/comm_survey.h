/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the steady steps of one device spent in communication kernels, by kind, and how much of it
 * the transfers themselves need: the fastest call of the same kind and size in the run. The rest is
 * waiting for other ranks. Built once per device; the rules about communication read it.
 */
#ifndef GPUTRACE_RULES_COMM_SURVEY_H
#define GPUTRACE_RULES_COMM_SURVEY_H

#include "model.h"

#define COMM_KINDS 11 /* by enum collective_op; [0]: the kernel's name does not tell */

struct comm_use {
	int64_t busy_ns;
	uint64_t kernels, bytes;
};

struct comm_survey {
	struct comm_use kinds[COMM_KINDS];
	struct comm_use all;
	uint64_t sized;	       /* kernels whose bytes are known */
	int64_t sized_ns;      /* their time */
	int64_t transfer_ns;   /* of it, at most, the transfers */
	uint64_t median_bytes; /* of the sized ones that are no messages; 0 none */
	uint64_t sums;	       /* sized ones that are no messages */
	double best_rate;      /* bytes per ns of the fastest */
	uint8_t main_kind;     /* with most time */
	uint32_t call;	       /* that launched the longest of the main kind, MODEL_NONE */
};

void comm_survey_build(const struct model *model, size_t device, struct comm_survey *survey);
/* Share of the time of communication kernels that transfers need, 1 when no sizes are known. */
double comm_survey_transfer_share(const struct comm_survey *survey);

#endif
