/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the text of a range names a training or inference step.
 */
#ifndef GPUTRACE_MODEL_STEP_MARK_NAME_H
#define GPUTRACE_MODEL_STEP_MARK_NAME_H

#include <stdbool.h>

/* "ProfilerStep#12", "step 3", "train_step", "iteration 7", "iter_7": yes. "optimizer step": no. */
bool step_mark_name_matches(const char *name);

#endif
