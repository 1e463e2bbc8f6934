/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which traces of a baseline a trace is compared with: one, or one of each run where the baseline
 * holds several runs of the same job.
 */
#ifndef GPUTRACE_COMMANDS_GATE_BASELINE_H
#define GPUTRACE_COMMANDS_GATE_BASELINE_H

#include "model.h"

struct gate_baseline {
	const struct model **models; /* [current * runs + run]; NULL: they do not fit together */
	size_t runs;
	char *mismatch; /* why they do not fit together, or cannot be compared; NULL; owned */
};

void gate_baseline_build(const struct model *const *current, size_t current_count,
			 const struct model *const *baseline, size_t baseline_count,
			 struct gate_baseline *out);
void gate_baseline_free(struct gate_baseline *baseline);

#endif
