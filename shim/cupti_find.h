/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a libcupti for this process, carefully: the wrong one, loaded early, breaks a framework
 * that is imported later.
 */
#ifndef GPUTRACE_SHIM_CUPTI_FIND_H
#define GPUTRACE_SHIM_CUPTI_FIND_H

#include "cupti_abi.h"

/* NULL, or why there is none; a text that stays. */
const char *cupti_find(struct cupti *cupti);

#endif
