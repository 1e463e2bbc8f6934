/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pathology: the host waits for the GPU inside the step loop, once to time the forward pass
 * (cudaDeviceSynchronize) and once to read the loss (a 4-byte copy and a wait, as .item() does).
 * Each time the GPU has run dry and stays idle until the host has done its own work.
 * Cure (--cured): no timing (--untimed), and the loss is fetched without waiting and read after the
 * loop (--late-loss).
 */
#include "step_loop.h"

enum { KERNELS_PER_PASS = 8, LOGGING_US = 250, PREPARING_US = 350 };

struct state {
	size_t words;
	void *buffer[2];
	float *losses; /* pinned */
	gpu_stream stream;
	bool cured, untimed, late_loss;
};

static void forward(const struct state *state)
{
	for (int i = 0; i < KERNELS_PER_PASS; i++)
		GPU_TRY(gpu_launch(layer_norm_forward, state->words, state->stream,
				   state->buffer[(i + 1) & 1], state->buffer[i & 1]));
	if (!state->untimed)
		GPU_TRY(gpu_device_sync());
	step_host_work(LOGGING_US);
}

static void backward(const struct state *state, long step)
{
	for (int i = 0; i < KERNELS_PER_PASS; i++)
		GPU_TRY(gpu_launch(layer_norm_backward, state->words, state->stream,
				   state->buffer[(i + 1) & 1], state->buffer[i & 1]));
	GPU_TRY(gpu_download_async(&state->losses[step], state->buffer[0], sizeof(float),
				   state->stream));
	if (!state->late_loss)
		GPU_TRY(gpu_stream_sync(state->stream));
	step_host_work(PREPARING_US);
}

int main(int argc, char **argv)
{
	long steps = 200, megawords = 16;
	struct state state = {0, {NULL, NULL}, NULL, NULL, false, false, false};
	const struct sample_option options[] = {
		{"steps", NULL, &steps, "steps to run (200)"},
		{"megawords", NULL, &megawords, "size of the tensors in 2^20 32-bit words (16)"},
		{"cured", &state.cured, NULL, "waits for the GPU only after the loop"},
		{"untimed", &state.untimed, NULL, "does not time the forward pass"},
		{"late-loss", &state.late_loss, NULL, "reads the losses after the loop"},
		{NULL, NULL, NULL, NULL}};
	struct step_pace pace;

	sample_parse(argc, argv, options);
	state.untimed |= state.cured;
	state.late_loss |= state.cured;
	gpu_open();
	GPU_TRY(gpu_stream_open(&state.stream));
	state.words = (size_t)megawords << 20;
	for (int i = 0; i < 2; i++) {
		GPU_TRY(gpu_alloc(&state.buffer[i], state.words * sizeof(float)));
		GPU_TRY(gpu_set_async(state.buffer[i], 0, state.words * sizeof(float),
				      state.stream));
	}
	GPU_TRY(gpu_host_alloc(&state.losses, (size_t)steps * sizeof(float)));
	step_pace_open(&pace);

	for (long step = 0; step < steps; step++) {
		step_pace_begin(&pace);
		forward(&state);
		backward(&state, step);
		step_pace_end(&pace, state.stream);
	}
	GPU_TRY(gpu_device_sync());
	printf("sync_in_loop: %ld steps, %ld losses read\n", steps, steps);
	step_pace_close(&pace);
	GPU_TRY(gpu_host_free(state.losses));
	for (int i = 0; i < 2; i++)
		GPU_TRY(gpu_free(state.buffer[i]));
	GPU_TRY(gpu_stream_close(state.stream));
	gpu_close();
	return 0;
}
