/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT403: somebody else holds the memory that a request wanted.
 */
#include "rule.h"

static void run(struct rule_context *context)
{
	memory_raise_verdict(context, MEMORY_OTHERS_HOLD);
}

/* clang-format off */
const struct rule rule_foreign_memory = {
	.name = "foreign_memory",
	.id = "GT403",
	.title = "other processes hold the memory",
	.is_about_memory = true,
	.page =
"Raised when a request failed and what the device has in use beyond this process's known memory is\n"
"more than 10 % of it.\n"
"\n"
"Where the free memory at the failure is not in the file, less than the request was free, which\n"
"gives \"at least\": total - own - request. The context and modules of this process (300 to 600 MB)\n"
"are in the number, since no call tells them.\n"
"Silent: fragmented memory of at least the request (GT401). Memory in a pool of cudaMallocAsync is\n"
"not known from calls, so nobody else is suspected then.\n"
"Process ids are in the framework's message, not in a trace: gputrace explain-oom reads them.\n"
"Every verdict is about the last request that failed and never succeeded; requests that fitted\n"
"after the cache was given back are one row of GT406. From: failed calls, the framework's report,\n"
"its blocks (recorded or in a memory snapshot) and the driver's allocations.\n"
"Not judged: the device's total memory is not in the file.\n"
"Wrong when: memory of this process that no call tells of is more than 10 % of the device.\n",
	.run = run,
};
/* clang-format on */
