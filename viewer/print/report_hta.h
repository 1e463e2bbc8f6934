/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTA's tables of one device as JSON, text and HTML. HTA counts in microseconds, so these do.
 */
#ifndef GPUTRACE_PRINT_REPORT_HTA_H
#define GPUTRACE_PRINT_REPORT_HTA_H

#include <stdio.h>

#include "json.h"
#include "report_data.h"
#include "text.h"

/* Member "hta"; null where the device did nothing that counts. */
void report_hta_json(struct json *json, const struct device_report *device);
void report_hta_text(FILE *to, const struct device_report *device, const char *bold,
		     const char *plain);
void report_hta_html(struct text *page, const struct device_report *device);

#endif
