/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes an nsys export holds: `nsys profile torchrun` writes all ranks of a host into one
 * file. A process without GPU work (launchers, loaders) is none, unless no process has any.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "error.h"
#include "import_stream.h"
#include "nsys_import.h"
#include "text.h"

struct id_list {
	int64_t *items;
	size_t count, capacity;
};

static int compare_ids(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

static void add_id(struct id_list *list, int64_t id)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i] == id)
			return;
	}
	if (list->count == list->capacity)
		list->items = array_grow(list->items, &list->capacity, sizeof(*list->items));
	list->items[list->count++] = id;
}

/* SQLite finds the distinct ones; a table without the column has none. */
static void add_table(struct nsys *n, const char *table, const char *owner, struct id_list *list)
{
	struct text query;
	sqlite3_stmt *s = NULL;

	if (nsys_has_table(n, table) <= 0)
		return;
	text_init(&query);
	text_addf(&query, "SELECT DISTINCT %s >> 24 & 16777215 FROM \"%s\" WHERE %s IS NOT NULL",
		  owner, table, owner);
	if (sqlite3_prepare_v2(n->db, text_string(&query), -1, &s, NULL) == SQLITE_OK) {
		while (sqlite3_step(s) == SQLITE_ROW)
			add_id(list, sqlite3_column_int64(s, 0));
	}
	sqlite3_finalize(s);
	text_fini(&query);
}

size_t import_processes(const char *path, int64_t **out)
{
	static const char *const gpu_tables[] = {"CUPTI_ACTIVITY_KIND_KERNEL",
						 "CUPTI_ACTIVITY_KIND_MEMCPY",
						 "CUPTI_ACTIVITY_KIND_MEMSET"};
	struct import_options options = {0};
	struct import_job job = {.path = path, .options = &options};
	struct error err = {0};
	struct nsys n = {.job = &job, .err = &err};
	struct id_list list = {0};
	const unsigned char *data;

	*out = NULL;
	if (import_stream_open(path, &job.stream, &err))
		return 0;
	if (import_stream_peek(job.stream, &data, 16, &err) == 16 &&
	    !memcmp(data, "SQLite format 3", 16) && !nsys_open(&n)) {
		for (size_t i = 0; i < 3; i++)
			add_table(&n, gpu_tables[i], "globalPid", &list);
		if (!list.count)
			add_table(&n, "CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid", &list);
	}
	sqlite3_close(n.db);
	import_stream_close(job.stream);
	if (list.count < 2) {
		free(list.items);
		return 0;
	}
	qsort(list.items, list.count, sizeof(*list.items), compare_ids);
	*out = list.items;
	return list.count;
}
