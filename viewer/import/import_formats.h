/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The importers, one function per format, and what they share. Private to viewer/import.
 */
#ifndef GPUTRACE_IMPORT_FORMATS_H
#define GPUTRACE_IMPORT_FORMATS_H

#include "import.h"

struct error;
struct import_sink;
struct import_stream;

struct import_job {
	const char *path;
	struct import_stream *stream;
	struct import_sink *sink;
	const struct import_options *options;
	struct import_report *report;
};

/* PyTorch profiler and other Chrome traces; also finds out that a JSON file is something else. */
int import_json(struct import_job *job, struct error *err);
/* nsys export --type sqlite. */
int import_nsys(struct import_job *job, struct error *err);

/* PyTorch memory snapshots and NCCL flight recorder dumps. */
int import_pickle(struct import_job *job, struct error *err);

#endif
