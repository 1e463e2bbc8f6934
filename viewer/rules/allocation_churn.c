/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT406: memory is taken from the driver and given back in every step, or the caching allocator
 * keeps running into its limit: each cudaFree waits for the whole GPU.
 */
#include <stdlib.h>
#include <string.h>

#include "memory_advice.h"
#include "rule.h"
#include "text.h"

#define COST_PERCENT  0.5
#define RETRY_PERCENT 1.0

struct churn {
	uint64_t allocations, frees;
	int64_t host_ns, longest_ns;
	uint32_t call;
};

/* Synchronous calls of all threads in the steady steps; stream-ordered pools cost no such wait. */
static struct churn find_churn(const struct rule_context *context)
{
	const struct model *model = context->model;
	struct churn churn = {.call = MODEL_NONE};
	size_t step = 0;

	for (size_t i = 0; i < model->memory_event_count; i++) {
		const struct memory_event *event = &model->memory_events[i];
		const struct host_call *call = &model->calls[event->call];
		int64_t host_ns = call->end_ns - call->begin_ns;

		while (step < model->steps.count &&
		       model->steps.items[step].host_end_ns <= event->time_ns)
			step++;
		if (step == model->steps.count)
			break;
		if (model->steps.items[step].kind != STEP_STEADY ||
		    model->steps.items[step].host_begin_ns > event->time_ns ||
		    event->device != context->device ||
		    (event->op != MEMORY_ALLOC && event->op != MEMORY_FREE) ||
		    (call->flags & (CALL_ASYNC | CALL_REDUNDANT)))
			continue;
		churn.host_ns += host_ns;
		if (event->op == MEMORY_ALLOC)
			churn.allocations++;
		else
			churn.frees++;
		if (host_ns >= churn.longest_ns) {
			churn.longest_ns = host_ns;
			churn.call = event->call;
		}
	}
	return churn;
}

static void raise_pairs(struct rule_context *context, const struct churn *churn, double pairs,
			double host_ms)
{
	const struct memory_failures *failures = &context->memory.failures;
	struct finding *finding = rule_raise(context, churn->call);

	finding->cost_ms = host_ms;
	finding->per_step = pairs;
	finding->gain_high_ms = host_ms;
	finding->gain_low_ms = host_ms / 2;
	finding->draws_from =
		1u << LEDGER_IDLE_SYNC | 1u << LEDGER_IDLE_ISSUE | 1u << LEDGER_IDLE_HOST_AWAY;
	finding_number(finding, "pairs_per_step", pairs);
	finding_number(finding, "host_ms_per_step", host_ms);
	finding_number(finding, "longest_ms", (double)churn->longest_ns / 1e6);
	finding_number(finding, "recovered_requests", (double)failures->recovered);
	finding_summary(finding,
			"%s pairs of driver allocation and free per %s take %.2f ms of host time "
			"(%.1f %%); the longest call (%s) takes %.2f ms. Each free waits for the "
			"GPU.",
			text_count(pairs).text, context->unit, host_ms,
			rule_percent(context, host_ms), model_api_name(context->model, churn->call),
			(double)churn->longest_ns / 1e6);
	finding_fix(finding,
		    "Allocate once before the loop and reuse, or use a caching allocator or "
		    "cudaMallocAsync with a release threshold; with torch, lower the peak "
		    "so that the cache is not given back.");
	rule_settle(context, finding);
}

/* All recovered failures are one row, whatever their number. */
static void raise_retries(struct rule_context *context, double percent)
{
	const struct memory_failures *failures = &context->memory.failures;
	struct finding *finding = rule_raise(context, failures->recovered_call);
	double total_ms = (double)failures->recovered_ns / 1e6;

	finding->severity = percent >= RETRY_PERCENT ? SEVERITY_MEDIUM : SEVERITY_INFO;
	/* Spread over the run like any other cost that is not in every step. */
	finding->cost_ms = total_ms / context->steady_steps;
	if (finding->cost_ms <= 0)
		finding->severity = SEVERITY_INFO;
	finding_number(finding, "recovered_requests", (double)failures->recovered);
	finding_number(finding, "retry_percent", percent);
	finding_number(finding, "total_ms", total_ms);
	finding_number(finding, "largest_bytes", (double)failures->recovered_bytes);
	finding_summary(
		finding,
		"%llu requests for memory (at most %s) failed, and succeeded after the "
		"cache was given back: recovered, not out of memory. That is %.2g %% of the "
		"driver's allocations and took %.2f ms in all.",
		(unsigned long long)failures->recovered,
		memory_amount(failures->recovered_bytes).text, percent, total_ms);
	finding_fix(finding, "Leave some room: a slightly smaller batch, or "
			     "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, so that the cache "
			     "need not be given back and taken again.");
}

static void run(struct rule_context *context)
{
	const struct memory_failures *failures = &context->memory.failures;
	bool has_steps = context->model->steps.source != STEPS_NONE;
	uint64_t asked = failures->driver_allocations + failures->lasting;
	double percent = 100 * (double)failures->recovered / (double)(asked ? asked : 1);
	struct churn churn = {.call = MODEL_NONE};
	double pairs = 0, host_ms = 0;

	if (!context->model->memory_event_count && !failures->recovered) {
		rule_not_judged(context, "the driver's allocations are not in the file");
		return;
	}
	if (has_steps) {
		churn = find_churn(context);
		pairs = (double)(churn.allocations < churn.frees ? churn.allocations
								 : churn.frees) /
			context->steady_steps;
		host_ms = rule_ms(context, churn.host_ns);
	}
	if (pairs >= 1 && rule_percent(context, host_ms) >= COST_PERCENT)
		raise_pairs(context, &churn, pairs, host_ms);
	else if (failures->recovered)
		raise_retries(context, percent > 100 ? 100 : percent);
	else if (!has_steps)
		rule_not_judged(context, "there are no steps, so there is no loop to allocate in");
	else
		rule_silent(context,
			    "%.3g pairs of driver allocation and free per %s, %.2f %% of its time "
			    "(raised from 1 pair and %.1f %%), no allocator retries",
			    pairs, context->unit, rule_percent(context, host_ms), COST_PERCENT);
}

/* ---- of totals ---- */

#define TOTALS_LEAST_PAIRS 100

static void raise_totals(struct rule_context *context, const struct churn *churn, uint64_t pairs,
			 uint32_t site)
{
	struct finding *finding = rule_raise(context, MODEL_NONE);

	finding->site = site;
	finding->cost_ms = (double)churn->host_ns / 1e6;
	finding->per_step = (double)pairs;
	finding_number(finding, "allocations_per_run", (double)churn->allocations);
	finding_number(finding, "frees_per_run", (double)churn->frees);
	finding_number(finding, "longest_ms", (double)churn->longest_ns / 1e6);
	finding_summary(finding,
			"%llu allocations and %llu frees of device memory took %.2f ms of the "
			"run's %.2f ms, the longest call %.2f ms. By totals: whether each step "
			"makes them is not judged.",
			(unsigned long long)churn->allocations, (unsigned long long)churn->frees,
			finding->cost_ms, context->step_ms, (double)churn->longest_ns / 1e6);
	finding_fix(finding, "Allocate once and reuse, or use cudaMallocAsync with a pool that "
			     "keeps its memory.");
	rule_settle(context, finding);
}

static void judge_totals(struct rule_context *context)
{
	const struct call_total_query query = {.device = (uint16_t)context->device};
	size_t count;
	struct call_total *rows = call_totals_list(context->model, &query, &count);
	struct churn churn = {.call = MODEL_NONE};
	uint32_t site = 0;
	uint64_t pairs;

	for (size_t i = 0; i < count; i++) {
		/* The kind of memory, where copies have the destination's. */
		if (rows[i].kind != RECORD_KIND_memory ||
		    call_total_destination_kind(&rows[i]) != MEMORY_DEVICE)
			continue;
		if (!churn.host_ns)
			site = rows[i].site;
		churn.host_ns += rows[i].duration_ns;
		if (rows[i].longest_ns > churn.longest_ns)
			churn.longest_ns = rows[i].longest_ns;
		if (rows[i].variant == MEMORY_ALLOC)
			churn.allocations += rows[i].count;
		else if (rows[i].variant == MEMORY_FREE)
			churn.frees += rows[i].count;
	}
	free(rows);
	pairs = churn.allocations < churn.frees ? churn.allocations : churn.frees;
	if (pairs >= TOTALS_LEAST_PAIRS &&
	    rule_percent(context, (double)churn.host_ns / 1e6) >= COST_PERCENT)
		raise_totals(context, &churn, pairs, site);
	else
		rule_silent(context,
			    "by totals, %llu pairs of allocation and free took %.2f %% of the run "
			    "(raised from %d pairs and %.1f %%)",
			    (unsigned long long)pairs,
			    rule_percent(context, (double)churn.host_ns / 1e6), TOTALS_LEAST_PAIRS,
			    COST_PERCENT);
}

/* clang-format off */
const struct rule rule_allocation_churn = {
	.name = "allocation_churn",
	.id = "GT406",
	.title = "allocation churn",
	.is_about_memory = true,
	.page =
"Raised when the steady steps hold at least one pair of driver allocation and free each\n"
"(cudaMalloc and cudaFree, their driver forms) and these calls take at least 0.5 % of the step.\n"
"\n"
"Requests that failed, made the allocator give back its cache and then succeeded are one row\n"
"here, whatever their number: recovered, not out of memory. From 1 % of the driver's allocations\n"
"the row is of medium severity, below it is info.\n"
"Gain: up to the host time of the calls, at least half of it, at most the step's idle time.\n"
"Silent: stream-ordered pools (cudaMallocAsync), which hand out memory without waiting.\n"
"Not judged: no steps, or the driver's allocations are not in the file.\n"
"Wrong when: a cache warms up for longer than the steps that count as warm-up.\n",
	.run = run,
	.judge_totals = judge_totals,
};
/* clang-format on */
