/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data-parallel training whose gradients are summed over the ranks after the whole backward pass,
 * on the stream that computes: the GPU only communicates meanwhile. Cure: --cured sums each layer's
 * gradients on a stream of their own while the layers before it are still computing.
 *
 * --micro-batches K sums after each of K backward passes of a step instead of after the last one;
 * --buckets N cuts the gradients into N sums. --slow-rank R (from 1) is late by --slow-ms in every
 * step; --hang-rank R (from 1) never comes to step --hang-step.
 */
#include "rank_group.h"
#include "step_loop.h"

enum { LAYERS_MAX = 64 };

struct job {
	long steps, ranks, layers, kernel_words, gradient_kib, buckets, micro_batches;
	long slow_rank, slow_ms, hang_rank, hang_step;
	bool cured;
};

struct replica {
	float *gradients, *activations, *output;
	size_t gradient_words;
	gpu_stream compute, communication;
	gpu_event layer_done[LAYERS_MAX], summed;
	struct rank_group group;
};

static void job_parse(struct job *job, int argc, char **argv)
{
	const struct sample_option options[] = {
		{"steps", NULL, &job->steps, "steps to run (20)"},
		{"ranks", NULL, &job->ranks, "processes, one GPU each (2)"},
		{"layers", NULL, &job->layers, "layers of the model, 64 at most (8)"},
		{"words", NULL, &job->kernel_words, "millions of words per kernel (256)"},
		{"gradients", NULL, &job->gradient_kib, "KiB of gradients (4096)"},
		{"buckets", NULL, &job->buckets, "sums per backward pass (one per layer)"},
		{"micro-batches", NULL, &job->micro_batches, "sums again after each (1)"},
		{"slow-rank", NULL, &job->slow_rank, "this rank, from 1, is late"},
		{"slow-ms", NULL, &job->slow_ms, "by so much in every step (60)"},
		{"hang-rank", NULL, &job->hang_rank, "this rank, from 1, stops"},
		{"hang-step", NULL, &job->hang_step, "before this step (3)"},
		{"cured", &job->cured, NULL, "sums while the backward pass goes on"},
		{NULL, NULL, NULL, NULL}};

	sample_parse(argc, argv, options);
	if (job->layers > LAYERS_MAX)
		job->layers = LAYERS_MAX;
	if (job->buckets == 0)
		job->buckets = job->layers;
	if (job->cured)
		job->buckets = job->layers;
	if (job->ranks > RANKS_MAX)
		job->ranks = RANKS_MAX;
}

static void replica_open(struct replica *replica, const struct job *job)
{
	size_t bytes = (size_t)job->gradient_kib << 10;

	gpu_open();
	rank_group_join(&replica->group);
	replica->gradient_words = bytes / sizeof(float);
	GPU_TRY(gpu_alloc(&replica->gradients, bytes));
	GPU_TRY(gpu_alloc(&replica->activations, (size_t)job->kernel_words << 22));
	GPU_TRY(gpu_alloc(&replica->output, (size_t)job->kernel_words << 22));
	GPU_TRY(gpu_stream_open(&replica->compute));
	GPU_TRY(gpu_stream_open(&replica->communication));
	GPU_TRY(gpu_set_async(replica->gradients, 0, bytes, replica->compute));
	for (long i = 0; i < job->layers; i++)
		GPU_TRY(gpu_event_open(&replica->layer_done[i]));
	GPU_TRY(gpu_event_open(&replica->summed));
}

static void replica_close(struct replica *replica, const struct job *job)
{
	for (long i = 0; i < job->layers; i++)
		GPU_TRY(gpu_event_close(replica->layer_done[i]));
	GPU_TRY(gpu_event_close(replica->summed));
	rank_group_leave(&replica->group);
	GPU_TRY(gpu_stream_close(replica->communication));
	GPU_TRY(gpu_stream_close(replica->compute));
	GPU_TRY(gpu_free(replica->output));
	GPU_TRY(gpu_free(replica->activations));
	GPU_TRY(gpu_free(replica->gradients));
	gpu_close();
}

/* Adds part `index` of `count` of the gradients up over the ranks. */
static void sum_part(struct replica *replica, long index, long count, gpu_stream stream)
{
	size_t part = replica->gradient_words / (size_t)count;

	GPU_TRY(gpu_all_reduce(&replica->group, replica->gradients + (size_t)index * part, part,
			       stream));
}

static void backward(struct replica *replica, const struct job *job, size_t words, bool sums)
{
	for (long layer = job->layers - 1; layer >= 0; layer--) {
		GPU_TRY(gpu_launch(gelu_backward, words, replica->compute, replica->activations,
				   replica->output));
		GPU_TRY(gpu_launch(layer_norm_backward, words, replica->compute,
				   replica->activations, replica->output));
		if (!job->cured || !sums)
			continue;
		GPU_TRY(gpu_event_record(replica->layer_done[layer], replica->compute));
		GPU_TRY(gpu_stream_wait_event(replica->communication, replica->layer_done[layer]));
		sum_part(replica, layer, job->layers, replica->communication);
	}
	for (long i = 0; i < job->buckets && !job->cured && sums; i++)
		sum_part(replica, i, job->buckets, replica->compute);
}

static void train_step(struct replica *replica, const struct job *job)
{
	size_t words = (size_t)job->kernel_words << 20;

	for (long batch = 0; batch < job->micro_batches; batch++) {
		bool is_last = batch + 1 == job->micro_batches;

		for (long layer = 0; layer < job->layers; layer++) {
			GPU_TRY(gpu_launch(layer_norm_forward, words, replica->compute,
					   replica->output, replica->activations));
			GPU_TRY(gpu_launch(gelu_forward, words, replica->compute, replica->output,
					   replica->activations));
		}
		backward(replica, job, words, is_last || !job->cured);
	}
	if (job->cured) {
		GPU_TRY(gpu_event_record(replica->summed, replica->communication));
		GPU_TRY(gpu_stream_wait_event(replica->compute, replica->summed));
	}
	GPU_TRY(gpu_launch(adamw_step, words, replica->compute, replica->activations,
			   replica->output));
}

int main(int argc, char **argv)
{
	struct job job = {20, 2, 8, 256, 4096, 0, 1, 0, 60, 0, 3, false};
	static struct replica replica;
	struct step_pace pace;
	float sample = 0.0F;

	job_parse(&job, argc, argv);
	rank_group_fork(&replica.group, (int)job.ranks);
	replica_open(&replica, &job);
	step_pace_open(&pace);
	for (long step = 0; step < job.steps; step++) {
		step_pace_begin(&pace);
		if (job.slow_rank == replica.group.rank + 1)
			step_host_work(1e3 * (double)job.slow_ms);
		while (job.hang_rank == replica.group.rank + 1 && step == job.hang_step)
			pause();
		train_step(&replica, &job);
		step_pace_end(&pace, replica.compute);
	}
	GPU_TRY(gpu_device_sync());
	GPU_TRY(gpu_download(&sample, replica.gradients, sizeof(sample)));
	printf("exposed_allreduce: rank %d of %d, %ld steps, %ld KiB of gradients, first sum %g\n",
	       replica.group.rank, replica.group.ranks, job.steps, job.gradient_kib,
	       (double)sample);
	step_pace_close(&pace);
	replica_close(&replica, &job);
	return 0;
}
