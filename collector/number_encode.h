/* SPDX-License-Identifier: Apache-2.0 */
/* The forms in which differences stand in a column (FORMAT.md, 2.5): planes and varints. */
#ifndef GPUTRACE_NUMBER_ENCODE_H
#define GPUTRACE_NUMBER_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_VARINT_MAX_BYTES 10

/* Bytes of the largest number: as many planes. */
unsigned int number_count_planes(const uint64_t *numbers, uint32_t count);
/* A few large numbers among small ones need many planes that are nearly empty: then varints. */
bool number_varints_are_shorter(const uint64_t *numbers, uint32_t count, unsigned int planes);

/* Each writes the numbers to `to` and returns the bytes it took. */
size_t number_put_planes(const uint64_t *numbers, uint32_t count, unsigned int planes, uint8_t *to);
size_t number_put_varints(const uint64_t *numbers, uint32_t count, uint8_t *to);

#endif
