/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training job: load a batch, forward, backward, optimizer; a GPT-like model that is fed with
 * precomputed image features, so that its batches are large. It has several faults at once:
 *   the batch comes from pageable memory and is waited for         cure --overlap
 *   vocabulary 50257 and feed-forward 10922 are not padded          cure --vocabulary 50304
 *                                                                        --feed-forward 10944
 *   the loss is read and the step is timed by waiting for the GPU   cure --no-wait
 * --graph replays backward pass and optimizer as a CUDA graph, which cures none of them.
 * With --ranks N it is data-parallel: N processes with a GPU each, which sum --gradients KiB over
 * all ranks after every backward pass, in one flat buffer that stands for the layers' gradients
 *                                                                 cure --overlap-sums
 * Cure of all: --cured. A later --vocabulary or --feed-forward still counts.
 */
#include "batch_loader.h"
#include "gpt_model.h"
#include "gradient_sum.h"

enum { LOGGING_US = 3000, COLLATING_US = 3000 };

struct job {
	long steps, rows, layers, vocabulary, feed_forward, features, ranks, gradient_kib;
	bool cured, overlap, overlap_sums, no_wait, graph;
	gpu_graph_exec replay; /* with `graph`, from the first step on */
};

static void job_parse(struct job *job, int argc, char **argv)
{
	const struct sample_option options[] = {
		{"steps", NULL, &job->steps, "steps to run (30)"},
		{"rows", NULL, &job->rows, "tokens in a batch (1024)"},
		{"layers", NULL, &job->layers, "transformer blocks, 64 at most (2)"},
		{"features", NULL, &job->features, "MiB of image features in a batch (32)"},
		{"vocabulary", NULL, &job->vocabulary, "width of the output layer (50257)"},
		{"feed-forward", NULL, &job->feed_forward, "width of the hidden layers (10922)"},
		{"ranks", NULL, &job->ranks, "processes, one GPU each (1)"},
		{"gradients", NULL, &job->gradient_kib, "KiB that ranks sum per step (4096)"},
		{"overlap", &job->overlap, NULL, "pinned batches, copied one step ahead"},
		{"overlap-sums", &job->overlap_sums, NULL, "sums while the backward pass goes on"},
		{"no-wait", &job->no_wait, NULL, "reads the losses after the loop, times nothing"},
		{"graph", &job->graph, NULL, "backward pass and optimizer as a CUDA graph"},
		{"cured", &job->cured, NULL, "all cures; vocabulary 50304, feed-forward 10944"},
		{NULL, NULL, NULL, NULL}};

	sample_parse(argc, argv, options);
	job->overlap |= job->cured;
	job->overlap_sums |= job->cured;
	job->no_wait |= job->cured;
	if (job->vocabulary == 0)
		job->vocabulary = job->cured ? 50304 : 50257;
	if (job->feed_forward == 0)
		job->feed_forward = job->cured ? 10944 : 10922;
	if (job->layers > GPT_MAX_LAYERS)
		job->layers = GPT_MAX_LAYERS;
}

static void backward_and_optimize(const struct job *job, const struct gpt_model *model,
				  struct gradient_sum *sum)
{
	long parts = job->layers + 1, done = 0;

	gpt_backward_head(model);
	gradient_sum_part(sum, done++, parts, model->stream);
	for (int i = model->layers - 1; i >= 0; i--) {
		gpt_backward_block(model, i);
		gradient_sum_part(sum, done++, parts, model->stream);
	}
	gpt_backward_embedding(model);
	gradient_sum_finish(sum, model->stream);
	gpt_optimize(model);
}

/* The same as a graph, which the first step captures. */
static void replay_backward(struct job *job, const struct gpt_model *model,
			    struct gradient_sum *sum)
{
	gpu_graph graph;

	if (!job->replay) {
		GPU_TRY(gpu_capture_begin(model->stream));
		backward_and_optimize(job, model, sum);
		GPU_TRY(gpu_capture_end(model->stream, &graph));
		GPU_TRY(gpu_graph_instantiate(&job->replay, graph));
		GPU_TRY(gpu_graph_close(graph));
	}
	GPU_TRY(gpu_graph_launch(job->replay, model->stream));
}

/* One step; loss is pinned and filled when the GPU gets there. */
static void train_step(struct job *job, const struct gpt_model *model, struct batch_loader *loader,
		       struct gradient_sum *sum, float *loss)
{
	void *batch = batch_loader_next(loader);

	gpt_forward(model, batch);
	batch_loader_done(loader);
	GPU_TRY(gpu_download_async(loss, model->logits, sizeof(*loss), model->stream));
	if (!job->no_wait)
		GPU_TRY(gpu_stream_sync(model->stream));
	step_host_work(LOGGING_US);
	if (job->graph)
		replay_backward(job, model, sum);
	else
		backward_and_optimize(job, model, sum);
	if (!job->no_wait)
		GPU_TRY(gpu_device_sync());
	step_host_work(COLLATING_US);
}

int main(int argc, char **argv)
{
	struct job job = {30, 1024, 2, 0, 0, 32, 1, 4096, false, false, false, false, false, NULL};
	static struct gpt_model model;
	static struct gradient_sum sum;
	struct batch_loader loader;
	struct step_pace pace;
	gpu_stream stream;
	float *losses = NULL;

	job_parse(&job, argc, argv);
	gradient_sum_fork(&sum, job.ranks);
	gpu_open();
	GPU_TRY(gpu_stream_open(&stream));
	GPU_TRY(gpu_gemm_stream(stream));
	model.layers = (int)job.layers;
	model.rows = (int)job.rows;
	model.feed_forward = (int)job.feed_forward;
	model.vocabulary = (int)job.vocabulary;
	gpt_open(&model, stream);
	batch_loader_open(&loader, (size_t)job.features << 20, job.overlap, job.overlap, stream);
	GPU_TRY(gpu_host_alloc(&losses, (size_t)job.steps * sizeof(float)));
	gradient_sum_open(&sum, job.gradient_kib, job.overlap_sums, stream);
	step_pace_open(&pace);

	for (long step = 0; step < job.steps; step++) {
		step_pace_begin(&pace);
		train_step(&job, &model, &loader, &sum, &losses[step]);
		step_pace_end(&pace, stream);
	}
	GPU_TRY(gpu_device_sync());
	bool equal = batch_loader_verify(&loader);

	printf("train_loop: %ld steps, %ld layers, vocabulary %ld, feed-forward %ld, batch on the "
	       "GPU "
	       "%s\n",
	       job.steps, job.layers, job.vocabulary, job.feed_forward,
	       equal ? "equals the host's" : "DIFFERS from the host's");
	if (job.replay)
		GPU_TRY(gpu_graph_exec_close(job.replay));
	step_pace_close(&pace);
	GPU_TRY(gpu_host_free(losses));
	batch_loader_close(&loader);
	gpt_close(&model);
	gradient_sum_close(&sum);
	GPU_TRY(gpu_stream_close(stream));
	gpu_close();
	return equal ? 0 : 1;
}
