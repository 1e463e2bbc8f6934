/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report for programs: schema "gputrace.report/1".
 */
#ifndef GPUTRACE_PRINT_REPORT_JSON_H
#define GPUTRACE_PRINT_REPORT_JSON_H

#include "json.h"
#include "report_data.h"

/* Adds the members of the report to the open document. */
void report_json_add(struct json *json, const struct report_data *report);

#endif
