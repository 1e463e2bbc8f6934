/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pathology: a request for memory fails although far more than it needs is free. Every segment of
 * the caching allocator holds one long-lived block (a running statistic) beside a short-lived one
 * (an activation), so no segment can be given back. Cure (--cured): the long-lived blocks are
 * allocated together, before the activations. Look-alikes, which no setting of the allocator helps:
 * --too-large asks for more than the card has,
 * --full keeps everything that it allocates, --tenant runs beside a process that holds the memory.
 */
#include "caching_pool.h"
#include "step_loop.h"

#define MIB ((size_t)1 << 20)

enum { ACTIVATION_MIB = 9, STATISTIC_MIB = 9, LIMIT = 4096 };

static struct caching_pool pool;
static void *activations[LIMIT], *statistics[LIMIT];
static long pairs;
static gpu_stream stream;

static void *need(size_t bytes)
{
	void *block = pool_take(&pool, bytes);

	if (!block) {
		fprintf(stderr, "oom_fragmentation: no room for the model itself\n");
		exit(1);
	}
	return block;
}

static void use(void *block)
{
	GPU_TRY(gpu_launch(gelu_forward, 4096, stream, block, block));
}

/* Fills `percent` of what is free with pairs of blocks. */
static void fill(size_t free_bytes, long percent, bool is_ordered)
{
	pairs = (long)(free_bytes / 100 * (size_t)percent / (20 * MIB));
	if (pairs > LIMIT)
		pairs = LIMIT;
	for (long i = 0; i < pairs; i++) {
		statistics[i] = need(STATISTIC_MIB * MIB);
		if (!is_ordered)
			activations[i] = need(ACTIVATION_MIB * MIB);
		use(statistics[i]);
	}
	for (long i = 0; i < pairs && is_ordered; i++)
		activations[i] = need(ACTIVATION_MIB * MIB);
}

static void drop(void **blocks)
{
	for (long i = 0; i < pairs; i++) {
		if (blocks[i])
			pool_give(&pool, blocks[i]);
		blocks[i] = NULL;
	}
}

int main(int argc, char **argv)
{
	long request = 0;
	bool cured = false, too_large = false, full = false, tenant = false;
	const struct sample_option options[] = {
		{"request", NULL, &request, "MiB that are asked for at last (a fifth of the card)"},
		{"cured", &cured, NULL, "allocates what lives long first"},
		{"too-large", &too_large, NULL, "asks for more than the card has"},
		{"full", &full, NULL, "keeps all that it allocated"},
		{"tenant", &tenant, NULL, "expects another process on the card"},
		{NULL, NULL, NULL, NULL}};
	size_t free_bytes = 0, total_bytes = 0, bytes;
	void *block;

	sample_parse(argc, argv, options);
	gpu_open();
	GPU_TRY(gpu_stream_open(&stream));
	GPU_TRY(gpu_memory(&free_bytes, &total_bytes));
	bytes = request ? (size_t)request * MIB : total_bytes / 5;
	if (too_large)
		bytes = total_bytes + total_bytes / 4;
	if (tenant)
		bytes = total_bytes / 2;
	fill(tenant || too_large ? total_bytes / 8 : free_bytes, 90, cured);
	if (!full)
		drop(activations);
	pool_empty_cache(&pool); /* as a framework's empty_cache(): it helps only where it can */
	block = pool_take(&pool, bytes);
	if (block)
		use(block);
	GPU_TRY(gpu_device_sync());
	printf("oom_fragmentation: %zu MiB %s with %zu MiB of %zu MiB reserved in use\n",
	       bytes / MIB, block ? "fitted" : "did not fit", pool.allocated / MIB,
	       pool.reserved / MIB);
	if (block)
		pool_give(&pool, block);
	drop(activations);
	drop(statistics);
	pool_empty_cache(&pool);
	GPU_TRY(gpu_stream_close(stream));
	gpu_close();
	return (block == NULL) == !cured ? 0 : 1;
}
