/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of every fixed-size record kind: which bytes of the struct are one column, its number
 * in files, and how the writer should encode it. Writer and reader both go by this table, so a new
 * field is one row here, one struct member in record.h and one row in FORMAT.md.
 */
#ifndef GPUTRACE_FORMAT_RECORD_SCHEMA_H
#define GPUTRACE_FORMAT_RECORD_SCHEMA_H

#include <stdint.h>

#define RECORD_COLUMNS_MAX 64 /* of one kind */

/* How a column of an event (trace_file.h, CHUNK_EVENTS) is written; the reader takes any way. */
enum column_varies {
	VARIES_NOT = 0,	 /* part of the pattern: another value is another pattern */
	VARIES_FREELY,	 /* an address, a size: mostly that of the pattern, sometimes any other */
	VARIES_STEADILY, /* a counter: near the last one */
	VARIES_ALWAYS	 /* times and numbers that the model guesses */
};

struct record_column {
	const char *name;
	uint16_t id;	  /* in files; > 0, unique in its kind, never reused */
	uint16_t offset;  /* in the struct */
	uint8_t width;	  /* 1, 2, 4 or 8 bytes */
	uint8_t encoding; /* enum column_encoding the writer tries; it falls back to PLAIN */
	uint8_t varies;	  /* enum column_varies: of events only, how it differs from the pattern */
	uint16_t relative_to; /* OFFSET, GAP, DRIFT: id of the other column */
	uint16_t keys[2];     /* GAP: ids of columns that predict the times, the better one first */
};

struct record_schema {
	const char *name;      /* of the kind, NULL for an unknown one */
	uint16_t size_bytes;   /* sizeof the struct (TEXT kinds: of the fixed part) */
	uint16_t least_bytes;  /* size in the version that brought the kind; see record_check.h */
	uint16_t column_count; /* 0 for TEXT kinds */
	uint16_t time_offset;  /* of the u64 that orders the records; 0 none */
	const struct record_column *columns;
};

/* Never NULL; an unknown kind gives a schema with name NULL. */
const struct record_schema *record_schema_of(uint16_t kind);

#endif
