/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What not waiting would gain; shared by the rules that find waits.
 */
#ifndef GPUTRACE_RULES_SYNC_GAIN_H
#define GPUTRACE_RULES_SYNC_GAIN_H

#include "rule.h"

/* Sets the finding's gain for `idle_ms` of idle time per step that a wait caused. Without the wait
 * the host runs ahead, but never faster than it works: the step cannot become shorter than the
 * host's own time in it. */
void sync_gain_set(const struct rule_context *context, struct finding *finding, double idle_ms);

#endif
