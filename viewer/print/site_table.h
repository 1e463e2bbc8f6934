/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report --by site: what every line of the program costs in a steady step, the dearest first.
 */
#ifndef GPUTRACE_PRINT_SITE_TABLE_H
#define GPUTRACE_PRINT_SITE_TABLE_H

#include <stdio.h>

#include "json.h"
#include "model.h"
#include "symbols.h"

/* One place; stacks that lead through the same line are one row. Sums over steady steps. */
struct site_row {
	char *place;  /* "train.py:41 in loss_fn (cudaMemcpyAsync)", printable */
	char *native; /* the native frame behind a Python line, NULL none */
	uint64_t launches, copies, syncs, calls, bytes;
	int64_t gpu_ns, host_ns, idle_ns, exposed_ns;
};

struct site_table {
	const struct model *model;
	struct site_row *rows; /* by lost time, then GPU time, host time, name */
	size_t count;
	size_t steps; /* that the sums are over, at least 1 */
	/* Of the ledgers of all devices: charged to no place. */
	int64_t gpu_wait_ns, unknown_ns;
};

void site_table_build(const struct model *model, struct symbols *symbols, struct site_table *out);
void site_table_free(struct site_table *table);
/* idle_ns + exposed_ns */
int64_t site_row_lost_ns(const struct site_row *row);

/* limit: rows to print, 0 all. */
void site_table_print(const struct site_table *table, FILE *to, size_t limit);
/* An object {"path", "steps", "sites": [...], ...} */
void site_table_add_json(const struct site_table *table, struct json *json);

#endif
