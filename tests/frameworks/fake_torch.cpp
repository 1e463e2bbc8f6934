/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A "training job" on the stand-ins of libc10 and libc10_cuda.
 * usage: fake_torch 1.9|1.13|2 steps | oom | retry | flood        fake_torch 2 cpu (no CUDA at all)
 */
#include "caching_allocator.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define MIB (size_t(1) << 20)

static Release release;

/* Weights stay, activations come and go: peak 96 MiB allocated, 112 MiB reserved. */
static void steps()
{
	void *weights = caching_malloc(release, 0, 32 * MIB);

	for (int step = 0; step < 4; step++) {
		void *first = caching_malloc(release, 0, 64 * MIB);
		caching_free(release, first);
		void *second = caching_malloc(release, 0, 16 * MIB);
		caching_free(release, second);
	}
	caching_free(release, weights);
}

static void out_of_memory()
{
	void *weights = caching_malloc(release, 0, 48 * MIB);
	void *cached = caching_malloc(release, 0, 8 * MIB);

	caching_free(release, cached);
	if (caching_malloc(release, 0, size_t(1) << 50))
		printf("there is a petabyte\n");
	caching_free(release, weights);
}

/* Most of the card is cached in another size: the allocator gives it back and then succeeds. */
static void retry(size_t card_bytes)
{
	void *large = caching_malloc(release, 0, card_bytes / 10 * 8);

	caching_free(release, large);
	void *other = caching_malloc(release, 0, card_bytes / 10 * 7);
	printf("%s\n", other ? "retried" : "failed");
}

static void flood()
{
	caching_free(release, caching_malloc(release, 0, MIB));
	report_many(20000);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	release = !strcmp(argv[1], "1.9")    ? Release::before_totals
		  : !strcmp(argv[1], "1.13") ? Release::with_signed
					     : Release::with_unsigned;
	if (!strcmp(argv[2], "steps"))
		steps();
	else if (!strcmp(argv[2], "oom"))
		out_of_memory();
	else if (!strcmp(argv[2], "retry"))
		retry(static_cast<size_t>(atoll(argv[3])));
	else if (!strcmp(argv[2], "flood"))
		flood();
	else
		report_from_cpu(1000);
	c10::print_what_was_reported();
	return 0;
}
