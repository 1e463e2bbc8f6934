/* SPDX-License-Identifier: Apache-2.0 */
/* A record that cannot be kept is counted by the writer, so nothing here fails. */
#include "sample_sink.h"

#include "clocks.h"
#include "trace_writer.h"

void sample_emit(const struct sample_sink *sink, enum sample_metric metric, uint32_t subject,
		 int64_t value)
{
	const struct record_sample sample = {
		.head = {.kind = RECORD_KIND_sample, .size_bytes = sizeof(sample)},
		.ticks = clocks_ticks(sink->clock_kind),
		.value = value,
		.subject = subject,
		.metric = (uint16_t)metric,
	};

	trace_writer_add(sink->writer, 0, &sample, sizeof(sample), NULL);
}
