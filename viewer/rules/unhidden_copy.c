/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT108: asynchronous copies of pinned memory that could run beside compute, but queue up behind it
 * because they are on the same stream, or on the default stream that waits for all others.
 */
#include <string.h>

#include "rule.h"

#define EXPOSED_PERCENT 2.0
#define STREAMS		64

struct stream_use {
	uint32_t stream;
	int64_t kernel_ns;
};

struct streams {
	const struct model *model;
	struct stream_use items[STREAMS]; /* more streams than that do not matter here */
	size_t count;
	uint32_t compute;		  /* the stream with most kernel time */
	int64_t lane_ns[COPY_LANE_COUNT]; /* that queue behind compute */
	uint64_t bytes, copies, on_default;
	int64_t longest_ns;
	uint32_t call;
};

static void add_kernel(void *context, const struct gpu_op *op)
{
	struct streams *streams = context;
	size_t i = 0;

	if (!model_op_has_kernel(op) || op->kernel_class == KERNEL_COMMUNICATION)
		return;
	while (i < streams->count && streams->items[i].stream != op->stream)
		i++;
	if (i == STREAMS)
		return;
	if (i == streams->count)
		streams->items[streams->count++] = (struct stream_use){op->stream, 0};
	streams->items[i].kernel_ns += op->end_ns - op->begin_ns;
}

static void add_copy(void *context, const struct gpu_op *op)
{
	struct streams *streams = context;
	const struct transfer *transfer;
	int64_t busy_ns = op->end_ns - op->begin_ns;
	enum copy_lane lane;
	uint8_t host;

	if (op->type != GPU_OP_COPY)
		return;
	transfer = &streams->model->transfers[op->detail];
	if (!transfer->is_async)
		return;
	if (transfer->direction == COPY_H2D)
		lane = COPY_LANE_H2D_OTHER;
	else if (transfer->direction == COPY_D2H)
		lane = COPY_LANE_D2H_OTHER;
	else
		return;
	host = transfer->direction == COPY_H2D ? transfer->source_kind : transfer->destination_kind;
	if (host != MEMORY_PINNED)
		return;
	if (op->stream != streams->compute && !transfer->is_default_stream)
		return;
	streams->lane_ns[lane] += busy_ns;
	streams->bytes += transfer->size_bytes;
	streams->copies++;
	streams->on_default += transfer->is_default_stream;
	if (busy_ns > streams->longest_ns) {
		streams->longest_ns = busy_ns;
		streams->call = op->call;
	}
}

static void raise(struct rule_context *context, const struct streams *streams, double exposed_ms,
		  double compute_ms)
{
	struct finding *finding = rule_raise(context, streams->call);
	double mib = (double)streams->bytes / context->steady_steps / 1048576;
	bool is_default = streams->on_default * 2 > streams->copies;

	finding->cost_ms = exposed_ms;
	finding->per_step = (double)streams->copies / context->steady_steps;
	finding->gain_high_ms = exposed_ms < compute_ms ? exposed_ms : compute_ms;
	/* The next batch may not be there yet when this one computes. */
	finding->gain_low_ms = finding->gain_high_ms / 3;
	finding->draws_from = 1u << LEDGER_COPY;
	finding_number(finding, "bytes_per_step", (double)streams->bytes / context->steady_steps);
	finding_number(finding, "copies_per_step", finding->per_step);
	finding_number(finding, "exposed_ms_per_step", exposed_ms);
	finding_number(finding, "compute_ms_per_step", compute_ms);
	finding_number(finding, "compute_stream", streams->compute);
	finding_text(finding, "copy_stream", is_default ? "default" : "the compute stream");
	finding_summary(
		finding,
		"%.1f MiB per %s are copied asynchronously from or to pinned memory, but on "
		"%s: they run %.2f ms (%.1f %%) alone instead of beside %.2f ms of "
		"compute.",
		mib, context->unit,
		is_default ? "the default stream, which waits for all others"
			   : "the stream that computes",
		exposed_ms, rule_percent(context, exposed_ms), compute_ms);
	finding_fix(finding,
		    "Copy the next batch on a stream of its own (created with "
		    "cudaStreamNonBlocking, torch.cuda.Stream()) while this one computes, and let "
		    "the compute stream wait for an event.");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	struct streams streams = {.model = context->model, .call = MODEL_NONE};
	double compute_ms = 0, exposed_ms = 0, most_ns = -1;

	work_visit_steady(context->model, context->device, add_kernel, &streams);
	for (int part = 0; part < LEDGER_COMPUTE_PARTS; part++)
		compute_ms += ledger_part_ms(context->ledger, (enum ledger_part)part);
	if (!streams.count) {
		rule_silent(context, "there is no compute that could hide a copy");
		return;
	}
	for (size_t i = 0; i < streams.count; i++) {
		if ((double)streams.items[i].kernel_ns > most_ns) {
			most_ns = (double)streams.items[i].kernel_ns;
			streams.compute = streams.items[i].stream;
		}
	}
	work_visit_steady(context->model, context->device, add_copy, &streams);
	for (int lane = 0; lane < COPY_LANE_COUNT; lane++) {
		/* The part of the lane's exposed time that these copies have. */
		if (context->copies.lanes[lane].busy_ns > 0)
			exposed_ms += ledger_copy_lane_ms(context->ledger, (enum copy_lane)lane) *
				      (double)streams.lane_ns[lane] /
				      (double)context->copies.lanes[lane].busy_ns;
	}
	if (rule_percent(context, exposed_ms) < EXPOSED_PERCENT)
		rule_silent(context,
			    "asynchronous copies of pinned memory behind compute are %.1f %% of "
			    "the %s (raised from %.0f %%)",
			    rule_percent(context, exposed_ms), context->unit, EXPOSED_PERCENT);
	else
		raise(context, &streams, exposed_ms, compute_ms);
}

/* clang-format off */
const struct rule rule_unhidden_copy = {
	.name = "unhidden_copy",
	.id = "GT108",
	.title = "copy not overlapped",
	.page =
"Raised when asynchronous copies of pinned memory that are on the stream with most of the\n"
"compute, or on the legacy default stream, are exposed for at least 2 % of the mean steady\n"
"step. On one stream everything runs in order; the default stream waits for all others.\n"
"\n"
"Gain: up to the exposed time or the step's compute, whichever is less; at least a third.\n"
"Silent: copies on a stream of their own; pageable memory (GT102); runs without compute.\n"
"In recordings of other tools only the shared stream is seen, not that one is the default.\n"
"Wrong when: the data is made just before the copy, so that there is nothing to prefetch.\n",
	.run = run,
};
/* clang-format on */
