/* SPDX-License-Identifier: Apache-2.0 */
/* All fixed-size records of a trace in memory, for tests that compare them. */
#ifndef GPUTRACE_TESTS_TRACE_ROWS_H
#define GPUTRACE_TESTS_TRACE_ROWS_H

#include "trace_reader.h"

struct trace_rows {
	struct {
		uint8_t *rows;
		uint32_t *threads;
		size_t count;
		size_t row_bytes;
	} kinds[RECORD_KIND_LIMIT];
	size_t total;
};

/* The reader's result. */
int trace_rows_load(struct trace *trace, struct trace_rows *rows);
/* Opens, loads, closes; fails the test when that does not work. */
void trace_rows_of_file(const char *path, struct trace_rows *rows);
const void *trace_rows_at(const struct trace_rows *rows, uint16_t kind, size_t index);
void trace_rows_free(struct trace_rows *rows);

#endif
