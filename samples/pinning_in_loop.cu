/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pathology: every step pins a fresh host buffer for its batch and unpins it again: the driver
 * locks and maps each page, and unpinning waits for the GPU. Cure (--cured): two buffers, pinned
 * once and used in turn.
 */
#include "step_loop.h"

enum { KERNELS = 12, LOADING_US = 200 };

struct loader {
	unsigned char *kept[2];
	size_t bytes;
	bool cured;
};

static unsigned char *loader_open_batch(struct loader *loader, long step)
{
	unsigned char *batch = loader->kept[step & 1];

	if (!loader->cured)
		GPU_TRY(gpu_host_alloc(&batch, loader->bytes));
	/* A real loader writes all of it; what it takes is not the point here. */
	memset(batch, (int)(step & 127), 4096);
	step_host_work(LOADING_US);
	return batch;
}

static void loader_close_batch(struct loader *loader, unsigned char *batch)
{
	if (!loader->cured)
		GPU_TRY(gpu_host_free(batch));
}

int main(int argc, char **argv)
{
	long steps = 60, mib = 4, megawords = 16;
	struct loader loader = {{NULL, NULL}, 0, false};
	const struct sample_option options[] = {
		{"steps", NULL, &steps, "steps to run (60)"},
		{"mib", NULL, &mib, "size of a batch in MiB (4)"},
		{"megawords", NULL, &megawords, "size of the tensors in 2^20 32-bit words (16)"},
		{"cured", &loader.cured, NULL, "keeps two pinned buffers"},
		{NULL, NULL, NULL, NULL}};
	gpu_event uploaded, computed;
	gpu_stream stream, copies;
	void *input[2], *tensor[2];
	struct step_pace pace;
	size_t words;

	sample_parse(argc, argv, options);
	words = (size_t)megawords << 20;
	loader.bytes = (size_t)mib << 20;
	gpu_open();
	GPU_TRY(gpu_stream_open(&stream));
	GPU_TRY(gpu_stream_open(&copies));
	GPU_TRY(gpu_event_open(&uploaded));
	GPU_TRY(gpu_event_open(&computed));
	for (int i = 0; i < 2; i++) {
		GPU_TRY(gpu_alloc(&input[i], loader.bytes));
		GPU_TRY(gpu_alloc(&tensor[i], words * sizeof(float)));
		if (loader.cured)
			GPU_TRY(gpu_host_alloc(&loader.kept[i], loader.bytes));
	}
	step_pace_open(&pace);
	for (long step = 0; step < steps; step++) {
		step_pace_begin(&pace);
		unsigned char *batch = loader_open_batch(&loader, step);

		/* The batch of the next step is on its way while this one is computed. */
		GPU_TRY(gpu_stream_wait_event(stream, uploaded));
		GPU_TRY(gpu_stream_wait_event(copies, computed));
		GPU_TRY(gpu_upload_async(input[step & 1], batch, loader.bytes, copies));
		GPU_TRY(gpu_event_record(uploaded, copies));
		GPU_TRY(gpu_launch(embedding_forward, loader.bytes / sizeof(float), stream,
				   tensor[0], input[(step + 1) & 1]));
		for (int i = 0; i < KERNELS; i++)
			GPU_TRY(gpu_launch(gelu_forward, words, stream, tensor[(i + 1) & 1],
					   tensor[i & 1]));
		GPU_TRY(gpu_launch(adamw_step, words / 4, stream, tensor[1], tensor[0]));
		GPU_TRY(gpu_event_record(computed, stream));
		loader_close_batch(&loader, batch);
		step_pace_end(&pace, stream);
	}
	GPU_TRY(gpu_device_sync());
	printf("pinning_in_loop: %ld steps of %ld MiB\n", steps, mib);
	step_pace_close(&pace);
	for (int i = 0; i < 2; i++) {
		GPU_TRY(gpu_free(input[i]));
		GPU_TRY(gpu_free(tensor[i]));
		if (loader.cured)
			GPU_TRY(gpu_host_free(loader.kept[i]));
	}
	GPU_TRY(gpu_event_close(uploaded));
	GPU_TRY(gpu_event_close(computed));
	GPU_TRY(gpu_stream_close(copies));
	GPU_TRY(gpu_stream_close(stream));
	gpu_close();
	return 0;
}
