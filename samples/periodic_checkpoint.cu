/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pathology: every fifteenth step the loop stops to bring the weights to the host and to write them
 * to slow storage; the GPU waits for all of it: torch.save() in the training loop. Cure (--cured):
 * the weights are copied aside on the GPU, go to pinned memory on a stream of their own beside the
 * next steps, and another thread writes them.
 */
#include "linear_layer.h"
#include "step_loop.h"

#include <pthread.h>

enum { ROWS = 16384, WIDTH = 2048, LAYERS = 6, WRITING_US = 15000 };

#define ACTIVATION_BYTES ((size_t)ROWS * WIDTH * LINEAR_BYTES_PER_ELEMENT)
#define WEIGHT_BYTES	 ((size_t)WIDTH * WIDTH * LINEAR_BYTES_PER_ELEMENT)
#define MODEL_BYTES	 (LAYERS * WEIGHT_BYTES)

struct checkpoint {
	bool is_aside;
	unsigned char *host; /* LAYERS weights; pinned with is_aside */
	void *copy;	     /* likewise, on the GPU; NULL without is_aside */
	gpu_stream link;
	gpu_event copied; /* the weights lie aside */
	gpu_event saved;  /* they are on the host */
	pthread_t writer;
	bool is_writing;
	long saves;
};

static void checkpoint_write(void)
{
	struct timespec latency = {0, WRITING_US * 1000L};

	nanosleep(&latency, NULL);
}

static void *checkpoint_writer(void *context)
{
	struct checkpoint *checkpoint = (struct checkpoint *)context;

	GPU_TRY(gpu_event_sync(checkpoint->saved));
	checkpoint_write();
	return NULL;
}

static void checkpoint_join(struct checkpoint *checkpoint)
{
	if (checkpoint->is_writing)
		pthread_join(checkpoint->writer, NULL);
	checkpoint->is_writing = false;
}

static void checkpoint_open(struct checkpoint *checkpoint, bool is_aside)
{
	memset(checkpoint, 0, sizeof(*checkpoint));
	checkpoint->is_aside = is_aside;
	if (!is_aside) {
		checkpoint->host = (unsigned char *)malloc(MODEL_BYTES);
		if (!checkpoint->host) {
			fprintf(stderr, "no memory for %zu bytes\n", MODEL_BYTES);
			exit(1);
		}
		return;
	}
	GPU_TRY(gpu_host_alloc(&checkpoint->host, MODEL_BYTES));
	GPU_TRY(gpu_alloc(&checkpoint->copy, MODEL_BYTES));
	GPU_TRY(gpu_stream_open(&checkpoint->link));
	GPU_TRY(gpu_event_open(&checkpoint->copied));
	GPU_TRY(gpu_event_open(&checkpoint->saved));
}

static void checkpoint_close(struct checkpoint *checkpoint)
{
	checkpoint_join(checkpoint);
	if (!checkpoint->is_aside) {
		free(checkpoint->host);
		return;
	}
	GPU_TRY(gpu_event_close(checkpoint->copied));
	GPU_TRY(gpu_event_close(checkpoint->saved));
	GPU_TRY(gpu_stream_close(checkpoint->link));
	GPU_TRY(gpu_free(checkpoint->copy));
	GPU_TRY(gpu_host_free(checkpoint->host));
}

static void checkpoint_save(struct checkpoint *checkpoint, const void *weights, gpu_stream stream)
{
	checkpoint->saves++;
	if (!checkpoint->is_aside) {
		GPU_TRY(gpu_download(checkpoint->host, weights, MODEL_BYTES));
		checkpoint_write();
		return;
	}
	checkpoint_join(checkpoint);
	GPU_TRY(gpu_launch(residual_add, MODEL_BYTES / sizeof(float), stream, checkpoint->copy,
			   weights));
	GPU_TRY(gpu_event_record(checkpoint->copied, stream));
	GPU_TRY(gpu_stream_wait_event(checkpoint->link, checkpoint->copied));
	GPU_TRY(gpu_download_async(checkpoint->host, checkpoint->copy, MODEL_BYTES,
				   checkpoint->link));
	GPU_TRY(gpu_event_record(checkpoint->saved, checkpoint->link));
	checkpoint->is_writing =
		!pthread_create(&checkpoint->writer, NULL, checkpoint_writer, checkpoint);
}

/* All weights lie in one piece, and so do their gradients. */
static void model_open(struct linear_layer *layers, void **weights, void **gradients)
{
	GPU_TRY(gpu_alloc(weights, MODEL_BYTES));
	GPU_TRY(gpu_alloc(gradients, MODEL_BYTES));
	for (int i = 0; i < LAYERS; i++) {
		layers[i].in = WIDTH;
		layers[i].out = WIDTH;
		layers[i].weight = (char *)*weights + (size_t)i * WEIGHT_BYTES;
		layers[i].gradient = (char *)*gradients + (size_t)i * WEIGHT_BYTES;
	}
}

static void train_step(const struct linear_layer *layers, void *activation[2], gpu_stream stream)
{
	size_t words = ACTIVATION_BYTES / sizeof(float);

	for (int i = 0; i < LAYERS; i++) {
		linear_forward(&layers[i], ROWS, activation[(i + 1) & 1], activation[i & 1]);
		GPU_TRY(gpu_launch(gelu_forward, words, stream, activation[(i + 1) & 1],
				   activation[(i + 1) & 1]));
	}
	for (int i = 0; i < LAYERS; i++)
		GPU_TRY(gpu_launch(adamw_step, WEIGHT_BYTES / sizeof(float), stream,
				   layers[i].weight, layers[i].gradient));
}

int main(int argc, char **argv)
{
	long steps = 95, every = 15;
	bool cured = false;
	const struct sample_option options[] = {
		{"steps", NULL, &steps, "steps to run (95)"},
		{"every", NULL, &every, "steps from one checkpoint to the next (15)"},
		{"cured", &cured, NULL, "copied aside, saved beside the next steps"},
		{NULL, NULL, NULL, NULL}};
	struct linear_layer layers[LAYERS];
	struct checkpoint checkpoint;
	struct step_pace pace;
	void *activation[2], *weights, *gradients;
	gpu_stream stream;

	sample_parse(argc, argv, options);
	gpu_open();
	GPU_TRY(gpu_stream_open(&stream));
	GPU_TRY(gpu_gemm_stream(stream));
	for (int i = 0; i < 2; i++)
		GPU_TRY(gpu_alloc(&activation[i], ACTIVATION_BYTES));
	model_open(layers, &weights, &gradients);
	checkpoint_open(&checkpoint, cured);
	step_pace_open(&pace);

	for (long step = 0; step < steps; step++) {
		step_pace_begin(&pace);
		train_step(layers, activation, stream);
		step_pace_end(&pace, stream);
		if (step % every == every - 1)
			checkpoint_save(&checkpoint, weights, stream);
	}
	GPU_TRY(gpu_device_sync());
	checkpoint_join(&checkpoint);
	printf("periodic_checkpoint: %ld steps, %ld checkpoints of %zu bytes\n", steps,
	       checkpoint.saves, MODEL_BYTES);
	step_pace_close(&pace);
	checkpoint_close(&checkpoint);
	GPU_TRY(gpu_free(weights));
	GPU_TRY(gpu_free(gradients));
	for (int i = 0; i < 2; i++)
		GPU_TRY(gpu_free(activation[i]));
	GPU_TRY(gpu_stream_close(stream));
	gpu_close();
	return 0;
}
