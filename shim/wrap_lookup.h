/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers look-ups (dlsym, cuGetProcAddress) with wrappers. What a look-up really found is
 * classified by its address, never by the name or version that was asked for.
 */
#ifndef GPUTRACE_SHIM_WRAP_LOOKUP_H
#define GPUTRACE_SHIM_WRAP_LOOKUP_H

/* The wrapper of a driver function, or the address itself. `symbol` only breaks ties. */
void *lookup_classify_driver(const char *symbol, void *address);

#endif
