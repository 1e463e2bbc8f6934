/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT404: the memory is full of live data.
 */
#include "rule.h"

static void run(struct rule_context *context)
{
	memory_raise_verdict(context, MEMORY_FULL);
}

/* clang-format off */
const struct rule rule_memory_full = {
	.name = "memory_full",
	.id = "GT404",
	.title = "the memory is really full",
	.is_about_memory = true,
	.page =
"Raised when a request failed and neither fragmentation, nor its size, nor other processes, nor\n"
"memory outside of the framework explains it.\n"
"\n"
"Evidence: the sites with most live bytes. \"expandable_segments would have let this request pass\"\n"
"is added when it is true: fragmented memory was small, yet enough for what was missing. The memory\n"
"is full all the same.\n"
"Every verdict is about the last request that failed and never succeeded; requests that fitted\n"
"after the cache was given back are one row of GT406. From: failed calls, the framework's report,\n"
"its blocks (recorded or in a memory snapshot) and the driver's allocations.\n"
"Not judged: the device's total memory is not in the file.\n"
"Wrong when: the program tries sizes until one fits, and expects this request to fail.\n",
	.run = run,
};
/* clang-format on */
