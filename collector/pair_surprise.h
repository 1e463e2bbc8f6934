/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of begin and end as how wrong time_predict.h was about them: what the encoder stores. */
#ifndef GPUTRACE_PAIR_SURPRISE_H
#define GPUTRACE_PAIR_SURPRISE_H

#include <stdint.h>

struct time_predictor;

/* `count` rows of 8-byte begins and ends and of keys with their width. The errors about gaps and
 * durations come out as zigzag numbers; the first gap is 0. */
void pair_take_surprises(struct time_predictor *times, const uint8_t *begins, const uint8_t *ends,
			 const uint8_t *keys, unsigned int key_width, uint32_t count,
			 uint64_t *gaps, uint64_t *durations);

#endif
