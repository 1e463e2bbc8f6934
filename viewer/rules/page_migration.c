/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT107: pages of managed memory that travel. No record of this format holds a fault or a
 * migration, so the rule can only tell programs that have none from programs of which it cannot
 * know.
 */
#include "rule.h"

static void run(struct rule_context *context)
{
	const struct model *model = context->model;
	size_t managed = 0;

	for (size_t i = 0; i < model->memory_event_count; i++)
		managed += model->memory_events[i].op == MEMORY_ALLOC &&
			   model->memory_events[i].kind == MEMORY_MANAGED;
	if (managed)
		rule_not_judged(context,
				"%zu allocations of managed memory, but page faults and migrations "
				"were not recorded",
				managed);
	else if (model->memory_event_count)
		rule_silent(context, "no managed memory was allocated");
	else
		rule_not_judged(context, "neither allocations nor page migrations were recorded");
}

/* clang-format off */
const struct rule rule_page_migration = {
	.name = "page_migration",
	.id = "GT107",
	.title = "unified-memory migration",
	.page =
"Would be raised when page faults and migrations of managed memory take at least 2 % of the\n"
"mean steady step. Recordings do not hold faults and migrations yet; the rule says whether\n"
"that matters.\n"
"\n"
"Silent: allocations were recorded and none was of managed memory.\n"
"Not judged: managed memory was allocated, or allocations were not recorded.\n"
"What to try when managed memory is slow: cudaMemPrefetchAsync before the step,\n"
"cudaMemAdvise(SetPreferredLocation), or plain device memory.\n",
	.run = run,
};
/* clang-format on */
