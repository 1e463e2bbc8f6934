/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT303: the launching threads wander between NUMA nodes.
 */
#include "placement_advice.h"

#define MOVES_PER_S 0.5
#define LEAST_MOVES 4	/* a few at the start of a run are the scheduler's ordinary work */
#define LEAST_SHARE 0.1 /* of the calls on either side */

static void raise(struct rule_context *context, const struct placement *placement)
{
	struct finding *finding = rule_raise(
		context, context->host.has_thread ? placement_first_launch(context) : MODEL_NONE);
	double slower_ns = placement->far_launch_ns - placement->near_launch_ns;
	double launch_ms = slower_ns > 0 ? slower_ns * placement->launches_far_per_step / 1e6 : 0;

	finding->cost_ms = launch_ms;
	finding->draws_from = 1u << LEDGER_IDLE_ISSUE;
	finding->gain_high_ms = launch_ms;
	finding_number(finding, "moves_per_s", placement->moves_per_s);
	finding_number(finding, "moves", (double)placement->moves);
	finding_number(finding, "far_calls_percent", 100 * placement->far_share);
	finding_number(finding, "near_launch_us", placement->near_launch_ns / 1e3);
	finding_number(finding, "far_launch_us", placement->far_launch_ns / 1e3);
	finding_summary(
		finding,
		"The threads that launch for this GPU change between NUMA nodes at least %.1f "
		"times a second (looked at ten times a second); %.0f %% of the calls come from "
		"far nodes. A launch takes %.1f us there and %.1f us near the GPU.",
		placement->moves_per_s, 100 * placement->far_share, placement->far_launch_ns / 1e3,
		placement->near_launch_ns / 1e3);
	placement_fix(finding, placement);
	rule_settle(context, finding);
	if (launch_ms <= 0)
		finding->severity = SEVERITY_INFO;
}

static void run(struct rule_context *context)
{
	struct placement placement;

	placement_build(context->model, (uint16_t)context->device, &placement);
	if (placement_is_unknown(context, &placement))
		return;
	if (!placement.calls)
		rule_not_judged(context, "the CPUs of the launching threads were not sampled");
	else if (placement.moves < LEAST_MOVES || placement.moves_per_s < MOVES_PER_S)
		rule_silent(context,
			    "%llu changes of node were seen, %.2f a second (raised from "
			    "%.1f)",
			    (unsigned long long)placement.moves, placement.moves_per_s,
			    MOVES_PER_S);
	else if (placement.far_share < LEAST_SHARE || placement.far_share > 1 - LEAST_SHARE)
		rule_silent(context, "nearly all calls come from %s",
			    placement.far_share < LEAST_SHARE ? "the GPU's own node"
							      : "far nodes, see GT301");
	else
		raise(context, &placement);
}

/* clang-format off */
const struct rule rule_node_migration = {
	.name = "node_migration",
	.id = "GT303",
	.title = "launching threads move between NUMA nodes",
	.page =
"Raised when the threads that launch for a GPU were seen to change between NUMA nodes at least four\n"
"times and once in two seconds, and both near and far nodes made at least a tenth of the calls. The\n"
"collector looks ten times a second, so faster changes are counted too low.\n"
"\n"
"Cost and gain: the difference between the mean launch on far and on near CPUs in this run, for the\n"
"launches from far CPUs. Without a difference it is an information. What a move itself costs (cold\n"
"caches) is not in it.\n"
"\n"
"Silent: few moves; one node. Not judged: as GT301.\n"
"Wrong when: different kinds of launches come from the two nodes.\n",
	.run = run,
};
/* clang-format on */
