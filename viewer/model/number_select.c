/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By digits from the highest one down: each pass counts how often a digit occurs and keeps the
 * numbers that have the one looked for. So the time never depends on what the numbers are.
 */
#include "number_select.h"

#include <string.h>

#define DIGIT_BITS 11u
#define DIGITS	   (1u << DIGIT_BITS)
#define SIGN	   ((uint64_t)1 << 63)

/* Negative numbers come first. */
static uint64_t order_of(int64_t number)
{
	return (uint64_t)number ^ SIGN;
}

/* The bits in which numbers differ, as a shift for their highest digit. */
static unsigned int highest_shift(const int64_t *numbers, size_t count)
{
	uint64_t differing = 0;
	unsigned int bits;

	for (size_t i = 1; i < count; i++)
		differing |= order_of(numbers[i]) ^ order_of(numbers[0]);
	bits = differing ? 64 - (unsigned int)__builtin_clzll(differing) : 0;
	return bits > DIGIT_BITS ? bits - DIGIT_BITS : 0;
}

int64_t number_select(int64_t *numbers, size_t count, size_t rank)
{
	unsigned int shift = highest_shift(numbers, count);

	for (;;) {
		size_t counts[DIGITS], kept = 0, digit = 0;

		memset(counts, 0, sizeof(counts));
		for (size_t i = 0; i < count; i++)
			counts[order_of(numbers[i]) >> shift & (DIGITS - 1)]++;
		for (; rank >= counts[digit]; digit++)
			rank -= counts[digit];
		for (size_t i = 0; i < count; i++) {
			if ((order_of(numbers[i]) >> shift & (DIGITS - 1)) == digit)
				numbers[kept++] = numbers[i];
		}
		count = kept;
		if (shift == 0 || count == 1)
			return numbers[0];
		shift = shift > DIGIT_BITS ? shift - DIGIT_BITS : 0;
	}
}
