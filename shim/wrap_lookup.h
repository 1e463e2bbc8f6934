/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers look-ups (dlsym, cuGetProcAddress) with wrappers. What a look-up really found is
 * classified by its address, never by the name or version that was asked for.
 */
#ifndef GPUTRACE_SHIM_WRAP_LOOKUP_H
#define GPUTRACE_SHIM_WRAP_LOOKUP_H

#include <stdbool.h>

/* The wrapper of a driver function, or the address itself. `symbol` only breaks ties. */
void *lookup_classify_driver(const char *symbol, void *address);
/* Whether there is a wrapper of this name. */
bool lookup_is_wrapped(const char *name);

#endif
