/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which phase a finding lies: prefill and decode differ a hundredfold, so a mean over both says
 * little of either.
 */
#ifndef GPUTRACE_RULES_FINDING_PHASE_H
#define GPUTRACE_RULES_FINDING_PHASE_H

#include "rule.h"

/* Names the phase of each finding of the device that has one: evidence "phase", a sentence. */
void finding_phases_set(const struct rule_context *context, struct finding_list *list);

#endif
