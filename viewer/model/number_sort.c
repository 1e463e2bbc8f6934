/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A radix sort, byte by byte from the lowest, of bit patterns that are made to order as the numbers
 * do. Bytes that are the same in all numbers, as many are in counts and rounded times, cost
 * nothing.
 */
#include "number_sort.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "big_array.h"

#define FEW   512 /* so many are sorted faster by comparing */
#define BYTES 8

static int compare_numbers(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Negative numbers order by their inverted bits, others behind them. */
static uint64_t key_of(double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static double number_of(uint64_t key)
{
	uint64_t bits = key >> 63 ? key & ~(1ull << 63) : ~key;
	double number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

/* One byte into its places. */
static void scatter(const uint64_t *from, uint64_t *to, size_t count, int byte,
		    const size_t counts[256])
{
	size_t next[256], sum = 0;

	for (int value = 0; value < 256; value++) {
		next[value] = sum;
		sum += counts[value];
	}
	for (size_t i = 0; i < count; i++)
		to[next[from[i] >> (8 * byte) & 255]++] = from[i];
}

void number_sort(double *numbers, size_t count)
{
	size_t counts[BYTES][256] = {{0}};
	uint64_t *keys, *from, *to;

	if (count < FEW) {
		if (count)
			qsort(numbers, count, sizeof(*numbers), compare_numbers);
		return;
	}
	keys = big_array_take(2 * count, sizeof(*keys));
	from = keys;
	to = keys + count;
	for (size_t i = 0; i < count; i++) {
		from[i] = key_of(numbers[i]);
		for (int byte = 0; byte < BYTES; byte++)
			counts[byte][from[i] >> (8 * byte) & 255]++;
	}
	for (int byte = 0; byte < BYTES; byte++) {
		uint64_t *swap = from;

		if (counts[byte][from[0] >> (8 * byte) & 255] == count)
			continue;
		scatter(from, to, count, byte, counts[byte]);
		from = to;
		to = swap;
	}
	for (size_t i = 0; i < count; i++)
		numbers[i] = number_of(from[i]);
	big_array_free(keys);
}
