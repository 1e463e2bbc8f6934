/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT401: a request failed although enough memory was free, in pieces.
 */
#include "rule.h"

static void run(struct rule_context *context)
{
	memory_raise_verdict(context, MEMORY_FRAGMENTED);
}

/* clang-format off */
const struct rule rule_memory_fragmentation = {
	.name = "memory_fragmentation",
	.id = "GT401",
	.title = "out of memory by fragmentation",
	.is_about_memory = true,
	.page =
"Raised when a request failed and the fragmented bytes are at least the request, or more than 10 %\n"
"of the device and no other process explains what was missing.\n"
"\n"
"Fragmented: free bytes in segments that hold a live block. Wholly free segments are releasable,\n"
"not fragmented: the allocator gives them back before it gives up. Where only totals are known,\n"
"what was reserved but not allocated at the failure stands for it.\n"
"Evidence: numbers per pool (allocated, reserved, releasable, fragmented, largest free block), a\n"
"map of the segments with most fragmented bytes ('#' full, '.' free, digits: tenths live) and the\n"
"sites whose live blocks keep segments apart.\n"
"\"expandable_segments would have let this request pass\" is said when free and fragmented bytes\n"
"together reach the request. Live blocks between free ones remain in the way within a 2 MiB page.\n"
"Wrong when: blocks of another stream would have been reused; their bytes count as fragmented too.\n"
"Every verdict is about the last request that failed and never succeeded; requests that fitted\n"
"after the cache was given back are one row of GT406. From: failed calls, the framework's report,\n"
"its blocks (recorded or in a memory snapshot) and the driver's allocations.\n"
"Not judged: the device's total memory is not in the file.\n",
	.run = run,
};
/* clang-format on */
