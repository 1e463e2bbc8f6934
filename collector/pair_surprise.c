/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the rows; each guess needs what the rows before it taught. */
#include "pair_surprise.h"

#include "bytes.h"
#include "time_predict.h"

void pair_take_surprises(struct time_predictor *times, const uint8_t *begins, const uint8_t *ends,
			 const uint8_t *keys, unsigned int key_width, uint32_t count,
			 uint64_t *gaps, uint64_t *durations)
{
	uint64_t end_before = bytes_load64(begins);

	time_predictor_start(times, count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t begin = bytes_load64(begins + 8 * (size_t)i);
		uint64_t end = bytes_load64(ends + 8 * (size_t)i);
		uint64_t key = bytes_load(keys + (size_t)key_width * i, key_width);
		struct time_pair *context = time_predictor_next(times, key);
		struct time_pair guess = time_predictor_guess(times, context);

		gaps[i] = bytes_zigzag(begin - end_before - guess.gap);
		durations[i] = bytes_zigzag(end - begin - guess.duration);
		time_predictor_learn(times, context, begin - end_before, end - begin);
		end_before = end;
	}
}
