/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Little-endian numbers in byte arrays. Everything read from a file goes through these, never
 * through a cast: files are unaligned, hostile and the same on every machine. Compilers turn each
 * function into one load or store on little-endian machines.
 */
#ifndef GPUTRACE_FORMAT_BYTES_H
#define GPUTRACE_FORMAT_BYTES_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BYTES_SWAP(bits, value) __builtin_bswap##bits(value)
#else
#define BYTES_SWAP(bits, value) (value)
#endif

static inline uint16_t bytes_load16(const void *from)
{
	uint16_t value;

	memcpy(&value, from, sizeof(value));
	return BYTES_SWAP(16, value);
}

static inline uint32_t bytes_load32(const void *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return BYTES_SWAP(32, value);
}

static inline uint64_t bytes_load64(const void *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return BYTES_SWAP(64, value);
}

static inline void bytes_store16(void *to, uint16_t value)
{
	value = BYTES_SWAP(16, value);
	memcpy(to, &value, sizeof(value));
}

static inline void bytes_store32(void *to, uint32_t value)
{
	value = BYTES_SWAP(32, value);
	memcpy(to, &value, sizeof(value));
}

static inline void bytes_store64(void *to, uint64_t value)
{
	value = BYTES_SWAP(64, value);
	memcpy(to, &value, sizeof(value));
}

/* A number of 1, 2, 4 or 8 bytes; other widths read as 0 and store nothing. */
static inline uint64_t bytes_load(const void *from, unsigned int width)
{
	switch (width) {
	case 1:
		return *(const uint8_t *)from;
	case 2:
		return bytes_load16(from);
	case 4:
		return bytes_load32(from);
	case 8:
		return bytes_load64(from);
	default:
		return 0;
	}
}

static inline void bytes_store(void *to, unsigned int width, uint64_t value)
{
	switch (width) {
	case 1:
		*(uint8_t *)to = (uint8_t)value;
		break;
	case 2:
		bytes_store16(to, (uint16_t)value);
		break;
	case 4:
		bytes_store32(to, (uint32_t)value);
		break;
	case 8:
		bytes_store64(to, value);
		break;
	default:
		break;
	}
}

/* Differences are stored as unsigned numbers that are small when the difference is. */
static inline uint64_t bytes_zigzag(uint64_t difference)
{
	return (difference << 1) ^ (0 - (difference >> 63));
}

static inline uint64_t bytes_unzigzag(uint64_t value)
{
	return (value >> 1) ^ (0 - (value & 1));
}

#endif
