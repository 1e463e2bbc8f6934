/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pathology: a step of many small kernels, each launched by itself. Between two launches the host
 * does what a framework in Python does for an operator, which takes longer than the kernel: the GPU
 * waits for launches most of the time.
 * Cure (--cured): the step is captured once as a CUDA graph and replayed by one launch. --update
 * captures it anew every 16 steps and updates the executable.
 */
#include "step_loop.h"

enum { UPDATE_EVERY = 16 };

struct state {
	long kernels, dispatch_us;
	size_t words;
	void *buffer[2];
	unsigned *seen; /* pinned: what the last step left */
	gpu_stream stream;
	bool cured, update;
};

static void one_step(const struct state *state, bool is_eager)
{
	GPU_TRY(gpu_set_async(state->buffer[1], 0x3f, state->words * sizeof(float), state->stream));
	for (long i = 0; i < state->kernels; i++) {
		if (is_eager)
			step_host_work((double)state->dispatch_us);
		GPU_TRY(gpu_launch(residual_add, state->words, state->stream, state->buffer[0],
				   state->buffer[1]));
	}
	GPU_TRY(gpu_download_async(state->seen, state->buffer[1], sizeof(*state->seen),
				   state->stream));
}

static void capture_step(const struct state *state, gpu_graph *graph)
{
	GPU_TRY(gpu_capture_begin(state->stream));
	one_step(state, false);
	GPU_TRY(gpu_capture_end(state->stream, graph));
}

static void replay(const struct state *state, gpu_graph_exec exec, long step)
{
	gpu_graph graph;

	if (state->update && step % UPDATE_EVERY == UPDATE_EVERY - 1) {
		capture_step(state, &graph);
		GPU_TRY(gpu_graph_update(exec, graph));
		GPU_TRY(gpu_graph_close(graph));
	}
	GPU_TRY(gpu_graph_launch(exec, state->stream));
}

int main(int argc, char **argv)
{
	long steps = 60, kilowords = 512;
	struct state state = {1000, 10, 0, {NULL, NULL}, NULL, NULL, false, false};
	const struct sample_option options[] = {
		{"steps", NULL, &steps, "steps to run (60)"},
		{"kernels", NULL, &state.kernels, "kernels in a step (1000)"},
		{"dispatch", NULL, &state.dispatch_us, "host work per launch in us (10)"},
		{"kilowords", NULL, &kilowords, "size of the tensors in 2^10 32-bit words (512)"},
		{"cured", &state.cured, NULL, "replays the step as a CUDA graph"},
		{"update", &state.update, NULL, "with --cured: updates it every 16 steps"},
		{NULL, NULL, NULL, NULL}};
	gpu_graph_exec exec = NULL;
	gpu_graph graph = NULL;
	struct step_pace pace;

	sample_parse(argc, argv, options);
	gpu_open();
	GPU_TRY(gpu_stream_open(&state.stream));
	state.words = (size_t)kilowords << 10;
	for (int i = 0; i < 2; i++)
		GPU_TRY(gpu_alloc(&state.buffer[i], state.words * sizeof(float)));
	GPU_TRY(gpu_host_alloc(&state.seen, sizeof(*state.seen)));
	*state.seen = 0;
	step_pace_open(&pace);
	if (state.cured) {
		capture_step(&state, &graph);
		GPU_TRY(gpu_graph_instantiate(&exec, graph));
		GPU_TRY(gpu_graph_close(graph));
	}

	for (long step = 0; step < steps; step++) {
		step_pace_begin(&pace);
		if (state.cured)
			replay(&state, exec, step);
		else
			one_step(&state, true);
		step_pace_end(&pace, state.stream);
	}
	GPU_TRY(gpu_device_sync());
	printf("launch_bound: %ld steps of %ld kernels, the tensor holds %08x\n", steps,
	       state.kernels, *state.seen);
	if (exec)
		GPU_TRY(gpu_graph_exec_close(exec));
	step_pace_close(&pace);
	GPU_TRY(gpu_host_free(state.seen));
	for (int i = 0; i < 2; i++)
		GPU_TRY(gpu_free(state.buffer[i]));
	GPU_TRY(gpu_stream_close(state.stream));
	gpu_close();
	return 0;
}
