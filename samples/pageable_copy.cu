/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pathology: every step waits for its batch, which comes from pageable host memory. The driver must
 * stage such a copy through a buffer of its own, so it runs at a fraction of the link's rate, and
 * the GPU computes nothing meanwhile.
 * Cure (--cured): pinned memory, and the next batch copied while this one is computed. --pinned is
 * the first half of it alone.
 */
#include "batch_loader.h"
#include "linear_layer.h"

enum { ROWS = 4096, WIDTH = 4096, LAYERS = 8 };

#define ACTIVATION_BYTES ((size_t)ROWS * WIDTH * LINEAR_BYTES_PER_ELEMENT)

static void compute(struct linear_layer *layers, const void *batch, size_t batch_bytes,
		    void *activation[2], gpu_stream stream)
{
	size_t words = ACTIVATION_BYTES / sizeof(float);

	GPU_TRY(gpu_launch(embedding_forward, batch_bytes / sizeof(float), stream, activation[0],
			   batch));
	for (int i = 0; i < LAYERS; i++) {
		linear_forward(&layers[i], ROWS, activation[(i + 1) & 1], activation[i & 1]);
		GPU_TRY(gpu_launch(gelu_forward, words, stream, activation[(i + 1) & 1],
				   activation[(i + 1) & 1]));
	}
}

int main(int argc, char **argv)
{
	long steps = 40, mib = 16;
	bool cured = false, pinned = false;
	const struct sample_option options[] = {
		{"steps", NULL, &steps, "steps to run (40)"},
		{"mib", NULL, &mib, "size of a batch in MiB (16)"},
		{"cured", &cured, NULL, "pinned memory, copied one step ahead"},
		{"pinned", &pinned, NULL, "pinned memory, not copied ahead"},
		{NULL, NULL, NULL, NULL}};
	struct linear_layer layers[LAYERS];
	struct batch_loader loader;
	struct step_pace pace;
	void *activation[2];
	gpu_stream stream;

	sample_parse(argc, argv, options);
	gpu_open();
	GPU_TRY(gpu_stream_open(&stream));
	GPU_TRY(gpu_gemm_stream(stream));
	size_t bytes = (size_t)mib << 20;

	for (int i = 0; i < 2; i++)
		GPU_TRY(gpu_alloc(&activation[i],
				  bytes > ACTIVATION_BYTES ? bytes : ACTIVATION_BYTES));
	for (int i = 0; i < LAYERS; i++)
		linear_open(&layers[i], WIDTH, WIDTH);
	batch_loader_open(&loader, bytes, cured || pinned, cured, stream);
	step_pace_open(&pace);

	for (long step = 0; step < steps; step++) {
		step_pace_begin(&pace);
		void *batch = batch_loader_next(&loader);

		compute(layers, batch, bytes, activation, stream);
		batch_loader_done(&loader);
		step_pace_end(&pace, stream);
	}
	GPU_TRY(gpu_device_sync());
	bool equal = batch_loader_verify(&loader);

	printf("pageable_copy: %ld steps of %zu bytes, batch on the GPU %s\n", steps, bytes,
	       equal ? "equals the host's" : "DIFFERS from the host's");
	step_pace_close(&pace);
	batch_loader_close(&loader);
	for (int i = 0; i < LAYERS; i++)
		linear_close(&layers[i]);
	for (int i = 0; i < 2; i++)
		GPU_TRY(gpu_free(activation[i]));
	GPU_TRY(gpu_stream_close(stream));
	gpu_close();
	return equal ? 0 : 1;
}
