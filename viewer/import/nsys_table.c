/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of an nsys export: rows, strings, numbers. Columns come and go with nsys versions, so
 * every query names only those that are there.
 */
#include "nsys_import.h"

#include <errno.h>
#include <string.h>

#include "error.h"
#include "import_stream.h"
#include "text.h"

int nsys_failed(struct nsys *n, const char *doing)
{
	int code = sqlite3_errcode(n->db);
	return error_set(n->err, code == SQLITE_NOMEM ? -ENOMEM : -EINVAL, "cannot %s: %s", doing,
			 sqlite3_errmsg(n->db));
}

int nsys_has_table(struct nsys *n, const char *table)
{
	static const char query[] =
		"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1 "
		"AND sql NOT LIKE 'CREATE VIRTUAL%'";
	sqlite3_stmt *s;
	if (sqlite3_prepare_v2(n->db, query, -1, &s, NULL) != SQLITE_OK)
		return nsys_failed(n, "read the list of tables");
	sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
	int rc = sqlite3_step(s);
	sqlite3_finalize(s);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return nsys_failed(n, "read the list of tables");
	return rc == SQLITE_ROW;
}

/* Which of the columns the table has; bit i for columns[i]. */
static int find_columns(struct nsys *n, const char *table, const char *const *columns, size_t count,
			uint64_t *found)
{
	sqlite3_stmt *s;
	if (sqlite3_prepare_v2(n->db, "SELECT name FROM pragma_table_info(?1)", -1, &s, NULL) !=
	    SQLITE_OK)
		return nsys_failed(n, "read the columns of a table");
	sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
	*found = 0;
	int rc;
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, 0);
		for (size_t i = 0; name && i < count; i++) {
			if (!strcmp(name, columns[i]))
				*found |= 1ull << i;
		}
	}
	sqlite3_finalize(s);
	return rc == SQLITE_DONE ? 0 : nsys_failed(n, "read the columns of a table");
}

/* Only rows of the wanted process, where the table tells whose they are. */
static int add_condition(struct nsys *n, const char *table, struct text *query)
{
	static const char *const owners[] = {"globalPid", "globalTid"};
	uint64_t found = 0;
	int rc;

	if (!n->job->options->process)
		return 0;
	rc = find_columns(n, table, owners, 2, &found);
	if (!rc && found)
		text_addf(query, " WHERE (\"%s\" >> 24 & 16777215) = %lld", owners[!(found & 1)],
			  (long long)n->job->options->process);
	return rc;
}

int nsys_select(struct nsys *n, const char *table, const char *const *columns, size_t count,
		sqlite3_stmt **out)
{
	uint64_t found = 0;
	*out = NULL;
	int rc = nsys_has_table(n, table);
	if (rc <= 0)
		return rc;
	rc = find_columns(n, table, columns, count, &found);
	if (rc)
		return rc;
	struct text query;
	text_init(&query);
	text_add(&query, "SELECT ");
	for (size_t i = 0; i < count; i++)
		text_addf(&query, found >> i & 1 ? "%s\"%s\"" : "%sNULL", i ? ", " : "",
			  columns[i]);
	text_addf(&query, " FROM \"%s\"", table);
	rc = add_condition(n, table, &query);
	if (!rc && sqlite3_prepare_v2(n->db, text_string(&query), -1, out, NULL) != SQLITE_OK)
		rc = nsys_failed(n, "read a table");
	text_fini(&query);
	return rc;
}

int nsys_step(struct nsys *n, sqlite3_stmt *statement, const char *table)
{
	int rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW) {
		if (++n->rows % 16384 == 0 && n->job->options->progress) {
			uint64_t total = import_stream_file_bytes(n->job->stream);
			n->job->options->progress(n->job->options->progress_context, total, total);
		}
		return 1;
	}
	if (rc != SQLITE_DONE) {
		rc = nsys_failed(n, "read its rows");
		error_because(n->err, rc, "table %s", table);
		sqlite3_finalize(statement);
		return rc;
	}
	sqlite3_finalize(statement);
	return 0;
}

bool nsys_has(sqlite3_stmt *statement, int column)
{
	return sqlite3_column_type(statement, column) == SQLITE_INTEGER;
}

int64_t nsys_int(sqlite3_stmt *statement, int column)
{
	return nsys_has(statement, column) ? sqlite3_column_int64(statement, column) : 0;
}

bool nsys_times(struct nsys *n, sqlite3_stmt *statement, uint16_t kind, int64_t *begin_ns,
		int64_t *end_ns)
{
	if (!nsys_has(statement, 0) || !nsys_has(statement, 1)) {
		import_sink_lose(n->sink, kind, LOSS_IMPORT, 1);
		return false;
	}
	if (__builtin_add_overflow(sqlite3_column_int64(statement, 0), n->shift_ns, begin_ns) ||
	    __builtin_add_overflow(sqlite3_column_int64(statement, 1), n->shift_ns, end_ns) ||
	    *begin_ns < 0 || *end_ns < *begin_ns || *end_ns == INT64_MAX) {
		import_sink_lose(n->sink, kind, LOSS_BAD_TIME, 1);
		return false;
	}
	return true;
}

const char *nsys_text(struct nsys *n, int64_t id, size_t *length)
{
	if (!n->string_query)
		return NULL;
	sqlite3_reset(n->string_query);
	sqlite3_bind_int64(n->string_query, 1, id);
	if (sqlite3_step(n->string_query) != SQLITE_ROW)
		return NULL;
	const char *text = (const char *)sqlite3_column_text(n->string_query, 0);
	*length = text ? (size_t)sqlite3_column_bytes(n->string_query, 0) : 0;
	return text;
}

uint64_t nsys_string(struct nsys *n, uint16_t space, int64_t id)
{
	bool is_new;
	uint64_t *slot = map_slot(&n->string_maps[space], (uint64_t)id, &is_new);
	if (is_new) {
		size_t length;
		const char *text = nsys_text(n, id, &length);
		uint64_t number = text ? import_sink_name(n->sink, space, text, length) : 0;
		*slot = number;
	}
	return *slot;
}

int64_t nsys_process(int64_t global)
{
	/* hardware and machine numbers stand above, the thread below. */
	return global >> 24 & 0xffffff;
}

uint32_t nsys_thread(struct nsys *n, int64_t global_tid)
{
	return import_sink_thread(n->sink, nsys_process(global_tid), global_tid & 0xffffff);
}

uint32_t nsys_correlation(struct nsys *n, int64_t process, int64_t correlation)
{
	if (!n->has_many_processes || correlation == 0)
		return (uint32_t)correlation;
	bool is_new;
	uint64_t *slot = map_slot(&n->correlation_map,
				  map_mix((uint64_t)process, (uint64_t)correlation), &is_new);
	if (is_new)
		*slot = n->correlation_map.count;
	return (uint32_t)*slot;
}

uint32_t nsys_ordinal(struct nsys *n, int64_t process, int64_t cuda_device)
{
	if (cuda_device < 0 || cuda_device > 4096)
		return DEVICE_UNKNOWN;
	for (size_t i = 0; i < n->device_count; i++) {
		if (n->devices[i].process == process && n->devices[i].cuda == cuda_device)
			return n->devices[i].ordinal;
	}
	return (uint32_t)cuda_device;
}

uint8_t nsys_memory_kind(int64_t kind)
{
	static const uint8_t kinds[] = {MEMORY_PAGEABLE, MEMORY_PINNED,	 MEMORY_DEVICE,
					MEMORY_ARRAY,	 MEMORY_MANAGED, MEMORY_DEVICE,
					MEMORY_MANAGED,	 MEMORY_UNKNOWN};
	return kind >= 0 && kind < (int64_t)sizeof(kinds) ? kinds[kind] : MEMORY_UNKNOWN;
}
