/* SPDX-License-Identifier: Apache-2.0 */
/* One loop per form, simple enough for the compiler to vectorize. */
#include "number_encode.h"

static unsigned int bits_of(uint64_t value)
{
	return value ? 64 - (unsigned int)__builtin_clzll(value) : 0;
}

unsigned int number_count_planes(const uint64_t *numbers, uint32_t count)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < count; i++)
		all |= numbers[i];
	return (bits_of(all) + 7) / 8;
}

bool number_varints_are_shorter(const uint64_t *numbers, uint32_t count, unsigned int planes)
{
	uint64_t bytes = 0;

	if (planes < 5)
		return false;
	for (uint32_t i = 0; i < count; i++)
		bytes += (bits_of(numbers[i] | 1) + 6) / 7;
	return bytes * 2 < (uint64_t)planes * count;
}

size_t number_put_planes(const uint64_t *numbers, uint32_t count, unsigned int planes, uint8_t *to)
{
	*to++ = (uint8_t)planes;
	for (unsigned int plane = 0; plane < planes; plane++) {
		for (uint32_t i = 0; i < count; i++)
			to[i] = (uint8_t)(numbers[i] >> 8 * plane);
		to += count;
	}
	return 1 + (size_t)planes * count;
}

size_t number_put_varints(const uint64_t *numbers, uint32_t count, uint8_t *to)
{
	uint8_t *at = to;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t value = numbers[i];

		while (value >= 0x80) {
			*at++ = (uint8_t)(value | 0x80);
			value >>= 7;
		}
		*at++ = (uint8_t)value;
	}
	return (size_t)(at - to);
}
