/* SPDX-License-Identifier: Apache-2.0 */
/* Other tools in this process that need CUPTI, or the driver's injection, for themselves. */
#ifndef GPUTRACE_SHIM_CUPTI_OTHERS_H
#define GPUTRACE_SHIM_CUPTI_OTHERS_H

#include <stddef.h>

#include "cupti_abi.h"

/* NULL, or the name of a tool that is here and how one can tell. Asking CUPTI would be too late:
 * a tool that comes with the driver subscribes in cuInit, and whoever was first breaks the other.
 */
const char *cupti_others_find(void);

/* After CUPTI refused us: the name of the subscriber, as far as this CUPTI tells; "" if not. */
void cupti_others_name(const struct cupti *cupti, char *name, size_t size);

#endif
