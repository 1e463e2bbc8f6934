/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is this a whole record whose inner lengths fit its size? Rings and files are hostile input; both
 * the collector and the reader look at nothing behind a record head before asking here.
 */
#ifndef GPUTRACE_FORMAT_RECORD_CHECK_H
#define GPUTRACE_FORMAT_RECORD_CHECK_H

#include <stddef.h>
#include <stdint.h>

enum record_verdict {
	RECORD_GOOD,	/* a record of a known kind */
	RECORD_FOREIGN, /* whole, but of a kind that this program does not know: skip by its size */
	RECORD_BAD	/* not a record; what follows cannot be found */
};

struct record_schema;

/* `bytes` are readable at `record`, which needs no alignment. Sets *size_bytes unless BAD. A fixed
 * kind may be longer than here (a newer minor version) or shorter (an older one): take it with
 * record_copy(). */
enum record_verdict record_check(const void *record, size_t bytes, uint16_t *kind,
				 uint16_t *size_bytes);

/* A good record of a fixed kind as a struct of this version: fields that it does not have are zero,
 * fields that are not known here are left out. `row` has schema->size_bytes. */
void record_copy(void *row, const void *record, const struct record_schema *schema);

#endif
