/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT102: copies that are asynchronous by name read or write pageable host memory. The driver stages
 * them through its own buffer: slower than the link, and the thread waits meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rule.h"
#include "text.h"

#define GAIN_PERCENT 0.5
/* With nothing to compare with, staging is still told from this share of the step on. */
#define UNKNOWN_PERCENT 5.0

/* What pinned memory would reach: seen in this run, else what the link attains; 0 unknown. */
static double pinned_rate(const struct rule_context *context, enum copy_lane lane, bool *is_seen)
{
	double seen = context->copies.lanes[copy_lane_pinned(lane)].best_gbs;

	*is_seen = seen > 0;
	return seen > 0 ? seen : context->link.attainable_gbs;
}

/* Idle time that the charges put down to this group's large copies: a call site (an operator of a
 * framework, at worst) also makes small ones, which wait as often, and reads results back. */
static double charged_idle_ms(const struct rule_context *context, const struct copy_group *group)
{
	const struct model *model = context->model;
	double idle_ns = 0;

	for (size_t i = 0; i < context->ledger->charge_count; i++) {
		const struct idle_charge *charge = &context->ledger->charges[i];

		if (charge->part == LEDGER_IDLE_SYNC && !charge->is_readback &&
		    group->call != MODEL_NONE &&
		    model_call_site(model, charge->call) == model_call_site(model, group->call) &&
		    model->calls[charge->call].api == model->calls[group->call].api)
			idle_ns += (double)charge->idle_ns;
	}
	idle_ns *= (double)group->large_copies / (double)group->copies;
	return idle_ns / 1e6 / context->steady_steps;
}

static const char *pinned_text(double pinned, bool is_seen, char *text, size_t size)
{
	if (pinned > 0)
		snprintf(text, size, "pinned memory reaches %.1f GB/s %s", pinned,
			 is_seen ? "in this run" : "on this link");
	else
		snprintf(text, size, "what pinned memory reaches here was not recorded");
	return text;
}

static void raise(struct rule_context *context, const struct copy_group *group, double low_ms,
		  double high_ms, double cost_ms, double rate, double pinned, bool is_seen)
{
	struct finding *finding = rule_raise(context, group->call);
	double per_step = (double)group->large_copies / context->steady_steps;
	double mib = (double)group->large_bytes / context->steady_steps / 1048576;
	bool is_upload = group->lane == COPY_LANE_H2D_PAGEABLE;
	char text[96];

	finding->cost_ms = cost_ms;
	finding->gain_low_ms = low_ms;
	finding->gain_high_ms = high_ms;
	finding->draws_from = 1u << LEDGER_COPY | 1u << LEDGER_IDLE_SYNC;
	finding->per_step = per_step;
	finding_text(finding, "direction", is_upload ? "H2D" : "D2H");
	finding_number(finding, "bytes_per_step",
		       (double)group->large_bytes / context->steady_steps);
	finding_number(finding, "copies_per_step", per_step);
	finding_number(finding, "pageable_gbs", rate);
	if (pinned > 0)
		finding_number(finding, "pinned_gbs", pinned);
	finding_text(finding, "pinned_rate_from",
		     is_seen	  ? "this run"
		     : pinned > 0 ? "table"
				  : "unknown");
	finding_summary(
		finding,
		"%.1f MiB %s per %s (%s %s) use pageable host memory, at %.1f GB/s; %s. The "
		"call returns only when the staging is done.",
		mib, is_upload ? "to the GPU" : "from the GPU", context->unit,
		text_count(per_step).text, text_noun(per_step, "copy", "copies"), rate,
		pinned_text(pinned, is_seen, text, sizeof(text)));
	finding_fix(finding,
		    is_upload ? "Allocate the host buffer once with cudaHostAlloc or "
				"pin_memory=True in the DataLoader and reuse it; pinning it in "
				"the loop costs more than it gains."
			      : "Copy into a buffer that was pinned once (cudaHostAlloc, "
				"torch.empty(..., pin_memory=True)).");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	size_t raised = 0, seen = 0, unknown = 0;
	double lanes_busy[COPY_LANE_COUNT] = {0};

	for (size_t i = 0; i < COPY_LANE_COUNT; i++)
		lanes_busy[i] = (double)context->copies.lanes[i].busy_ns;
	for (size_t i = 0; i < context->copies.group_count; i++) {
		const struct copy_group *group = &context->copies.groups[i];
		double rate, pinned, exposed_ms, idle_ms, low_ms, high_ms;
		bool is_seen;

		if (!copy_lane_is_pageable(group->lane) || !group->is_async || !group->large_copies)
			continue;
		seen++;
		rate = copy_rate_gbs(group->large_bytes, group->large_busy_ns);
		pinned = pinned_rate(context, group->lane, &is_seen);
		/* The group's share of what its lane exposes. */
		exposed_ms = ledger_copy_lane_ms(context->ledger, group->lane) *
			     (double)group->large_busy_ns / lanes_busy[group->lane];
		idle_ms = charged_idle_ms(context, group);
		low_ms = pinned > rate ? exposed_ms * (1 - rate / pinned) : 0;
		high_ms = exposed_ms + idle_ms;
		/* Faster than staging ever is: some other way, of which nothing is known. */
		if (pinned <= 0 && (rule_percent(context, high_ms) < UNKNOWN_PERCENT ||
				    rate > LINK_PAGEABLE_HIGH_GBS)) {
			unknown++;
			continue;
		}
		if (pinned > 0 && rule_percent(context, low_ms) < GAIN_PERCENT)
			continue;
		raise(context, group, low_ms, high_ms, exposed_ms + idle_ms, rate, pinned, is_seen);
		raised++;
	}
	if (!raised && unknown)
		rule_not_judged(context,
				"copies of %zu %s use pageable memory, but neither a pinned copy "
				"nor the link was recorded to compare with",
				unknown, text_noun((double)unknown, "site", "sites"));
	else if (!raised)
		rule_silent(context, seen ? "faster copies would gain less than 0.5 %% of the step"
					  : "no asynchronous copy of 64 KiB or more uses pageable "
					    "memory");
}

/* ---- of totals ---- */

#define TOTALS_PERCENT	   2.0
#define TOTALS_LEAST_BYTES 65536

/* Copies of the whole run by one kind of host memory, as the GPU timed them; 0: none. */
static double total_rate(const struct rule_context *context, uint8_t direction, uint8_t host_kind)
{
	const struct call_total_query query = {.is_gpu = true,
					       .device = (uint16_t)context->device,
					       .least_bytes = TOTALS_LEAST_BYTES};
	size_t count;
	struct call_total *rows = call_totals_list(context->model, &query, &count);
	double rate = 0;

	for (size_t i = 0; i < count && rate <= 0; i++) {
		uint8_t host = direction == COPY_H2D ? call_total_source_kind(&rows[i])
						     : call_total_destination_kind(&rows[i]);

		if (rows[i].kind == RECORD_KIND_gpu_copy && rows[i].duration_ns > 0 &&
		    call_total_direction(&rows[i]) == direction && host == host_kind)
			rate = (double)rows[i].bytes / (double)rows[i].duration_ns;
	}
	free(rows);
	return rate;
}

static void raise_total(struct rule_context *context, const struct call_total *row, double cost_ms)
{
	bool is_upload = call_total_direction(row) == COPY_H2D;
	double pageable = total_rate(context, call_total_direction(row), MEMORY_PAGEABLE);
	double pinned = total_rate(context, call_total_direction(row), MEMORY_PINNED);
	struct finding *finding = rule_raise(context, MODEL_NONE);
	struct text rates;

	finding->site = row->site;
	finding->cost_ms = cost_ms;
	finding->per_step = (double)row->count;
	finding_text(finding, "direction", is_upload ? "H2D" : "D2H");
	finding_number(finding, "bytes_per_run", (double)row->bytes);
	finding_number(finding, "copies_per_run", (double)row->count);
	text_init(&rates);
	if (pageable > 0) {
		finding_number(finding, "pageable_gbs", pageable);
		text_addf(&rates, " The GPU timed pageable copies at %.1f GB/s", pageable);
		if (pinned > 0) {
			finding_number(finding, "pinned_gbs", pinned);
			text_addf(&rates, ", pinned ones at %.1f GB/s", pinned);
		}
		text_add(&rates, ".");
	}
	finding_summary(finding,
			"%.1f MiB %s in the whole run (%llu %s of 64 KiB and more) use pageable "
			"host memory; their calls, asynchronous by name, took %.2f ms of %.2f "
			"ms.%s What of it the GPU waited for is not judged by totals.",
			(double)row->bytes / 1048576, is_upload ? "to the GPU" : "from the GPU",
			(unsigned long long)row->count,
			text_noun((double)row->count, "copy", "copies"), cost_ms, context->step_ms,
			text_string(&rates));
	text_fini(&rates);
	finding_fix(finding, "Pin the host buffer once (cudaHostAlloc, pin_memory=True) and reuse "
			     "it; a full recording says what that gains.");
	rule_settle(context, finding);
}

static void judge_totals(struct rule_context *context)
{
	const struct call_total_query query = {.device = (uint16_t)context->device,
					       .least_bytes = TOTALS_LEAST_BYTES};
	size_t count, seen = 0, raised = 0;
	struct call_total *rows = call_totals_list(context->model, &query, &count);

	for (size_t i = 0; i < count; i++) {
		uint8_t direction = call_total_direction(&rows[i]);
		uint8_t host = direction == COPY_H2D ? call_total_source_kind(&rows[i])
						     : call_total_destination_kind(&rows[i]);
		double cost_ms = (double)rows[i].duration_ns / 1e6;

		if (rows[i].kind != RECORD_KIND_copy || !(rows[i].variant & CALL_ASYNC) ||
		    (direction != COPY_H2D && direction != COPY_D2H) || host != MEMORY_PAGEABLE)
			continue;
		seen++;
		if (rule_percent(context, cost_ms) < TOTALS_PERCENT)
			continue;
		raise_total(context, &rows[i], cost_ms);
		raised++;
	}
	free(rows);
	if (!raised)
		rule_silent(context, seen ? "by totals, such copies took less than 2 %% of the run"
					  : "no asynchronous copy of 64 KiB or more uses pageable "
					    "memory");
}

/* clang-format off */
const struct rule rule_pageable_memory = {
	.name = "pageable_memory",
	.id = "GT102",
	.title = "pageable host memory",
	.page =
"Raised when asynchronous copies of at least 64 KiB have a pageable host side and pinned\n"
"memory would gain at least 0.5 % of the mean steady step.\n"
"\n"
"Pageable copies go through a staging buffer of the driver: 3 to 12 GB/s whatever the link,\n"
"and the calling thread waits although the call is called asynchronous.\n"
"\n"
"Gain: from the same copies at the pinned rate (the best of this run, else what the recorded\n"
"link attains), up to all of their exposed time and the idle time charged to their calls,\n"
"because a pinned copy can run beside compute. Without a pinned copy and without the link the\n"
"range begins at 0, and it is raised when that time is at least 5 % of the step.\n"
"\n"
"Silent: pinned or managed memory; small copies. Not judged: no pinned copy in the run, the\n"
"link unknown and the copies below 5 % of the step.\n"
"Wrong when: the buffer is new in every step. Pinning is slow itself (milliseconds); pin once.\n"
"\n"
"By totals (GPUTRACE_MODE=summary, sampled launches): raised when such calls of one place took at\n"
"least 2 % of the run; the cost is the time inside the calls, and no gain is announced.\n",
	.run = run,
	.judge_totals = judge_totals,
};
/* clang-format on */
