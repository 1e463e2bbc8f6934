/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target without libFuzzer: the files that are named, else a fixed number of mutations
 * of the target's seeds, always the same ones, so that a failure can be repeated. This is the short
 * run of every build; the long one is libFuzzer's (GPUTRACE_FUZZ=ON with clang).
 *
 * usage: fuzz_X [FILE... | -runs=N]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"

#define MAX_INPUT 65536u

static uint64_t state = 0x9e3779b97f4a7c15ull;

static uint32_t draw(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 16) % below);
}

/* One of: flip, set, cut, double a part, take a part of another seed, write a number. */
static size_t mutate(unsigned char *bytes, size_t count)
{
	static const char *const tokens[] = {
		"NaN", "-1", "1e308", "9223372036854775808", "\"", "\\u", "{", "}",
		"[",   "]",  "null",  "\xff\xff\xff\x7f",    "."};
	size_t at = count ? draw((uint32_t)count) : 0;
	size_t length = count ? draw((uint32_t)(count - at)) + 1 : 0;
	const char *token = tokens[draw(sizeof(tokens) / sizeof(tokens[0]))];
	const struct fuzz_seed *other = &fuzz_seeds[draw((uint32_t)fuzz_seed_count)];

	switch (draw(6)) {
	case 0:
		if (count)
			bytes[at] ^= (unsigned char)(1u << draw(8));
		return count;
	case 1:
		if (count)
			bytes[at] = (unsigned char)draw(256);
		return count;
	case 2:
		return at;
	case 3:
		if (!count || count + length > MAX_INPUT)
			return count;
		memmove(bytes + at + length, bytes + at, count - at);
		return count + length;
	case 4:
		if (at + other->count > MAX_INPUT)
			return count;
		memcpy(bytes + at, other->bytes, other->count);
		return at + other->count > count ? at + other->count : count;
	default:
		if (at + strlen(token) > MAX_INPUT)
			return count;
		memcpy(bytes + at, token, strlen(token));
		return at + strlen(token) > count ? at + strlen(token) : count;
	}
}

static int run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	unsigned char *bytes = malloc(64u << 20);
	size_t count;

	if (!file || !bytes) {
		fprintf(stderr, "cannot read %s\n", path);
		return 1;
	}
	count = fread(bytes, 1, 64u << 20, file);
	fclose(file);
	LLVMFuzzerTestOneInput(bytes, count);
	free(bytes);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned char *bytes = malloc(MAX_INPUT);
	unsigned long runs = 20000;
	int files = 0, failed = 0;

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "-runs=", 6)) {
			runs = strtoul(argv[i] + 6, NULL, 10);
			continue;
		}
		failed |= run_file(argv[i]);
		files++;
	}
	for (unsigned long run = 0; bytes && !files && run < runs; run++) {
		const struct fuzz_seed *seed = &fuzz_seeds[run % fuzz_seed_count];
		size_t count = seed->count;

		memcpy(bytes, seed->bytes, count);
		for (uint32_t times = draw(8) + (run >= fuzz_seed_count); times; times--)
			count = mutate(bytes, count);
		LLVMFuzzerTestOneInput(bytes, count);
	}
	free(bytes);
	printf("%lu inputs, no crash\n", files ? (unsigned long)files : runs);
	return failed;
}
