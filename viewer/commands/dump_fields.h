/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record as named, readable fields: ticks become nanoseconds since the session's start, numbers
 * of names become the names, enumerations their words, addresses hexadecimal.
 */
#ifndef GPUTRACE_COMMANDS_DUMP_FIELDS_H
#define GPUTRACE_COMMANDS_DUMP_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "record_schema.h"
#include "text.h"
#include "trace_reader.h"

/* The key to print, with its unit: "call.begin_ticks" is "begin_ns". */
const char *dump_field_key(const struct record_column *column);
/* Adds the value, printable; *is_number says whether it is a JSON number. */
void dump_field_value(struct text *text, const struct trace *trace, uint16_t kind,
		      const struct record_column *column, const void *record, bool *is_number);

#endif
