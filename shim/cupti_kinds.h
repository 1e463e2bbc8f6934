/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is switched in CUPTI as a whole, for cupti_share.c, which decides when.
 */
#ifndef GPUTRACE_SHIM_CUPTI_KINDS_H
#define GPUTRACE_SHIM_CUPTI_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cupti_abi.h"

#define KINDS 64

/* "what: NAME (number)" of a result, in the buffer. */
const char *cupti_kinds_result(const struct cupti *cupti, int result, char *buffer, size_t size,
			       const char *what);
/* At the start: enables what is wanted, and says what could not be and how graphs are timed. The
 * count of the main kinds that are on. */
int cupti_kinds_enable(const struct cupti *cupti, char *missing, size_t size, const char **graphs);
/* Facts about it, once the session takes them. */
void cupti_kinds_tell(const struct cupti *cupti);
/* All kinds of records whose bit is set. */
void cupti_kinds_switch(const struct cupti *cupti, uint64_t kinds, bool is_on);
/* Whether whoever hands out buffers promises zeros in them. */
void cupti_kinds_set_zeroed(const struct cupti *cupti, uint8_t is_zeroed);

#endif
