/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of ranks of a job and what was found between them, as text and JSON.
 */
#ifndef GPUTRACE_PRINT_REPORT_RANKS_H
#define GPUTRACE_PRINT_REPORT_RANKS_H

#include <stdio.h>

#include "json.h"
#include "report_data.h"

/* Judges the ranks and puts the job before the verdict on the one rank that is shown in detail. The
 * job must outlive the report. */
void report_ranks_add(struct report_data *report, const struct job_ranks *job);
/* bold, plain: colour codes or "". */
void report_ranks_text(FILE *to, const struct report_data *report, const char *bold,
		       const char *plain);
void report_ranks_json(struct json *json, const struct report_data *report);
/* "4 of 8 ranks of a job on host a; 36 collectives ..." */
char *report_ranks_summary(const struct job_ranks *job);

#endif
