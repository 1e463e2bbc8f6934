/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live memory at its peak and at the end, by kind and by owner: the same numbers as text, JSON and
 * HTML. Nothing is printed for a device on which nothing was allocated.
 */
#ifndef GPUTRACE_PRINT_REPORT_LIVE_H
#define GPUTRACE_PRINT_REPORT_LIVE_H

#include <stdio.h>

#include "json.h"
#include "report_data.h"
#include "text.h"

void report_live_json(struct json *json, const struct device_report *device);
void report_live_text(FILE *to, const struct device_report *device, const char *bold,
		      const char *plain);
void report_live_html(struct text *page, const struct device_report *device);

#endif
