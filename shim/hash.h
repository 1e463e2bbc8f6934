/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of the shim: numbers of names and sites are hashes of their content. */
#ifndef GPUTRACE_SHIM_HASH_H
#define GPUTRACE_SHIM_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t hash_mix(uint64_t value)
{
	value ^= value >> 30;
	value *= 0xbf58476d1ce4e5b9ull;
	value ^= value >> 27;
	value *= 0x94d049bb133111ebull;
	return value ^ value >> 31;
}

/* FNV-1a, then mixed; never 0. */
static inline uint64_t hash_bytes(const char *bytes, size_t count)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	for (size_t i = 0; i < count; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3ull;
	hash = hash_mix(hash);
	return hash ? hash : 1;
}

#endif
