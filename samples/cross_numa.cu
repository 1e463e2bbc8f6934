/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pathology: the process runs on CPUs of another NUMA node than its GPU, and so does its memory,
 * which lies where it was first written. Every copy crosses the link between the sockets.
 * Cure (--cured): the process starts on the GPU's node, as `numactl --cpunodebind` would start it.
 * Without a second node there is nothing to show; the sample says so and runs where it is.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "batch_loader.h"
#include "numa_place.h"

enum { WORDS = 1 << 20 };

int main(int argc, char **argv)
{
	long steps = 150, mib = 4;
	bool cured = false;
	const struct sample_option options[] = {
		{"steps", NULL, &steps, "steps to run (150)"},
		{"mib", NULL, &mib, "size of a batch in MiB (4)"},
		{"cured", &cured, NULL, "on the CPUs of the GPU's own node"},
		{NULL, NULL, NULL, NULL}};
	struct batch_loader loader;
	struct step_pace pace;
	char address[32] = "";
	gpu_stream stream;
	void *activation;

	sample_parse(argc, argv, options);
	gpu_open();
	GPU_TRY(gpu_pci_address(address, (int)sizeof(address)));
	int node = numa_place(address, cured);
	size_t bytes = (size_t)mib << 20;

	GPU_TRY(gpu_stream_open(&stream));
	GPU_TRY(gpu_alloc(&activation,
			  bytes > WORDS * sizeof(float) ? bytes : WORDS * sizeof(float)));
	batch_loader_open(&loader, bytes, true, false, stream);
	step_pace_open(&pace);
	for (long step = 0; step < steps; step++) {
		step_pace_begin(&pace);
		void *batch = batch_loader_next(&loader);

		GPU_TRY(gpu_launch(embedding_forward, bytes / sizeof(float), stream, activation,
				   batch));
		GPU_TRY(gpu_launch(gelu_forward, WORDS, stream, activation, activation));
		batch_loader_done(&loader);
		step_pace_end(&pace, stream);
	}
	GPU_TRY(gpu_device_sync());
	bool equal = batch_loader_verify(&loader);

	if (node >= 0)
		printf("cross_numa: on node %d, %ld steps of %zu bytes, batch on the GPU %s\n",
		       node, steps, bytes, equal ? "equals the host's" : "DIFFERS from the host's");
	else
		printf("cross_numa: no %s node to run on, %ld steps of %zu bytes, batch on the GPU "
		       "%s\n",
		       cured ? "near" : "far", steps, bytes,
		       equal ? "equals the host's" : "DIFFERS from the host's");
	step_pace_close(&pace);
	batch_loader_close(&loader);
	GPU_TRY(gpu_free(activation));
	GPU_TRY(gpu_stream_close(stream));
	gpu_close();
	return equal ? 0 : 1;
}
