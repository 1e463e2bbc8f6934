/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT402: a request is larger than the card, or than all that could be freed.
 */
#include "rule.h"

static void run(struct rule_context *context)
{
	memory_raise_verdict(context, MEMORY_TOO_LARGE);
}

/* clang-format off */
const struct rule rule_oversized_request = {
	.name = "oversized_request",
	.id = "GT402",
	.title = "request larger than what could ever be free",
	.is_about_memory = true,
	.page =
"Raised when a failed request is larger than the device, or than its free memory and everything\n"
"that the framework had reserved together while no other process holds more than 10 %.\n"
"\n"
"No setting of the allocator helps: a shape is wrong, or the tensor has to be split.\n"
"Every verdict is about the last request that failed and never succeeded; requests that fitted\n"
"after the cache was given back are one row of GT406. From: failed calls, the framework's report,\n"
"its blocks (recorded or in a memory snapshot) and the driver's allocations.\n"
"Not judged: the device's total memory is not in the file.\n"
"Wrong when: the program tries sizes until one fits, and expects this request to fail.\n",
	.run = run,
};
/* clang-format on */
