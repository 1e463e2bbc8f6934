/* SPDX-License-Identifier: Apache-2.0 */
/* One loop per form, simple enough for the compiler to vectorize. */
#include "number_decode.h"

#include <stddef.h>
#include <string.h>

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	const uint8_t *from = *at;
	uint64_t result = 0;

	for (unsigned int shift = 0; shift < 64 && from < end; shift += 7) {
		uint8_t byte = *from++;

		result |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*at = from;
			*value = result;
			return true;
		}
	}
	return false;
}

bool number_take_varints(const uint8_t **at, const uint8_t *end, uint64_t *numbers, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!read_varint(at, end, &numbers[i]))
			return false;
	}
	return true;
}

void number_take_planes(const uint8_t *planes, unsigned int plane_count, uint32_t stride,
			uint64_t *numbers, uint32_t count)
{
	switch (plane_count) {
	case 0:
		memset(numbers, 0, count * sizeof(numbers[0]));
		break;
	case 1:
		for (uint32_t i = 0; i < count; i++)
			numbers[i] = planes[i];
		break;
	default: /* the two lowest at once: what is above them is rare */
		for (uint32_t i = 0; i < count; i++)
			numbers[i] = planes[i] | (uint64_t)planes[(size_t)stride + i] << 8;
		break;
	}
	for (unsigned int plane = 2; plane < plane_count; plane++) {
		const uint8_t *from = planes + (size_t)plane * stride;

		for (uint32_t i = 0; i < count; i++)
			numbers[i] |= (uint64_t)from[i] << 8 * plane;
	}
}
