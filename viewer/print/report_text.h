/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report for people, on a terminal or in a log.
 */
#ifndef GPUTRACE_PRINT_REPORT_TEXT_H
#define GPUTRACE_PRINT_REPORT_TEXT_H

#include <stdio.h>

#include "report_data.h"

/* Colours only when asked for; the words say the same without them. */
void report_text_print(const struct report_data *report, FILE *to, bool has_colour);

#endif
