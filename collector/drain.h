/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From rings to the trace writer: the sink of a ring_reader. Adds what the collector knows better
 * than the job: names of threads, links of GPUs.
 */
#ifndef GPUTRACE_DRAIN_H
#define GPUTRACE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record.h"
#include "ring_reader.h"
#include "totals_reader.h"

#define DRAIN_MAX_DEVICES  32
#define DRAIN_DEVICE_BYTES 512

struct trace_writer;

struct drain_thread {
	uint32_t thread; /* 0: unused */
	char name[16];
};

/* Sees every record of the job that is well formed. */
typedef void drain_record_fn(void *context, uint16_t kind, const void *record);

struct drain {
	struct trace_writer *writer;
	struct ring_reader *reader;
	pid_t pid;		/* 0: this process */
	const char *root;	/* of the machine's files, machine_file.h */
	drain_record_fn *watch; /* NULL: nobody */
	void *watch_context;
	uint64_t records_bytes;
	int write_error; /* negative errno of the last failure to keep records, 0 none */
	uint32_t device_count;
	_Alignas(8) uint8_t devices[DRAIN_MAX_DEVICES][DRAIN_DEVICE_BYTES]; /* record_device each */
	struct drain_thread threads[RING_SLOT_COUNT]; /* parallel to reader->views */
};

void drain_init(struct drain *drain, struct trace_writer *writer, struct ring_reader *reader,
		pid_t pid, const char *root);
/* `watch` is told of copies and launches. */
void drain_watch(struct drain *drain, drain_record_fn *watch, void *context);
/* Everything in the rings now; bytes taken. */
size_t drain_run(struct drain *drain);
/* Losses that the producers counted. */
void drain_count_drops(struct drain *drain);
/* Names of threads that changed, links of GPUs that rose. Asked about once a second. */
void drain_refresh(struct drain *drain);

/* Takes what tables of totals have gained: of all threads, or of those that have ended. */
void drain_totals(struct drain *drain, struct totals_reader *totals, uint64_t now_ticks,
		  enum totals_look look);

#endif
