/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of per-step figures and their medians.
 */
#include "step_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xmalloc.h"

static const char *const metric_keys[] = {
#define METRIC(name, key, label) key,
	STEP_METRICS(METRIC)
#undef METRIC
};

static const char *const metric_labels[] = {
#define METRIC(name, key, label) label,
	STEP_METRICS(METRIC)
#undef METRIC
};

const char *step_metric_key(enum step_metric metric)
{
	return metric_keys[metric];
}

const char *step_metric_label(enum step_metric metric)
{
	return metric_labels[metric];
}

enum step_metric step_metric_find(const char *key)
{
	int metric = 0;

	while (metric < STEP_METRIC_COUNT && strcmp(metric_keys[metric], key) != 0)
		metric++;
	return (enum step_metric)metric;
}

static double step_value(const struct model *model, size_t device, enum step_metric metric,
			 size_t step)
{
	const struct device_ledger *ledger = &model->devices[device].ledger;
	const struct step *counts = &model->steps.items[step];
	const struct ledger *parts = ledger->steps ? &ledger->steps[step] : NULL;

	switch (metric) {
	case METRIC_STEP_TIME:
		return parts ? (double)parts->length_ns / 1e6 : 0;
	case METRIC_EXPOSED_COPY:
		return parts && parts->length_ns
			       ? 100.0 * (double)parts->part[LEDGER_COPY] /
					 (double)(parts->length_ns * LEDGER_UNITS_PER_NS)
			       : 0;
	case METRIC_LAUNCHES:
		return counts->launches;
	case METRIC_BYTES:
		return (double)(counts->h2d_bytes + counts->d2h_bytes);
	default:
		return 0;
	}
}

void step_values_build(const struct model *model, size_t device, enum step_metric metric,
		       struct step_values *out)
{
	const struct device_ledger *ledger = &model->devices[device].ledger;
	bool needs_gpu = metric == METRIC_STEP_TIME || metric == METRIC_EXPOSED_COPY;

	out->values = xmalloc((model->steps.count + 1) * sizeof(*out->values));
	out->count = 0;
	if (metric == METRIC_PEAK_MEMORY) {
		if (model->devices[device].memory.allocations)
			out->values[out->count++] =
				(double)model->devices[device].memory.peak_bytes / 1048576;
		return;
	}
	for (size_t i = 0; i < model->steps.count; i++) {
		if (model->steps.items[i].kind != STEP_STEADY)
			continue;
		if (needs_gpu && (!ledger->steps || !ledger->steps[i].length_ns))
			continue;
		out->values[out->count++] = step_value(model, device, metric, i);
	}
}

void step_values_free(struct step_values *values)
{
	free(values->values);
	memset(values, 0, sizeof(*values));
}

static int compare_values(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double sorted_quantile(const double *sorted, size_t count, double quantile)
{
	double at = quantile * (double)(count - 1);
	size_t below = (size_t)at;
	double share = at - (double)below;

	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] * (1 - share) + sorted[below + 1] * share;
}

static double *sorted_copy(const struct step_values *values)
{
	double *sorted = xmalloc((values->count + 1) * sizeof(*sorted));

	memcpy(sorted, values->values, values->count * sizeof(*sorted));
	qsort(sorted, values->count, sizeof(*sorted), compare_values);
	return sorted;
}

double step_values_quantile(const struct step_values *values, double quantile)
{
	double *sorted;
	double result;

	if (!values->count)
		return 0;
	sorted = sorted_copy(values);
	result = sorted_quantile(sorted, values->count, quantile);
	free(sorted);
	return result;
}

struct step_summary step_values_summary(const struct step_values *values)
{
	struct step_summary summary = {0, 0, 0, 0, 0, 0};
	double *sorted;

	if (!values->count)
		return summary;
	sorted = sorted_copy(values);
	summary.min = sorted[0];
	summary.max = sorted[values->count - 1];
	summary.median = sorted_quantile(sorted, values->count, 0.5);
	summary.p95 = sorted_quantile(sorted, values->count, 0.95);
	for (size_t i = 0; i < values->count; i++)
		summary.mean += sorted[i] / (double)values->count;
	for (size_t i = 0; i < values->count; i++)
		sorted[i] = fabs(sorted[i] - summary.median);
	qsort(sorted, values->count, sizeof(*sorted), compare_values);
	summary.mad = sorted_quantile(sorted, values->count, 0.5);
	free(sorted);
	return summary;
}
