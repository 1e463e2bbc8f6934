/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether two samples of step figures differ by more than a tolerance, or one lies above a limit,
 * with the noise that step times have. Deterministic: the same samples give the same verdict.
 */
#ifndef GPUTRACE_COMMANDS_GATE_STATS_H
#define GPUTRACE_COMMANDS_GATE_STATS_H

#include <stdbool.h>

#include "step_stats.h"

enum gate_status { GATE_PASS, GATE_FAIL, GATE_INCONCLUSIVE, GATE_TOO_FEW };

const char *gate_status_word(enum gate_status status);

/* An estimate with its 99 % interval, by bootstrap of the median. */
struct gate_estimate {
	double value, low, high;
};

struct gate_estimate gate_median(const struct step_values *sample);
/* The median of the medians of several runs. */
double gate_runs_median(const struct step_values *runs, size_t count);
/* Change of the median from baseline to current: percent of the baseline, or the plain difference
 * (for values that are percentages themselves). By as much as the runs of the baseline differ from
 * each other, the current one may differ from its like: with several runs the interval holds that
 * too, with one it is of the steps alone. */
struct gate_estimate gate_change(const struct step_values *baseline, size_t runs,
				 const struct step_values *current, bool is_difference);

/* PASS: the median is not above the limit. FAIL: the interval lies above it. */
enum gate_status gate_judge_limit(const struct gate_estimate *median, double limit);
/* FAIL only when the whole interval lies above the tolerance; INCONCLUSIVE when something certainly
 * grew, by perhaps more than the tolerance; noise that may be no change at all passes. */
enum gate_status gate_judge_change(const struct gate_estimate *change, double tolerance);

#endif
