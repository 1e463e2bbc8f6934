/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the samplers put their numbers: sample records of the session's trace.
 */
#ifndef GPUTRACE_SAMPLE_SINK_H
#define GPUTRACE_SAMPLE_SINK_H

#include <stdint.h>

#include "record.h"

struct trace_writer;

struct sample_sink {
	struct trace_writer *writer;
	uint32_t clock_kind;
};

void sample_emit(const struct sample_sink *sink, enum sample_metric metric, uint32_t subject,
		 int64_t value);

#endif
