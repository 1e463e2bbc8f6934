/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line of an instruction, read from a code object's own table.
 *
 * Works on plain bytes, so that it serves copies of another thread's objects too and needs neither
 * the GIL nor a call into libpython.
 */
#ifndef GPUTRACE_SITE_PYTHON_LINES_H
#define GPUTRACE_SITE_PYTHON_LINES_H

#include "site_python_offsets.h"

#include <stddef.h>
#include <stdint.h>

/* offset_bytes: of the instruction. Returns the 1-based line, 0 when the table has none for it. */
uint32_t python_lines_find(enum python_lines format, const uint8_t *table, size_t size_bytes,
			   uint32_t first_line, uint32_t offset_bytes);

#endif
