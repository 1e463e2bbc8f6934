/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every fuzz target gives: the function that libFuzzer calls, and seeds for where there is no
 * libFuzzer (fuzz_main.c mutates them itself).
 */
#ifndef GPUTRACE_TEST_FUZZ_TARGET_H
#define GPUTRACE_TEST_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_seed {
	const char *bytes;
	size_t count;
};
#define FUZZ_SEED(text)                                                                            \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}

extern const struct fuzz_seed fuzz_seeds[];
extern const size_t fuzz_seed_count;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
