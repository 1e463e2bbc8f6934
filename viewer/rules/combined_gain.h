/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What findings can gain: alone and together, never more than the recording's own times allow.
 */
#ifndef GPUTRACE_RULES_COMBINED_GAIN_H
#define GPUTRACE_RULES_COMBINED_GAIN_H

#include "rule.h"

/* What of a gain of this finding shortens the step: all of it unless it is GPU work that the host's
 * own path hides. */
double combined_gain_reachable_ms(const struct rule_context *context, const struct finding *finding,
				  double gain_ms);
/* Fills the list's combined gains from its findings. */
void combined_gain_set(const struct rule_context *context, struct finding_list *list);

#endif
