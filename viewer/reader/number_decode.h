/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers out of the forms of collector/number_encode.h, for hostile input. */
#ifndef GPUTRACE_NUMBER_DECODE_H
#define GPUTRACE_NUMBER_DECODE_H

#include <stdbool.h>
#include <stdint.h>

/* The next `count` varints; *at moves behind them. False when they do not end before `end`. */
bool number_take_varints(const uint8_t **at, const uint8_t *end, uint64_t *numbers, uint32_t count);
/* `count` rows of planes that are `stride` bytes apart; the caller has checked that all of
 * planes[0 .. (plane_count - 1) * stride + count - 1] is there. */
void number_take_planes(const uint8_t *planes, unsigned int plane_count, uint32_t stride,
			uint64_t *numbers, uint32_t count);

#endif
