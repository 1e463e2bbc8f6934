/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importers of documents that are read whole: PyTorch memory snapshots and NCCL flight recorder
 * dumps. Private to viewer/import.
 */
#ifndef GPUTRACE_DUMP_IMPORT_H
#define GPUTRACE_DUMP_IMPORT_H

#include "data_tree.h"
#include "import_formats.h"
#include "map.h"

struct dump {
	struct import_job *job;
	struct import_sink *sink;
	struct map frame_lists; /* address of a list of frames -> site: lists are shared */
	struct error *err;
};

/* The site of [{name, filename, line}, ...], innermost first; 0 without frames. */
uint64_t dump_site(struct dump *dump, const struct data_value *frames);

int snapshot_import(struct dump *dump, const struct data_value *root);
bool flight_recorder_matches(const struct data_value *root);
int flight_recorder_import(struct dump *dump, const struct data_value *root);

/* The members of a flight recorder dump in JSON; see kineto_import.c. */
int import_flight_json(struct import_job *job, const struct data_value *root, struct error *err);

#endif
