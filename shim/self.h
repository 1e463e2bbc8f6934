/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the shim knows about itself as a loaded object: where it lies, whether it was preloaded.
 */
#ifndef GPUTRACE_SHIM_SELF_H
#define GPUTRACE_SHIM_SELF_H

#include <stdbool.h>

/* Whether this copy is the first gputrace of the process and was there before libc (preloaded or
 * linked), not opened later. Takes the loader lock once. */
bool self_is_first_and_preloaded(void);
/* Whether no other copy of gputrace was there before this one, which was opened later. */
bool self_is_alone(void);
/* Whether an address lies in this object. */
bool self_contains(const void *address);
/* Our file with links resolved; "" when unknown. */
const char *self_path(void);
/* Directory of our file with links resolved; "" when unknown. */
const char *self_directory(void);

#endif
