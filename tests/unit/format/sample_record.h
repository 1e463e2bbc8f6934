/* SPDX-License-Identifier: Apache-2.0 */
/* Records of any kind for tests, made from the schema, so that new kinds and fields are tested too.
 */
#ifndef GPUTRACE_TESTS_SAMPLE_RECORD_H
#define GPUTRACE_TESTS_SAMPLE_RECORD_H

#include <stddef.h>
#include <stdint.h>

enum sample_values {
	SAMPLE_ZERO,	 /* every field 0 */
	SAMPLE_LARGEST,	 /* every bit of every field set */
	SAMPLE_SWINGING, /* from smallest to largest and back at every row */
	SAMPLE_RANDOM,	 /* all bits random */
	SAMPLE_FEW,	 /* a handful of values per field */
	SAMPLE_MANY,	 /* some thousand values per field */
	SAMPLE_RISING,	 /* as times and ids are: growing a little each row */
	SAMPLE_VALUES
};

#define SAMPLE_MAX_BYTES 512

/* Row `row` of a fixed-size kind; returns its size. */
size_t sample_record(void *record, uint16_t kind, enum sample_values values, uint32_t row);
/* A TEXT record of about `bytes`; `number` tells one thing from another. Returns its size. */
size_t sample_text_record(void *record, uint16_t kind, uint64_t number, size_t bytes);

#endif
