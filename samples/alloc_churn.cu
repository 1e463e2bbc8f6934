/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pathology: every layer takes its scratch memory from the driver and gives it back. cudaFree waits
 * for all that the GPU still has to do, so the queue runs dry at every layer.
 * Cure (--cured): stream-ordered allocation from a pool that keeps what it has.
 */
#include "step_loop.h"

enum { LAYERS = 10 };

static void layer(void *activation, size_t words, gpu_stream stream, bool cured)
{
	void *scratch;

	if (cured)
		GPU_TRY(gpu_alloc_async(&scratch, words * sizeof(float), stream));
	else
		GPU_TRY(gpu_alloc(&scratch, words * sizeof(float)));
	GPU_TRY(gpu_launch(softmax_forward, words, stream, scratch, activation));
	GPU_TRY(gpu_launch(residual_add, words, stream, activation, scratch));
	if (cured)
		GPU_TRY(gpu_free_async(scratch, stream));
	else
		GPU_TRY(gpu_free(scratch));
	step_host_work(20);
}

int main(int argc, char **argv)
{
	long steps = 100, megawords = 16;
	bool cured = false;
	const struct sample_option options[] = {
		{"steps", NULL, &steps, "steps to run (100)"},
		{"megawords", NULL, &megawords, "size of the tensors in 2^20 32-bit words (16)"},
		{"cured", &cured, NULL, "takes scratch memory from a pool"},
		{NULL, NULL, NULL, NULL}};
	size_t words;
	struct step_pace pace;
	gpu_stream stream;
	void *activation;

	sample_parse(argc, argv, options);
	words = (size_t)megawords << 20;
	gpu_open();
	GPU_TRY(gpu_stream_open(&stream));
	GPU_TRY(gpu_pool_keep());
	GPU_TRY(gpu_alloc(&activation, words * sizeof(float)));
	step_pace_open(&pace);
	for (long step = 0; step < steps; step++) {
		step_pace_begin(&pace);
		for (int i = 0; i < LAYERS; i++)
			layer(activation, words, stream, cured);
		GPU_TRY(gpu_launch(adamw_step, words / 4, stream, activation, activation));
		step_pace_end(&pace, stream);
	}
	GPU_TRY(gpu_device_sync());
	printf("alloc_churn: %ld steps of %d layers\n", steps, LAYERS);
	step_pace_close(&pace);
	GPU_TRY(gpu_free(activation));
	GPU_TRY(gpu_stream_close(stream));
	gpu_close();
	return 0;
}
