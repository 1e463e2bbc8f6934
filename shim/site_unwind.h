/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds the calling thread's native stack: the slow way, taken for stacks not seen before.
 */
#ifndef GPUTRACE_SITE_UNWIND_H
#define GPUTRACE_SITE_UNWIND_H

#include "unwind/unwind_glue.h"

/* frame: of the exported function, as in site_cache_walk(); the stop range too.
 * Returns the number of frames, the caller's own first; 0: another thread is unwinding and took too
 * long, or nothing could be read. */
uint32_t site_unwind(const uintptr_t *frame, uintptr_t stop_begin, uintptr_t stop_end,
		     struct unwind_frame *frames, uint32_t limit, bool *is_complete);

/* Session start. use_table: see site_modules_attach(). */
void site_unwind_attach(bool use_table);
void site_unwind_after_fork(void);
const char *site_unwind_engine(void);

#endif
