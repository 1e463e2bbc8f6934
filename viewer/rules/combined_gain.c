/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three bounds, in this order. A ledger part gives at most what it has, to all findings that draw
 * from it. GPU work that becomes shorter shortens the step as far as the replay says: behind a host
 * that launches too slowly it only makes idle time longer. And what is gained by shorter GPU work
 * and by removed waits together is at most the time that the host waits, because the step never
 * becomes shorter than the host's own work; only faster launches and a host that stays make that
 * shorter.
 */
#include "combined_gain.h"

#include "replay.h"

/* GPU work: what the replay can shorten. */
#define WORK_PARTS ((1u << (LEDGER_COPY + 1)) - 1)
/* Idle time during which the host waits, or has nothing to do with. */
#define WAIT_PARTS (1u << LEDGER_IDLE_SYNC | 1u << LEDGER_IDLE_GPU_WAIT)

static double replayed_ms(const struct rule_context *context, const double *taken_ms)
{
	double removed[LEDGER_PART_COUNT] = {0};

	for (int part = 0; part <= LEDGER_COPY; part++) {
		double part_ms = ledger_part_ms(context->ledger, (enum ledger_part)part);

		if (part_ms > 0)
			removed[part] = taken_ms[part] < part_ms ? taken_ms[part] / part_ms : 1;
	}
	return replay_gain_ms(context->replay, removed);
}

/* Takes `wanted_ms` out of the parts of `mask`, from each by what it has left: a rule does not say
 * how its gain is spread over its parts. */
static void take(double wanted_ms, uint32_t mask, double *left_ms, double *taken_ms)
{
	double available_ms = 0;

	for (int part = 0; part < LEDGER_PART_COUNT; part++) {
		if (mask >> part & 1)
			available_ms += left_ms[part];
	}
	if (available_ms <= 0)
		return;
	if (wanted_ms > available_ms)
		wanted_ms = available_ms;
	for (int part = 0; part < LEDGER_PART_COUNT; part++) {
		double taken = wanted_ms / available_ms * left_ms[part];

		if (!(mask >> part & 1))
			continue;
		left_ms[part] -= taken;
		taken_ms[part] += taken;
	}
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

static void all_parts(const struct rule_context *context, double *left_ms)
{
	for (int part = 0; part < LEDGER_PART_COUNT; part++)
		left_ms[part] = ledger_part_ms(context->ledger, (enum ledger_part)part);
}

/* Whether the host's path bounds it: all that it takes is GPU work, and the host does the same. */
static bool is_replayed(const struct rule_context *context, const struct finding *finding)
{
	return context->replay && finding->draws_from && !(finding->draws_from & ~WORK_PARTS) &&
	       !finding->cuts_launches;
}

double combined_gain_reachable_ms(const struct rule_context *context, const struct finding *finding,
				  double gain_ms)
{
	double left[LEDGER_PART_COUNT], taken[LEDGER_PART_COUNT] = {0};
	double reachable_ms;

	if (!is_replayed(context, finding) || gain_ms <= 0)
		return gain_ms;
	all_parts(context, left);
	take(gain_ms, finding->draws_from, left, taken);
	reachable_ms = replayed_ms(context, taken);
	return reachable_ms > 0 ? smaller(reachable_ms, gain_ms) : 0;
}

struct taken {
	double work[LEDGER_PART_COUNT]; /* what the replay bounds */
	double rest[LEDGER_PART_COUNT];
	double best_ms; /* of the replayed findings, alone */
};

static void take_all(const struct rule_context *context, const struct finding_list *list,
		     bool is_low, struct taken *taken)
{
	double left[LEDGER_PART_COUNT];

	all_parts(context, left);
	for (size_t i = 0; i < list->count; i++) {
		const struct finding *finding = &list->items[i];
		double gain_ms = is_low ? finding->gain_low_ms : finding->gain_high_ms;
		bool is_work = is_replayed(context, finding);

		take(gain_ms, finding->draws_from, left, is_work ? taken->work : taken->rest);
		if (is_work && gain_ms > taken->best_ms)
			taken->best_ms = gain_ms;
	}
}

static double combine(const struct rule_context *context, const struct finding_list *list,
		      bool is_low)
{
	struct taken taken = {{0}, {0}, 0};
	double work_ms = 0, wait_ms = 0, rest_ms = 0;

	take_all(context, list, is_low, &taken);
	for (int part = 0; part < LEDGER_PART_COUNT; part++) {
		work_ms += taken.work[part];
		if (WAIT_PARTS >> part & 1)
			wait_ms += taken.rest[part];
		else
			rest_ms += taken.rest[part];
	}
	if (work_ms > 0)
		work_ms = smaller(work_ms, replayed_ms(context, taken.work));
	/* Where the host hides nearly all of it, what is left depends on where steps happen to
	 * begin: together they are not less than the best one alone. */
	if (work_ms < taken.best_ms)
		work_ms = taken.best_ms;
	if (context->host.has_thread) {
		double waits_ms =
			context->step_ms - (context->host.step_ms - context->host.wait_ms);

		/* The replay knows better where work alone is concerned. */
		if (waits_ms < work_ms)
			waits_ms = work_ms;
		return smaller(work_ms + wait_ms, waits_ms) + rest_ms;
	}
	return work_ms + wait_ms + rest_ms;
}

void combined_gain_set(const struct rule_context *context, struct finding_list *list)
{
	list->combined_low_ms = combine(context, list, true);
	list->combined_high_ms = combine(context, list, false);
}
