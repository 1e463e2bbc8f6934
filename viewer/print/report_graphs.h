/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a report about CUDA graphs: each with its launches, its time, where it is launched
 * and where it was captured. Nothing is printed where no graph ran in steady steps.
 */
#ifndef GPUTRACE_PRINT_REPORT_GRAPHS_H
#define GPUTRACE_PRINT_REPORT_GRAPHS_H

#include <stdio.h>

#include "json.h"
#include "report_data.h"
#include "text.h"

/* Member "graphs", an array. */
void report_graphs_json(struct json *json, const struct device_report *device,
			struct symbols *symbols);
/* bold, plain: what switches bold letters on and off. */
void report_graphs_text(FILE *to, const struct device_report *device, struct symbols *symbols,
			const char *bold, const char *plain);
void report_graphs_html(struct text *page, const struct device_report *device,
			struct symbols *symbols);

#endif
