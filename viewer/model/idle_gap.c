/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who answers for an idle gap of a device (RULES.md, parts 4 to 7). The judge looks only at the
 * operation that ends the gap and at the thread that launched it:
 *
 *   4 its launch had returned before the gap began     -> the GPU's side
 *   5 the thread was waiting when the queue drained     -> that waiting call
 *   6 the thread was busy with CUDA calls, or the gap is short -> launches
 *   7 otherwise                                          -> the host was away
 *
 * "Waiting when the queue drained": the blocking call had begun before the gap did and ended in it.
 * A synchronisation that begins later finds nothing to wait for and is not the cause.
 */
#include "model_internal.h"

/* GPU and host clocks agree to a few microseconds; a call that starts this shortly after the last
 * operation ended is taken as having begun before. */
#define CLOCK_SLACK_NS	    20000
#define SHORT_GAP_NS	    1000000
#define SHORT_GAP_INTERVALS 20
#define READBACK_BYTES	    (64u * 1024)

static bool is_readback_copy(const struct model *model, const struct host_call *call)
{
	const struct transfer *transfer;

	if (call->kind != RECORD_KIND_copy)
		return false;
	transfer = &model->transfers[call->detail];
	return transfer->direction == COPY_D2H && transfer->size_bytes <= READBACK_BYTES;
}

/* A wait that only fetches a small result: ".item()" is a copy, then a stream synchronisation. The
 * copy is what to charge, its line asked for the number. */
static uint32_t find_readback(const struct model *model, uint32_t waiting)
{
	const struct model_thread *thread = &model->threads[model->calls[waiting].thread];
	uint32_t at = waiting;

	if (is_readback_copy(model, &model->calls[waiting]))
		return waiting;
	if (model->calls[waiting].kind != RECORD_KIND_sync)
		return MODEL_NONE;
	while (at-- > thread->first_call) {
		const struct host_call *call = &model->calls[at];

		if (is_readback_copy(model, call)) {
			/* cudaMemcpyAsync, not the cuMemcpyDtoHAsync_v2 inside. */
			while (model->calls[at].flags & CALL_REDUNDANT)
				at = model->calls[at].parent;
			return at;
		}
		/* Anything else that reaches the GPU ends the search: the wait is for that. */
		if (call->kind != RECORD_KIND_call && call->kind != RECORD_KIND_memory)
			return MODEL_NONE;
	}
	return MODEL_NONE;
}

/* A long call that asks for memory, or launches a kernel for the first time and loads it. A long
 * one of another kind was interrupted, as launches are. */
static bool is_other_work(const struct model *model, uint32_t at, int64_t long_ns)
{
	const struct host_call *call = &model->calls[at];

	if (call->end_ns - call->begin_ns < long_ns)
		return false;
	return call->kind == RECORD_KIND_memory ||
	       (call->kind == RECORD_KIND_launch && call->detail < model->kernel_count &&
		model->kernels[call->detail].first_launch == at);
}

/* The outermost calls of the thread before `root`, from the latest back, as far as they touch the
 * gap: finds the call that was waiting when it began and sums the time inside calls, and inside of
 * those that are no launches in fact. */
static uint32_t walk_back(const struct model *model, uint32_t root, int64_t begin_ns,
			  int64_t long_ns, int64_t *inside_ns, int64_t *other_ns)
{
	const struct model_thread *thread = &model->threads[model->calls[root].thread];
	uint32_t at = root;

	*inside_ns = *other_ns = 0;
	while (at-- > thread->first_call) {
		const struct host_call *call = &model->calls[at];
		int64_t overlap_ns;

		if (call->parent != MODEL_NONE)
			continue;
		if (call->end_ns < begin_ns)
			break;
		if ((call->flags & CALL_BLOCKS) && call->begin_ns <= begin_ns + CLOCK_SLACK_NS)
			return at;
		overlap_ns = call->end_ns - (call->begin_ns > begin_ns ? call->begin_ns : begin_ns);
		*inside_ns += overlap_ns;
		if (is_other_work(model, at, long_ns))
			*other_ns += overlap_ns;
	}
	return MODEL_NONE;
}

/* The innermost blocking call names the reason: cublasSgemm that waits in cudaMemcpy. */
static uint32_t innermost_blocking(const struct model *model, uint32_t root)
{
	uint32_t found = root;

	for (uint32_t at = root + 1; at < model->call_count; at++) {
		const struct host_call *call = &model->calls[at];

		if (call->thread != model->calls[root].thread || call->parent == MODEL_NONE)
			break;
		if ((call->flags & CALL_BLOCKS) && !(call->flags & CALL_REDUNDANT) &&
		    call->kind != model->calls[found].kind &&
		    model->calls[found].kind == RECORD_KIND_call)
			found = at;
	}
	return found;
}

/* Less than this, launches alone explain. */
static int64_t short_gap_ns(const struct model *model, const struct host_call *launch)
{
	int64_t intervals_ns =
		SHORT_GAP_INTERVALS * model->threads[launch->thread].median_launch_interval_ns;

	return intervals_ns > SHORT_GAP_NS ? intervals_ns : SHORT_GAP_NS;
}

struct gap_verdict idle_gap_judge(const struct model *model, int64_t begin_ns, int64_t end_ns,
				  const struct gpu_op *ended_by)
{
	struct gap_verdict verdict = {
		.part = LEDGER_UNKNOWN, .call = MODEL_NONE, .launch_call = MODEL_NONE};
	const struct host_call *launch;
	int64_t inside_ns, other_ns, outside_ns, short_ns, until_ns;
	uint32_t root, waiting;

	/* What is not recorded may have run in it. */
	if (!ended_by || ended_by->call == MODEL_NONE ||
	    blind_span_touches(model, begin_ns, end_ns))
		return verdict;
	launch = &model->calls[ended_by->call];
	root = model_call_root(model, ended_by->call);
	verdict.launch_call = ended_by->call;
	if (launch->end_ns <= begin_ns) {
		verdict.part = LEDGER_IDLE_GPU_WAIT;
		return verdict;
	}
	waiting = walk_back(model, root, begin_ns, short_gap_ns(model, launch), &inside_ns,
			    &other_ns);
	if (waiting != MODEL_NONE) {
		uint32_t readback;

		waiting = innermost_blocking(model, waiting);
		readback = find_readback(model, waiting);
		verdict.part = LEDGER_IDLE_SYNC;
		verdict.is_sync_call = model->calls[waiting].kind == RECORD_KIND_sync;
		verdict.is_readback = readback != MODEL_NONE;
		verdict.call = readback != MODEL_NONE ? readback : waiting;
		return verdict;
	}
	short_ns = short_gap_ns(model, launch);
	/* The launching call itself counts as presence from its begin to the end of the gap. */
	until_ns = model->calls[root].begin_ns < begin_ns ? begin_ns : model->calls[root].begin_ns;
	if (until_ns > end_ns)
		until_ns = end_ns;
	outside_ns = until_ns - begin_ns - inside_ns;
	inside_ns += end_ns - until_ns;
	if (is_other_work(model, ended_by->call, short_ns))
		other_ns += end_ns - until_ns;
	verdict.part = LEDGER_IDLE_HOST_AWAY;
	if (end_ns - begin_ns < short_ns || outside_ns < short_ns || outside_ns < inside_ns) {
		verdict.part = LEDGER_IDLE_ISSUE;
		verdict.other_ns = other_ns;
	}
	verdict.call = ended_by->call;
	return verdict;
}
