/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the import tests share: a recording from a string or a file, imported into a temporary
 * folder and read back.
 */
#ifndef GPUTRACE_TEST_IMPORT_FIXTURE_H
#define GPUTRACE_TEST_IMPORT_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "import.h"
#include "record.h"
#include "trace_reader.h"

struct imported {
	int rc;
	struct error err;
	struct import_report report;
	struct trace *trace; /* NULL when rc != 0 */
	char folder[64];
	bool left_files; /* something other than the output stayed behind */
};

/* The result is never a crash: rc and err say what happened. */
void import_bytes(const void *bytes, size_t count, bool keep_partial, struct imported *out);
void import_text(const char *json, struct imported *out);
/* An array of events around `events`, with a base time. */
void import_events(const char *events, struct imported *out);
void imported_free(struct imported *imported);

/* A copy of the index-th record of a kind, in file order; false when there are fewer. */
bool imported_record(struct imported *imported, uint16_t kind, size_t index, void *record,
		     uint32_t *thread);
size_t imported_count(struct imported *imported, uint16_t kind);
/* Text of a name, "" when unknown. */
const char *imported_name(struct imported *imported, uint16_t space, uint64_t id);

#endif
