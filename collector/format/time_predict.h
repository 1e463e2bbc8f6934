/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a row's times will be, guessed from the rows before it: programs repeat themselves, so a
 * launch from one line behind a launch from another one takes about as long as the last time. The
 * encoder stores how wrong the guess was and the decoder guesses the same, so every step here is
 * part of the format (FORMAT.md, 2.6): integers only, nothing that a compiler may round.
 *
 * A row's context is its key (who called, or which kernel ran) and the key of the row before it.
 * Contexts are told apart by a hash alone: two that share a place guess worse, and nothing else.
 */
#ifndef GPUTRACE_FORMAT_TIME_PREDICT_H
#define GPUTRACE_FORMAT_TIME_PREDICT_H

#include <stdint.h>
#include <string.h>

#define TIME_CONTEXT_BITS_MIN 8u
#define TIME_CONTEXT_BITS_MAX 16u

/* Estimates: since the end of the row before, and from begin to end. Gap 0: never seen. */
struct time_pair {
	uint32_t gap, duration;
};

struct time_predictor {
	unsigned int shift; /* of a 64-bit hash, to a context's number */
	uint64_t key_before;
	struct time_pair general; /* for contexts that were never seen */
	struct time_pair contexts[1u << TIME_CONTEXT_BITS_MAX];
};

/* For a chunk of that many rows: as many contexts as rows, within limits. */
static inline void time_predictor_start(struct time_predictor *predictor, uint32_t rows)
{
	unsigned int bits = TIME_CONTEXT_BITS_MIN;

	while (bits < TIME_CONTEXT_BITS_MAX && (1u << bits) < rows)
		bits++;
	predictor->shift = 64 - bits;
	predictor->key_before = 0;
	predictor->general = (struct time_pair){0, 0};
	memset(predictor->contexts, 0, sizeof(struct time_pair) << bits);
}

/* The estimates for the next row; time_predictor_learn() changes them. */
static inline struct time_pair *time_predictor_next(struct time_predictor *predictor, uint64_t key)
{
	uint64_t hash = key * 0x9e3779b97f4a7c15ull ^ predictor->key_before;

	predictor->key_before = key;
	hash ^= hash >> 29;
	return &predictor->contexts[hash * 0xd6e8feb86659fd93ull >> predictor->shift];
}

static inline struct time_pair time_predictor_guess(const struct time_predictor *predictor,
						    const struct time_pair *context)
{
	return context->gap ? *context : predictor->general;
}

/* A quarter of the way to what was seen, which counts as no more than half as much again and no
 * less than half the estimate. Without branches: the sign of the error is noise. */
static inline uint32_t time_estimate_move(uint32_t estimate, uint64_t seen)
{
	int64_t error = (int64_t)(seen - estimate);
	int64_t half = estimate / 2;
	int64_t moved;

	error = error < -half ? -half : error;
	error = error > half + 16 ? half + 16 : error;
	moved = (int64_t)estimate + error / 4;
	moved = moved > 1 ? moved : 1;
	return (uint32_t)(moved < UINT32_MAX ? moved : UINT32_MAX);
}

static inline uint32_t time_estimate_first(uint64_t seen)
{
	return seen >> 63 || seen == 0 ? 1 : seen > UINT32_MAX ? UINT32_MAX : (uint32_t)seen;
}

static inline void time_predictor_learn(struct time_predictor *predictor, struct time_pair *context,
					uint64_t gap, uint64_t duration)
{
	if (context->gap) {
		context->gap = time_estimate_move(context->gap, gap);
		context->duration = time_estimate_move(context->duration, duration);
	} else {
		struct time_pair *general = &predictor->general;

		context->gap = time_estimate_first(gap);
		context->duration = time_estimate_first(duration);
		general->gap = time_estimate_move(general->gap, gap);
		general->duration = time_estimate_move(general->duration, duration);
	}
}

#endif
