/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a report that shows how an allocator's memory lay: per pool what is allocated,
 * releasable and fragmented, and who keeps it apart. Nothing is printed where nothing is known.
 */
#ifndef GPUTRACE_PRINT_REPORT_MEMORY_H
#define GPUTRACE_PRINT_REPORT_MEMORY_H

#include <stdio.h>

#include "json.h"
#include "report_data.h"

/* Member "memory_map"; null where nothing is known. */
void report_memory_json(struct json *json, const struct device_report *device,
			struct symbols *symbols);
void report_memory_text(FILE *to, const struct device_report *device, struct symbols *symbols,
			const char *bold, const char *plain);

#endif
