/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT505: the legacy default stream and every other (blocking) stream wait for each other, so work
 * on both never overlaps.
 */
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "rule.h"
#include "text.h"

#define WAIT_PERCENT 2.0
/* Work that waited begins this shortly after what it waited for has ended. */
#define FOLLOWS_NS 20000
/* A wait shorter than this is the way from one operation to the next. */
#define LEAST_WAIT_NS 5000
/* The share of changes of side with real overlap at which the streams do not wait. */
#define OVERLAP_SHARE 0.01

struct side {
	int64_t begin_ns, end_ns; /* of the operation that ended last */
	bool has_any;
};

struct stream_search {
	const struct model *model;
	struct side sides[2];	/* [1] the default stream */
	struct map stream_ends; /* CUPTI's stream -> end of its last operation */
	uint64_t *stream_end;	/* of the last operation */
	uint32_t stream;	/* likewise */
	int64_t busy_ns[2], wait_ns, saved_ns;
	uint64_t waits, overlaps, changes;
	uint32_t parts; /* bit per enum ledger_part of what waited */
	uint32_t call;	/* of the longest wait */
	int64_t longest_ns;
	bool was_default;
	uint64_t unknown;
};

static void see_wait(struct stream_search *search, const struct gpu_op *op,
		     const struct side *other, int64_t ready_ns)
{
	int64_t since_ns = ready_ns > other->begin_ns ? ready_ns : other->begin_ns;
	int64_t wait_ns = op->begin_ns - since_ns;
	int64_t own_ns = op->end_ns - op->begin_ns;

	if (wait_ns < LEAST_WAIT_NS || other->end_ns > op->begin_ns ||
	    op->begin_ns - other->end_ns > FOLLOWS_NS)
		return;
	search->waits++;
	search->wait_ns += wait_ns;
	/* Side by side they would take as long as the longer one. */
	search->saved_ns += own_ns < wait_ns ? own_ns : wait_ns;
	search->parts |= 1u << ledger_part_of_op(search->model, op);
	if (wait_ns > search->longest_ns) {
		search->longest_ns = wait_ns;
		search->call = op->call;
	}
}

static void see_op(void *context, const struct gpu_op *op)
{
	struct stream_search *search = context;
	const struct host_call *call;
	bool is_default;
	uint64_t *stream_end;
	const struct side *other;
	int64_t ready_ns;

	if (op->call == MODEL_NONE) {
		search->unknown++;
		return;
	}
	call = &search->model->calls[op->call];
	if (!(call->flags & CALL_STREAM_KNOWN)) {
		search->unknown++;
		return;
	}
	is_default = (call->flags & CALL_DEFAULT_STREAM) != 0;
	search->busy_ns[is_default] += op->end_ns - op->begin_ns;
	if (!search->stream_end || search->stream != op->stream)
		search->stream_end = map_slot(&search->stream_ends, op->stream, NULL);
	search->stream = op->stream;
	stream_end = search->stream_end;
	ready_ns = call->end_ns > (int64_t)*stream_end ? call->end_ns : (int64_t)*stream_end;
	other = &search->sides[!is_default];
	if (other->has_any) {
		search->changes += is_default != search->was_default;
		if (other->end_ns > op->begin_ns + 1000)
			search->overlaps++;
		else
			see_wait(search, op, other, ready_ns);
	}
	search->was_default = is_default;
	if (op->end_ns > (int64_t)*stream_end)
		*stream_end = (uint64_t)op->end_ns;
	if (!search->sides[is_default].has_any || op->end_ns > search->sides[is_default].end_ns)
		search->sides[is_default] = (struct side){op->begin_ns, op->end_ns, true};
}

/* Calls by which the program orders streams itself, in steady steps. */
static uint64_t count_stream_waits(const struct model *model)
{
	uint64_t count = 0;
	size_t step = 0;

	for (size_t i = 0; i < model->call_count; i++) {
		const struct host_call *call = &model->calls[i];

		if (call->kind != RECORD_KIND_call || call->parent != MODEL_NONE ||
		    !strstr(model->apis[call->api], "StreamWaitEvent"))
			continue;
		if (step && model->steps.items[step - 1].host_begin_ns > call->begin_ns)
			step = 0; /* the next thread */
		while (step < model->steps.count &&
		       model->steps.items[step].host_end_ns <= call->begin_ns)
			step++;
		count += step < model->steps.count &&
			 model->steps.items[step].kind == STEP_STEADY &&
			 model->steps.items[step].host_begin_ns <= call->begin_ns;
	}
	return count;
}

static void raise(struct rule_context *context, const struct stream_search *search)
{
	struct finding *finding = rule_raise(context, search->call);
	double wait_ms = rule_ms(context, search->wait_ns);
	double default_ms = rule_ms(context, search->busy_ns[1]);
	double other_ms = rule_ms(context, search->busy_ns[0]);
	double saved_ms = rule_ms(context, search->saved_ns);
	double shorter_ms = default_ms < other_ms ? default_ms : other_ms;

	finding->cost_ms = wait_ms;
	finding->per_step = (double)search->waits / context->steady_steps;
	finding->draws_from = search->parts;
	finding->gain_high_ms = saved_ms < shorter_ms ? saved_ms : shorter_ms;
	finding_number(finding, "waits_per_step", finding->per_step);
	finding_number(finding, "wait_ms_per_step", wait_ms);
	finding_number(finding, "default_stream_ms_per_step", default_ms);
	finding_number(finding, "other_streams_ms_per_step", other_ms);
	finding_summary(
		finding,
		"Work on the default stream (%.2f ms per %s) and on other streams (%.2f ms) "
		"never overlaps: %s times per %s one begins only when the other has "
		"ended, after waiting %.2f ms in all (%.1f %%).",
		default_ms, context->unit, other_ms, text_count(finding->per_step).text,
		context->unit, wait_ms, rule_percent(context, wait_ms));
	finding_fix(finding,
		    "Use no default stream beside others: give every piece of work a stream made "
		    "with cudaStreamNonBlocking, or compile with --default-stream per-thread.");
	rule_settle(context, finding);
}

static void judge(struct rule_context *context, const struct stream_search *search)
{
	uint64_t own = count_stream_waits(context->model);
	double percent = rule_share(context, search->wait_ns);

	if (!search->busy_ns[0] && !search->busy_ns[1])
		rule_not_judged(context,
				"the file does not say which work is on the default stream");
	else if (!search->busy_ns[0] || !search->busy_ns[1])
		rule_silent(context, "all work is on %s",
			    search->busy_ns[1] ? "the default stream"
					       : "streams other than the default one");
	else if ((double)search->overlaps > OVERLAP_SHARE * (double)search->changes)
		rule_silent(context, "work on the default stream overlaps with that of others");
	else if (percent < WAIT_PERCENT)
		rule_silent(context,
			    "waiting between the default stream and others is %.1f %% of the %s "
			    "(raised from %.0f %%)",
			    percent, context->unit, WAIT_PERCENT);
	else if (own >= search->waits)
		rule_not_judged(context,
				"the program orders its streams itself with %s cudaStreamWaitEvent "
				"calls per %s, so the default stream need not be the cause",
				text_count((double)own / context->steady_steps).text,
				context->unit);
	else
		raise(context, search);
}

static void run(struct rule_context *context)
{
	struct stream_search search = {.model = context->model, .call = MODEL_NONE};

	map_init(&search.stream_ends);
	work_visit_steady(context->model, context->device, see_op, &search);
	map_fini(&search.stream_ends);
	judge(context, &search);
}

/* clang-format off */
const struct rule rule_default_stream = {
	.name = "default_stream",
	.id = "GT505",
	.title = "default-stream serialisation",
	.page =
"The legacy default stream (stream 0) waits for all work of other streams, and they for it, unless\n"
"they were made with cudaStreamNonBlocking. A wait is counted when work was launched, its own\n"
"stream was free, work of the other side was running, and it begins at most 20 us after that has\n"
"ended. Raised when these waits are at least 2 % of the mean steady step.\n"
"\n"
"Cost: the waits. Gain: from nothing (both fill the GPU) up to the shorter of the two in each\n"
"wait, at most the parts of the ledger in which the waiting work is.\n"
"Silent: all work on one side; work of the two sides that overlaps (non-blocking streams);\n"
"per-thread default streams.\n"
"Not judged: recordings that do not tell the streams of launches (imported ones), and programs\n"
"that call cudaStreamWaitEvent as often as there are waits: they may order the work themselves.\n"
"GT108 is about copies that could be hidden; this one about all work.\n"
"Wrong when: events or the host order the two sides, in a way that looks the same.\n",
	.run = run,
};
/* clang-format on */
