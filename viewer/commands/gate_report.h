/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks of a gate in words, and as the XML that CI servers read (JUnit).
 */
#ifndef GPUTRACE_COMMANDS_GATE_REPORT_H
#define GPUTRACE_COMMANDS_GATE_REPORT_H

#include "gate_check.h"
#include "text.h"

/* "36.0 -> 37.2, +3.33 % (99 %: +3.1 to +3.5), allowed +2.00 %, n=27 against 135 of 5 runs" */
void gate_add_check(struct text *text, const struct gate_result *result,
		    const struct gate_check *check);
/* One test case per check: failed, or in error where it could not be judged, which is no pass. */
void gate_add_junit(struct text *xml, const struct gate_result *result,
		    const struct model *const *current);

#endif
