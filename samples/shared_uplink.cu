/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pathology: two GPUs under one PCIe switch get their batches at the same time, and each waits for
 * half of the rate that the switch has to the host.
 * Cure (--cured): the second GPU is one with a root port of its own. Which one that is, is the
 * machine's matter: here the third (tests/simcuda/machines/small-switch.tsv).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "step_loop.h"

/* What one GPU trains on. */
struct half {
	unsigned char *host;
	void *device;
	gpu_stream stream;
};

static void half_open(struct half *half, int device, size_t bytes)
{
	GPU_TRY(gpu_use(device));
	GPU_TRY(gpu_stream_open(&half->stream));
	GPU_TRY(gpu_host_alloc(&half->host, bytes));
	GPU_TRY(gpu_alloc(&half->device, bytes));
	memset(half->host, device + 1, bytes);
}

/* Whether the GPU has what the host has; closes it. */
static bool half_close(struct half *half, int device, size_t bytes)
{
	unsigned char *back = (unsigned char *)malloc(bytes);
	bool equal = back != NULL;

	GPU_TRY(gpu_use(device));
	if (back) {
		GPU_TRY(gpu_download(back, half->device, bytes));
		equal = memcmp(back, half->host, bytes) == 0;
	}
	free(back);
	GPU_TRY(gpu_host_free(half->host));
	GPU_TRY(gpu_free(half->device));
	GPU_TRY(gpu_stream_close(half->stream));
	return equal;
}

int main(int argc, char **argv)
{
	long steps = 150, mib = 4;
	bool cured = false;
	const struct sample_option options[] = {
		{"steps", NULL, &steps, "steps to run (150)"},
		{"mib", NULL, &mib, "size of each batch in MiB (4)"},
		{"cured", &cured, NULL, "the second GPU below another root port"},
		{NULL, NULL, NULL, NULL}};
	struct half halves[2];
	struct step_pace pace;
	void *activation;

	sample_parse(argc, argv, options);
	/* Read by the driver when it is initialised. */
	if (setenv("CUDA_VISIBLE_DEVICES", cured ? "0,2" : "0,1", 1) != 0)
		return 1;
	gpu_open();
	size_t bytes = (size_t)mib << 20;

	half_open(&halves[1], 1, bytes);
	half_open(&halves[0], 0, bytes);
	GPU_TRY(gpu_alloc(&activation, bytes));
	step_pace_open(&pace);
	for (long step = 0; step < steps; step++) {
		step_pace_begin(&pace);
		/* The first half of its batch the first GPU gets alone. */
		GPU_TRY(gpu_upload_async(halves[0].device, halves[0].host, bytes / 2,
					 halves[0].stream));
		GPU_TRY(gpu_stream_sync(halves[0].stream));
		GPU_TRY(gpu_upload_async(halves[0].device, halves[0].host, bytes,
					 halves[0].stream));
		GPU_TRY(gpu_use(1));
		GPU_TRY(gpu_upload_async(halves[1].device, halves[1].host, bytes,
					 halves[1].stream));
		GPU_TRY(gpu_use(0));
		GPU_TRY(gpu_launch(gelu_forward, bytes / sizeof(float), halves[0].stream,
				   activation, halves[0].device));
		GPU_TRY(gpu_use(1));
		GPU_TRY(gpu_stream_sync(halves[1].stream));
		GPU_TRY(gpu_use(0));
		step_pace_end(&pace, halves[0].stream);
	}
	GPU_TRY(gpu_device_sync());
	step_pace_close(&pace);
	GPU_TRY(gpu_free(activation));
	bool equal = half_close(&halves[1], 1, bytes);

	equal &= half_close(&halves[0], 0, bytes);
	printf("shared_uplink: %ld steps of %zu bytes for each, batches on the GPUs %s\n", steps,
	       bytes, equal ? "equal the host's" : "DIFFER from the host's");
	gpu_close();
	return equal ? 0 : 1;
}
