/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a sink. Private to import_sink.c (times, losses, the file) and import_describe.c
 * (names, sites, threads, facts, devices).
 */
#ifndef GPUTRACE_IMPORT_SINK_INTERNAL_H
#define GPUTRACE_IMPORT_SINK_INTERNAL_H

#include "error.h"
#include "import_sink.h"
#include "map.h"

struct trace_writer;

#define SINK_RECORD_MAX 65528u

struct sink_thread {
	int64_t process, thread;
	uint32_t call_count;
	char *name;
	uint64_t begin_ticks;
};

struct sink_name {
	char *text;
	size_t length;
	uint64_t id;
	uint16_t space;
	uint32_t next; /* with the same hash, index + 1 */
};

struct sink_spooled {
	uint32_t thread;
	uint32_t offset;
};

struct sink_device {
	uint32_t ordinal;
	_Alignas(8) char record[sizeof(struct record_device) + 264];
};

struct import_sink {
	int dir_fd;
	char *file_name;
	struct trace_writer *writer;
	int failed;
	struct error failure;

	bool settled;
	int64_t middle_ns; /* the median of the first events */
	bool has_realtime;
	int64_t realtime_offset_ns;

	unsigned char *spool;
	size_t spool_bytes, spool_capacity, spool_events;
	struct sink_spooled *spooled;
	size_t spooled_count, spooled_capacity;

	struct map name_map; /* hash of space and text -> index + 1 */
	struct sink_name *names;
	size_t name_count, name_capacity;
	uint64_t last_id[8]; /* by space */

	struct map site_map;   /* ids of written sites */
	struct map thread_map; /* hash of process and thread -> index + 1 */
	struct sink_thread *threads;
	size_t thread_count, thread_capacity;

	uint64_t losses[RECORD_KIND_LIMIT][LOSS_IMPORT + 1];
	struct sink_device *devices; /* as described; written at the end */
	size_t device_count, device_capacity;
	uint64_t used_devices; /* bits of ordinals below 64 that did something */
	struct import_totals totals;
	_Alignas(8) char record[SINK_RECORD_MAX]; /* where long records are put together */
};

/* Hands a record to the writer, which it creates at the first one. */
void import_sink_write(struct import_sink *sink, uint32_t thread, const void *record);
void import_sink_write_threads(struct import_sink *sink);
void import_sink_write_devices(struct import_sink *sink);

#endif
