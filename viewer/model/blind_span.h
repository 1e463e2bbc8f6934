/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the recording was blind: switched off as a whole, or without the times of kernels or of all
 * GPU work. What a step that touches such a time lacks is not known, so it counts as partial.
 */
#ifndef GPUTRACE_MODEL_BLIND_SPAN_H
#define GPUTRACE_MODEL_BLIND_SPAN_H

#include <stdbool.h>
#include <stdint.h>

struct model;

struct blind_span {
	int64_t begin_ns, end_ns;
};

/* Whether a stretch of time touches one. */
bool blind_span_touches(const struct model *model, int64_t begin_ns, int64_t end_ns);
/* Their sum within the recording, and in percent of it. */
int64_t blind_span_total_ns(const struct model *model);
double blind_span_percent(const struct model *model);

#endif
