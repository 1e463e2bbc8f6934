/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is switched in CUPTI as a whole, for cupti_share.c, which decides when.
 */
#ifndef GPUTRACE_SHIM_CUPTI_KINDS_H
#define GPUTRACE_SHIM_CUPTI_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "cupti_abi.h"

#define KINDS 64

/* All kinds of records whose bit is set. */
void cupti_kinds_switch(const struct cupti *cupti, uint64_t kinds, bool is_on);
/* Whether whoever hands out buffers promises zeros in them. */
void cupti_kinds_set_zeroed(const struct cupti *cupti, uint8_t is_zeroed);

#endif
