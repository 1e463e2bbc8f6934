/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The totals of a session that summed its calls, or sampled its launches, as two tables: host calls
 * by function and place, GPU work by kernel or kind. Every number is exact and measured. Nothing is
 * printed of a session that recorded every call.
 */
#ifndef GPUTRACE_PRINT_REPORT_TOTALS_H
#define GPUTRACE_PRINT_REPORT_TOTALS_H

#include <stdio.h>

#include "json.h"
#include "report_data.h"
#include "text.h"

/* bold, plain: escape sequences, or "". */
void report_totals_text(FILE *to, const struct run_report *run, const char *bold,
			const char *plain);
/* A member "totals"; null without them. All rows. */
void report_totals_json(struct json *json, const struct run_report *run);
void report_totals_html(struct text *page, const struct run_report *run);

#endif
