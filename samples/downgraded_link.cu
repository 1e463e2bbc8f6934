/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pathology: nothing in the program. The card in the first slot has lost half of the lanes that it
 * and the slot can do, and every batch takes twice as long to get there.
 * Cure (--cured): the same on the second GPU, whose link is whole; in a real machine, the card
 * seated again. Which GPU has which link is the machine's matter
 * (tests/simcuda/machines/worn-slot.tsv).
 * --pause-ms N lets the GPU rest between the steps: on a whole link that falls asleep meanwhile
 * this is the look-alike, since an idle link shows generation 1 (light-sleeper.tsv).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "batch_loader.h"

enum { WORDS = 1 << 20 };

static void rest(long pause_ms, gpu_stream stream)
{
	const struct timespec pause = {pause_ms / 1000, pause_ms % 1000 * 1000000};

	if (pause_ms == 0)
		return;
	GPU_TRY(gpu_stream_sync(stream));
	nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
	long steps = 150, mib = 4, pause_ms = 0;
	bool cured = false;
	const struct sample_option options[] = {
		{"steps", NULL, &steps, "steps to run (150)"},
		{"mib", NULL, &mib, "size of a batch in MiB (4)"},
		{"pause-ms", NULL, &pause_ms, "of rest after each step (0)"},
		{"cured", &cured, NULL, "on the second GPU"},
		{NULL, NULL, NULL, NULL}};
	struct batch_loader loader;
	struct step_pace pace;
	gpu_stream stream;
	void *activation;

	sample_parse(argc, argv, options);
	/* Read by the driver when it is initialised. */
	if (setenv("CUDA_VISIBLE_DEVICES", cured ? "1" : "0", 1) != 0)
		return 1;
	gpu_open();
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
		rest(pause_ms, stream);
	}
	GPU_TRY(gpu_device_sync());
	bool equal = batch_loader_verify(&loader);

	printf("downgraded_link: %ld steps of %zu bytes, batch on the GPU %s\n", steps, bytes,
	       equal ? "equals the host's" : "DIFFERS from the host's");
	step_pace_close(&pace);
	batch_loader_close(&loader);
	GPU_TRY(gpu_free(activation));
	GPU_TRY(gpu_stream_close(stream));
	gpu_close();
	return equal ? 0 : 1;
}
