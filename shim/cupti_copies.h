/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second CUPTI in the process, or a use of ours that no wrapper sees: either has CUPTI refuse us
 * or splits the records, and the user can only mend it if the module is named.
 */
#ifndef GPUTRACE_SHIM_CUPTI_COPIES_H
#define GPUTRACE_SHIM_CUPTI_COPIES_H

#include <stddef.h>

#define COPIES_TEXT_BYTES 640

/* A sentence about the first module that exports CUPTI's functions besides the library at
 * used_path ("" if none is used) and gputrace; "" if there is none. A copy that exports nothing
 * cannot be told from other code. */
void cupti_copies_find(const char *used_path, char *text, size_t size);
/* After a refusal: a sentence about the modules that are linked against libcupti; "" if none. */
void cupti_copies_find_user(char *text, size_t size);

#endif
