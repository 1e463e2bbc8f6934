/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of each steady step of one device, as lists, and what is read off such lists.
 */
#ifndef GPUTRACE_MODEL_STEP_STATS_H
#define GPUTRACE_MODEL_STEP_STATS_H

#include "model.h"

/* key (with the unit), label. STEP_TIME comes first. */
#define STEP_METRICS(METRIC)                                                                       \
	METRIC(STEP_TIME, "step_time_ms", "step time")                                             \
	METRIC(EXPOSED_COPY, "exposed_copy_percent", "exposed copies")                             \
	METRIC(LAUNCHES, "launches_per_step", "kernel launches per step")                          \
	METRIC(BYTES, "bytes_per_step", "host-link bytes per step")                                \
	METRIC(PEAK_MEMORY, "peak_memory_mib", "peak device memory")

enum step_metric {
#define METRIC(name, key, label) METRIC_##name,
	STEP_METRICS(METRIC)
#undef METRIC
		STEP_METRIC_COUNT
};

const char *step_metric_key(enum step_metric metric);
const char *step_metric_label(enum step_metric metric);
/* STEP_METRIC_COUNT when there is none of that key. */
enum step_metric step_metric_find(const char *key);

/* One value per steady step; PEAK_MEMORY has one value in all. */
struct step_values {
	double *values;
	size_t count;
};
void step_values_build(const struct model *model, size_t device, enum step_metric metric,
		       struct step_values *out);
void step_values_free(struct step_values *values);

struct step_summary {
	double mean, median, mad, p95, min, max; /* mad: median absolute deviation */
};
struct step_summary step_values_summary(const struct step_values *values);
/* Sorts a copy; 0 for an empty list. */
double step_values_quantile(const struct step_values *values, double quantile);

#endif
