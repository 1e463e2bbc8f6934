/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of one import of an nsys SQLite export. Private to the nsys_*.c files: nsys_import.c opens
 * the database, nsys_table.c reads rows, nsys_describe.c the session, nsys_host.c and nsys_gpu.c
 * the events.
 */
#ifndef GPUTRACE_NSYS_IMPORT_H
#define GPUTRACE_NSYS_IMPORT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "import_formats.h"
#include "import_join.h"
#include "import_sink.h"
#include "import_sites.h"
#include "map.h"

/* CUPTI numbers kept as they are would collide between processes. */
struct nsys_device {
	int64_t process;
	uint32_t cuda, ordinal;
};

struct nsys {
	struct import_job *job;
	struct import_sink *sink;
	struct import_sites *sites;
	struct import_join *join;
	struct error *err;
	sqlite3 *db;
	sqlite3_stmt *string_query;
	struct map string_maps[6];  /* by name space: StringIds.id -> our number */
	struct map correlation_map; /* process and correlation -> our correlation, when needed */
	struct map usage_map;	    /* correlation -> index + 1 into usages */
	struct map api_map;	    /* our API number -> packed class */
	struct map domain_map;	    /* NVTX domainId -> NAME_MARK number */
	struct nsys_usage *usages;
	size_t usage_count, usage_capacity;
	struct nsys_device *devices;
	size_t device_count, device_capacity;
	bool has_many_processes;
	int64_t shift_ns; /* added to every time: exports may begin before 0 */
	uint64_t launches, rows;
};

/* One of CUDA_GPU_MEMORY_USAGE_EVENTS. */
struct nsys_usage {
	uint64_t address, bytes;
	uint8_t memory_kind;
};

/* Sets the error from SQLite's; returns its code. */
int nsys_failed(struct nsys *n, const char *doing);
/* 1, 0, or negative. Views and virtual tables do not count. */
int nsys_has_table(struct nsys *n, const char *table);
/*
 * Prepares "SELECT columns FROM table", NULL for columns that this version of nsys does not write.
 * *out is NULL when there is no such table.
 */
int nsys_select(struct nsys *n, const char *table, const char *const *columns, size_t count,
		sqlite3_stmt **out);
/* 1 a row, 0 the end (the statement is finalized), negative failed (likewise). */
int nsys_step(struct nsys *n, sqlite3_stmt *statement, const char *table);

bool nsys_has(sqlite3_stmt *statement, int column);
int64_t nsys_int(sqlite3_stmt *statement, int column);
/* Begin (column 0) and end (column 1), shifted; false: counted as lost. */
bool nsys_times(struct nsys *n, sqlite3_stmt *statement, uint16_t kind, int64_t *begin_ns,
		int64_t *end_ns);
/* Our number for a StringIds row; 0 when there is none. */
uint64_t nsys_string(struct nsys *n, uint16_t space, int64_t id);
/* The text of a StringIds row, valid until the next call; NULL none. */
const char *nsys_text(struct nsys *n, int64_t id, size_t *length);
uint32_t nsys_correlation(struct nsys *n, int64_t process, int64_t correlation);
uint32_t nsys_ordinal(struct nsys *n, int64_t process, int64_t cuda_device);
/* Process and thread of a globalTid or globalPid. */
int64_t nsys_process(int64_t global);
uint32_t nsys_thread(struct nsys *n, int64_t global_tid);
uint8_t nsys_memory_kind(int64_t kind);

int nsys_open(struct nsys *n);
int nsys_read_session(struct nsys *n);
int nsys_read_environment(struct nsys *n);
int nsys_read_devices(struct nsys *n);
int nsys_read_host(struct nsys *n);
int nsys_read_gpu(struct nsys *n);

#endif
