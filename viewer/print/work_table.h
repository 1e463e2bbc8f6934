/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report --by kernel: what the GPUs did in a steady step, by kernel, kind of copy and graph, the
 * longest first.
 */
#ifndef GPUTRACE_PRINT_WORK_TABLE_H
#define GPUTRACE_PRINT_WORK_TABLE_H

#include <stdio.h>

#include "json.h"
#include "model.h"

/* Sums over the operations that begin in steady steps, of all devices. */
struct work_row {
	const char *kind; /* "matrix products", "copies", ... */
	char *name;	  /* printable; owned */
	uint64_t count, bytes;
	int64_t gpu_ns, shortest_ns, longest_ns;
};

struct work_table {
	const struct model *model;
	struct work_row *rows; /* by GPU time, then name */
	size_t count;
	size_t steps; /* that the sums are over, at least 1 */
	int64_t gpu_ns;
};

void work_table_build(const struct model *model, struct work_table *out);
void work_table_free(struct work_table *table);

/* limit: rows to print, 0 all. */
void work_table_print(const struct work_table *table, FILE *to, size_t limit);
/* An object {"path", "steady_steps", "work": [...], ...} */
void work_table_add_json(const struct work_table *table, struct json *json);

#endif
