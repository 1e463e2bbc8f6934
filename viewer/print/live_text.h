/* SPDX-License-Identifier: Apache-2.0 */
/* One screen about the last seconds of a job: the ledger and the first findings of each GPU. */
#ifndef GPUTRACE_PRINT_LIVE_TEXT_H
#define GPUTRACE_PRINT_LIVE_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "report_data.h"

struct live_head {
	const char *title; /* one line: process, state, command */
	double window_s;   /* that the figures are of */
	double behind_s;   /* how far the figures lag behind now */
};

void live_text_print(const struct live_head *head, const struct report_data *report, FILE *to,
		     bool has_colour);

#endif
