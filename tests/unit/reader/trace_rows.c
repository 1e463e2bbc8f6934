/* SPDX-License-Identifier: Apache-2.0 */
/* Appends every batch to one array per kind. */
#include "trace_rows.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

static int append(void *context, const struct trace_batch *batch)
{
	struct trace_rows *rows = context;
	size_t old = rows->kinds[batch->kind].count;
	size_t count = old + batch->count;

	rows->kinds[batch->kind].rows =
		realloc(rows->kinds[batch->kind].rows, count * batch->row_bytes);
	rows->kinds[batch->kind].threads =
		realloc(rows->kinds[batch->kind].threads, count * sizeof(uint32_t));
	memcpy(rows->kinds[batch->kind].rows + old * batch->row_bytes, batch->rows,
	       (size_t)batch->count * batch->row_bytes);
	memcpy(rows->kinds[batch->kind].threads + old, batch->thread,
	       batch->count * sizeof(uint32_t));
	rows->kinds[batch->kind].count = count;
	rows->kinds[batch->kind].row_bytes = batch->row_bytes;
	rows->total += batch->count;
	return 0;
}

int trace_rows_load(struct trace *trace, struct trace_rows *rows)
{
	memset(rows, 0, sizeof(*rows));
	return trace_read(trace, UINT64_MAX, append, rows, NULL);
}

void trace_rows_of_file(const char *path, struct trace_rows *rows)
{
	struct trace *trace;
	struct error err = {0};

	if (trace_open(path, &trace, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(trace_rows_load(trace, rows), 0);
	trace_close(trace);
}

const void *trace_rows_at(const struct trace_rows *rows, uint16_t kind, size_t index)
{
	assert_true(index < rows->kinds[kind].count);
	return rows->kinds[kind].rows + index * rows->kinds[kind].row_bytes;
}

void trace_rows_free(struct trace_rows *rows)
{
	for (size_t i = 0; i < RECORD_KIND_LIMIT; i++) {
		free(rows->kinds[i].rows);
		free(rows->kinds[i].threads);
	}
	memset(rows, 0, sizeof(*rows));
}
