/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT110: host memory is pinned or unpinned in every step. Each time the driver locks every page and
 * maps it into the GPU: milliseconds that no copy wins back.
 */
#include <stdlib.h>
#include <string.h>

#include "array_len.h"
#include "rule.h"
#include "text.h"
#include "xmalloc.h"

#define COST_PERCENT 0.5

struct pinning {
	int64_t host_ns, longest_ns;
	uint64_t calls;
	uint32_t call;
};

/* By name, so that recordings of other tools tell it too. */
static bool is_pinning(const char *api)
{
	static const char *const parts[] = {"HostAlloc", "MallocHost",	 "MemAllocHost",
					    "FreeHost",	 "HostRegister", "HostUnregister"};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (strstr(api, parts[i]))
			return true;
	}
	return false;
}

static bool is_in_steady_step(const struct model *model, int64_t time_ns, size_t *step)
{
	while (*step < model->steps.count && model->steps.items[*step].host_end_ns <= time_ns)
		(*step)++;
	return *step < model->steps.count && model->steps.items[*step].kind == STEP_STEADY &&
	       model->steps.items[*step].host_begin_ns <= time_ns;
}

static struct pinning find_pinning(const struct rule_context *context)
{
	const struct model *model = context->model;
	const struct model_thread *thread = &model->threads[context->host.thread];
	struct pinning pinning = {.call = MODEL_NONE};
	bool *pins = xcalloc(model->api_count, sizeof(*pins));
	size_t step = 0;

	for (size_t i = 0; i < model->api_count; i++)
		pins[i] = is_pinning(model->apis[i]);

	for (size_t i = 0; i < thread->call_count; i++) {
		const struct host_call *call = &model->calls[thread->first_call + i];
		int64_t host_ns = call->end_ns - call->begin_ns;

		if (call->parent != MODEL_NONE || !pins[call->api] ||
		    !is_in_steady_step(model, call->begin_ns, &step))
			continue;
		pinning.host_ns += host_ns;
		pinning.calls++;
		if (host_ns >= pinning.longest_ns) {
			pinning.longest_ns = host_ns;
			pinning.call = (uint32_t)(thread->first_call + i);
		}
	}
	free(pins);
	return pinning;
}

static void raise(struct rule_context *context, const struct pinning *pinning)
{
	struct finding *finding = rule_raise(context, pinning->call);
	double host_ms = rule_ms(context, pinning->host_ns);

	finding->cost_ms = host_ms;
	finding->per_step = (double)pinning->calls / context->steady_steps;
	finding->gain_high_ms = host_ms;
	finding->gain_low_ms = host_ms / 2;
	finding->draws_from =
		1u << LEDGER_IDLE_SYNC | 1u << LEDGER_IDLE_ISSUE | 1u << LEDGER_IDLE_HOST_AWAY;
	finding_number(finding, "calls_per_step", finding->per_step);
	finding_number(finding, "host_ms_per_step", host_ms);
	finding_number(finding, "longest_ms", (double)pinning->longest_ns / 1e6);
	finding_text(finding, "call", model_api_name(context->model, pinning->call));
	finding_summary(finding,
			"The launching thread pins or unpins host memory %s %s per %s (%s, the "
			"longest call %.2f ms): %.2f ms of each %s (%.1f %%).",
			text_count(finding->per_step).text,
			text_noun(finding->per_step, "time", "times"), context->unit,
			model_api_name(context->model, pinning->call),
			(double)pinning->longest_ns / 1e6, host_ms, context->unit,
			rule_percent(context, host_ms));
	finding_fix(finding,
		    "Allocate the pinned buffers once before the loop and reuse them; where "
		    "that is not possible, a plain copy from pageable memory is cheaper.");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	struct pinning pinning;

	if (!context->host.has_thread) {
		rule_not_judged(context, "the calls of this device's thread are not in the file");
		return;
	}
	if (context->model->steps.source == STEPS_NONE) {
		rule_not_judged(context, "there are no steps, so there is no loop to pin in");
		return;
	}
	pinning = find_pinning(context);
	if (pinning.calls && rule_share(context, pinning.host_ns) >= COST_PERCENT)
		raise(context, &pinning);
	else
		rule_silent(context,
			    "pinning takes %.2f %% of the %s on the launching thread (raised from "
			    "%.1f %%)",
			    rule_share(context, pinning.host_ns), context->unit, COST_PERCENT);
}

/* clang-format off */
const struct rule rule_pinning_in_loop = {
	.name = "pinning_in_loop",
	.id = "GT110",
	.title = "pinning in the loop",
	.page =
"Raised when the launching thread spends at least 0.5 % of the mean steady step in cudaHostAlloc,\n"
"cudaMallocHost, cudaHostRegister, their driver forms, or what undoes them.\n"
"\n"
"Gain: up to that time, at most the step's idle time; at least half of it. More is possible\n"
"where unpinning waits for the GPU.\n"
"Silent: pinning before the loop or in warm-up; other threads, such as a loader's pinning\n"
"thread, which does not hold up the launches.\n"
"Not judged: no steps, or no launch of the device in the file.\n"
"Wrong when: buffers have another size in every step for a reason, so that none can be kept.\n",
	.run = run,
};
/* clang-format on */
