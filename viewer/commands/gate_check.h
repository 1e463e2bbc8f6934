/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks of a gate: limits and changes against a baseline, judged on one device after another.
 */
#ifndef GPUTRACE_COMMANDS_GATE_CHECK_H
#define GPUTRACE_COMMANDS_GATE_CHECK_H

#include "gate_baseline.h"
#include "gate_profile.h"
#include "gate_stats.h"
#include "model.h"

#define GATE_CHANGE_LIMIT 8

struct gate_options {
	double limit[STEP_METRIC_COUNT];     /* NaN: none */
	double tolerance[STEP_METRIC_COUNT]; /* percent; points for exposed copies */
	size_t min_steps;
	bool allows_mismatch;
};
void gate_options_init(struct gate_options *options);
/* The tolerance of exposed copies is in percentage points of the step, the others' in percent. */
bool gate_metric_is_points(enum step_metric metric);

struct gate_check {
	enum step_metric metric;
	bool is_change; /* against the baseline; else against a limit */
	size_t run, device;
	double limit; /* or tolerance */
	double baseline_value;
	struct gate_estimate current; /* median */
	struct gate_estimate change;
	size_t baseline_count, current_count; /* steps, of all runs */
	enum gate_status status;
};

struct gate_result {
	struct gate_check *checks;
	size_t count, capacity;
	const char *summed;	       /* why steps cannot be judged at all: only totals; NULL */
	struct gate_baseline baseline; /* which trace is compared with which */
	struct profile_change changes[GATE_CHANGE_LIMIT];
	size_t change_count;
	enum gate_status status; /* the worst: FAIL, then INCONCLUSIVE and TOO_FEW, then PASS */
};

/* baseline_count 0: limits only; a multiple of current_count: several runs of the same job. */
void gate_run(const struct gate_options *options, const struct model *const *current,
	      size_t current_count, const struct model *const *baseline, size_t baseline_count,
	      struct gate_result *result);
void gate_result_free(struct gate_result *result);

#endif
