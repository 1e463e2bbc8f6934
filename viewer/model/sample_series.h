/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the collector sampled (sample.def) as time series, one per metric and subject, and where the
 * pages of copy buffers lay. Memory is bounded: a series that grows too long is thinned out.
 */
#ifndef GPUTRACE_MODEL_SAMPLE_SERIES_H
#define GPUTRACE_MODEL_SAMPLE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

struct model;
struct model_builder;
struct trace_batch;

struct sample_point {
	int64_t time_ns, value;
};

struct sample_series {
	uint16_t metric; /* enum sample_metric */
	uint32_t subject;
	struct sample_point *points; /* by time */
	size_t count, capacity;
	uint32_t stride, skipped; /* one of `stride` samples is kept */
};

/* One look at the pages of a host buffer. */
struct page_sample {
	int64_t time_ns;
	uint64_t address, size_bytes;
	uint32_t sampled, on_node;
	int32_t node;
	uint32_t device; /* ordinal */
};

/* NULL: nothing was sampled. */
const struct sample_series *sample_series_find(const struct model *model, enum sample_metric metric,
					       uint32_t subject);
/* The newest point at or before `time_ns`, else the first one; SIZE_MAX without points. */
size_t sample_series_at(const struct sample_series *series, int64_t time_ns);
/* How much a counter grew between the samples around two times, and how long that was; false when
 * there are fewer than two samples, or when it fell. */
bool sample_series_growth(const struct sample_series *series, int64_t begin_ns, int64_t end_ns,
			  double *growth, double *covered_ns);

/* The steady part of the run on the host: warm-up runs where the process was started. */
void sample_window(const struct model *model, int64_t *begin_ns, int64_t *end_ns);
/* Whether the GPU worked when a sample of it was taken. */
bool sample_is_loaded(const struct model *model, size_t device, int64_t time_ns);

/* ---- for the model ---- */

void collect_samples(struct model_builder *builder, const struct trace_batch *batch);
void collect_pages(struct model_builder *builder, const struct trace_batch *batch);
void sample_series_sort(struct model *model);
void sample_series_free(struct model *model);

#endif
