/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pathology: a model is split over two GPUs, and what the first one computes goes to the second one
 * without peer access: the driver takes every byte through host memory.
 * Cure (--cured): cudaDeviceEnablePeerAccess, after which the copy goes from GPU to GPU.
 * Needs two GPUs; where they may not reach each other the cure says so and fails.
 */
#include "step_loop.h"

int main(int argc, char **argv)
{
	long steps = 150, mib = 4;
	bool cured = false;
	const struct sample_option options[] = {
		{"steps", NULL, &steps, "steps to run (150)"},
		{"mib", NULL, &mib, "size of an activation in MiB (4)"},
		{"cured", &cured, NULL, "with peer access"},
		{NULL, NULL, NULL, NULL}};
	struct step_pace pace;
	unsigned char *host;
	void *first, *second;
	gpu_stream stream;

	sample_parse(argc, argv, options);
	gpu_open();
	size_t bytes = (size_t)mib << 20;

	GPU_TRY(gpu_use(1));
	GPU_TRY(gpu_alloc(&second, bytes));
	GPU_TRY(gpu_use(0));
	if (cured)
		GPU_TRY(gpu_enable_peer(1));
	GPU_TRY(gpu_alloc(&first, bytes));
	GPU_TRY(gpu_host_alloc(&host, bytes));
	GPU_TRY(gpu_stream_open(&stream));
	for (size_t i = 0; i < bytes; i++)
		host[i] = (unsigned char)(i * 7 + i / 251);
	GPU_TRY(gpu_upload_async(first, host, bytes, stream));
	step_pace_open(&pace);
	for (long step = 0; step < steps; step++) {
		step_pace_begin(&pace);
		GPU_TRY(gpu_launch(gelu_forward, bytes / sizeof(float), stream, first, first));
		GPU_TRY(gpu_peer_copy_async(second, 1, first, 0, bytes, stream));
		step_pace_end(&pace, stream);
	}
	GPU_TRY(gpu_device_sync());
	/* What the second GPU has is what the first one sent. */
	unsigned char *sent = (unsigned char *)malloc(bytes);
	bool equal = sent != NULL;

	if (sent) {
		GPU_TRY(gpu_download(sent, first, bytes));
		GPU_TRY(gpu_use(1));
		GPU_TRY(gpu_download(host, second, bytes));
		GPU_TRY(gpu_use(0));
		equal = memcmp(sent, host, bytes) == 0;
	}
	printf("peer_staged: %ld steps of %zu bytes, activation on the second GPU %s\n", steps,
	       bytes, equal ? "equals the first one's" : "DIFFERS from the first one's");
	free(sent);
	step_pace_close(&pace);
	GPU_TRY(gpu_stream_close(stream));
	GPU_TRY(gpu_host_free(host));
	GPU_TRY(gpu_free(first));
	GPU_TRY(gpu_use(1));
	GPU_TRY(gpu_free(second));
	GPU_TRY(gpu_use(0));
	gpu_close();
	return equal ? 0 : 1;
}
