/* SPDX-License-Identifier: Apache-2.0 */
/* The host launches far ahead of the GPU, so that all times of the GPU are those given here. */
#include "comm_bench.h"

#include <string.h>

enum { STEPS = 20, LAYERS = 4, KERNEL_NS = 1000000, COMPUTE_STREAM = 7, COMM_STREAM = 14 };

struct player {
	struct bench *bench;
	const struct comm_loop *loop;
	int64_t host_ns, compute_ns, comm_ns;
	uint32_t sequence;
	int step;
};

static struct script_call next_call(struct player *player, const char *api, uint64_t site)
{
	struct script_call call = {.begin_ns = player->host_ns,
				   .end_ns = player->host_ns + 3000,
				   .thread = 1,
				   .api = api,
				   .site = site,
				   .flags = CALL_ASYNC};

	player->host_ns += 4000;
	return call;
}

static void compute(struct player *player, const char *name)
{
	struct script *script = player->bench->script;
	struct script_call call = next_call(player, "cudaLaunchKernel", 6);
	int64_t begin_ns = player->compute_ns;

	call.correlation = script_next_correlation(script);
	if (begin_ns < player->host_ns)
		begin_ns = player->host_ns;
	player->compute_ns = begin_ns + KERNEL_NS;
	script_add_launch(script, &call, name);
	script_use_stream(script, COMPUTE_STREAM);
	script_add_kernel(script, 0, name, call.correlation, begin_ns, player->compute_ns);
}

static void sum(struct player *player, int index)
{
	const struct comm_loop *loop = player->loop;
	struct script *script = player->bench->script;
	struct script_call outer = next_call(player, "ncclAllReduce", 5);
	struct script_call inner = outer;
	const char *name = loop->kernel ? loop->kernel : COMM_ALL_REDUCE_KERNEL;
	int64_t begin_ns = player->compute_ns, length_ns = loop->sum_ns;
	struct record_collective record;

	if (player->step % 2)
		length_ns += loop->late_ns;
	memset(&record, 0, sizeof(record));
	record.communicator = 0x77;
	record.hash = 0x1234;
	record.send = record.receive = 0x700000 + (uint64_t)index * loop->sum_bytes;
	record.count = loop->sum_bytes / 4;
	record.size_bytes = loop->sum_bytes;
	record.sequence = ++player->sequence;
	record.peer = MARK_NO_PEER;
	record.op = COLLECTIVE_ALL_REDUCE;
	record.element = 7;
	if (loop->has_calls)
		inner.parent_id = script_add_call_record(script, &outer, RECORD_KIND_collective,
							 &record, sizeof(record));
	inner.api = "cuLaunchKernel";
	inner.correlation = script_next_correlation(script);
	inner.begin_ns += 500;
	inner.end_ns -= 500;
	script_add_launch(script, &inner, name);
	if (begin_ns < player->comm_ns)
		begin_ns = player->comm_ns;
	player->comm_ns = begin_ns + length_ns;
	if (!loop->is_hidden)
		player->compute_ns = player->comm_ns;
	script_use_stream(script, COMM_STREAM);
	script_add_kernel(script, 0, name, inner.correlation, begin_ns, player->comm_ns);
}

static void play_batch(struct player *player)
{
	const struct comm_loop *loop = player->loop;

	for (int layer = 0; layer < LAYERS; layer++) {
		compute(player, "layer_norm_forward");
		compute(player, "gelu_forward");
		if (loop->is_layered)
			sum(player, 0);
	}
	for (int layer = 0; layer < LAYERS; layer++) {
		if (loop->is_hidden)
			sum(player, layer % loop->sums);
		compute(player, "gelu_backward");
		compute(player, "layer_norm_backward");
		if (loop->is_layered)
			sum(player, 0);
	}
	for (int i = 0; i < loop->sums && !loop->is_hidden && !loop->is_layered; i++)
		sum(player, i);
}

void comm_bench_run(struct bench *bench, const struct comm_loop *loop)
{
	struct player player = {.bench = bench, .loop = loop, .host_ns = 1000000};
	int batches = loop->micro_batches ? loop->micro_batches : 1;

	for (player.step = 0; player.step < STEPS; player.step++) {
		for (int batch = 0; batch < batches; batch++)
			play_batch(&player);
		if (player.compute_ns < player.comm_ns)
			player.compute_ns = player.comm_ns;
		compute(&player, "adamw_step");
	}
	bench_run(bench);
}
