// SPDX-License-Identifier: Apache-2.0
/*
 * Three table formats: increments (3.8, 3.9), ranges (3.10), locations (3.11 and later). Each is
 * described in CPython's Objects/lnotab_notes.txt and Objects/locations.md; the code is our own.
 * The tables are hostile here: the walk may be wrong about what it found, so every read is bounded.
 */
#include "site_python_lines.h"

static uint32_t as_line(int64_t line)
{
	return line > 0 && line < INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs (instruction bytes, signed lines); the line before the first pair beyond the offset. */
static uint32_t find_increments(const uint8_t *table, size_t size, int64_t line, uint32_t offset)
{
	uint64_t at = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		at += table[i];
		if (at > offset)
			break;
		line += (int8_t)table[i + 1];
	}
	return as_line(line);
}

/* Pairs (instruction bytes, signed lines), each a range; -128 is a range without a line. */
static uint32_t find_ranges(const uint8_t *table, size_t size, int64_t line, uint32_t offset)
{
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t lines = (int8_t)table[i + 1];

		end += table[i];
		if (lines != -128)
			line += lines;
		if (offset < end)
			return lines == -128 ? 0 : as_line(line);
	}
	return 0;
}

enum location_code {
	LOCATION_ONE_LINE_0 = 10, /* line increment 0, 1, 2 with two bytes of columns */
	LOCATION_ONE_LINE_2 = 12,
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15
};

static int64_t read_signed(const uint8_t *table, size_t size, size_t at)
{
	uint64_t value = 0;

	for (unsigned shift = 0; at < size && shift < 60; shift += 6) {
		uint8_t byte = table[at++];

		value |= (uint64_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Entries: a byte with the top bit set (code, length in units), then payload bytes without it. */
static uint32_t find_locations(const uint8_t *table, size_t size, int64_t line, uint32_t offset)
{
	uint64_t end = 0;
	size_t i = 0;

	while (i < size) {
		unsigned code = (table[i] >> 3) & 15;

		end += 2u * ((table[i] & 7u) + 1);
		if (code == LOCATION_NO_COLUMNS || code == LOCATION_LONG)
			line += read_signed(table, size, i + 1);
		else if (code >= LOCATION_ONE_LINE_0 && code <= LOCATION_ONE_LINE_2)
			line += code - LOCATION_ONE_LINE_0;
		if (offset < end)
			return code == LOCATION_NONE ? 0 : as_line(line);
		for (i++; i < size && !(table[i] & 128); i++)
			;
	}
	return 0;
}

uint32_t python_lines_find(enum python_lines format, const uint8_t *table, size_t size_bytes,
			   uint32_t first_line, uint32_t offset_bytes)
{
	switch (format) {
	case PYTHON_LINES_LNOTAB:
		return find_increments(table, size_bytes, first_line, offset_bytes);
	case PYTHON_LINES_RANGES:
		return find_ranges(table, size_bytes, first_line, offset_bytes);
	case PYTHON_LINES_LOCATIONS:
		return find_locations(table, size_bytes, first_line, offset_bytes);
	}
	return 0;
}
