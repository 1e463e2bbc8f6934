/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a report that only training frameworks give rise to: phases of the step, and the
 * framework's own memory. Nothing is printed where nothing is known.
 */
#ifndef GPUTRACE_PRINT_REPORT_TRAINING_H
#define GPUTRACE_PRINT_REPORT_TRAINING_H

#include <stdio.h>

#include "json.h"
#include "report_data.h"

/* Members "phases" and "framework_memory"; null where nothing is known. */
void report_training_json(struct json *json, const struct device_report *device,
			  struct symbols *symbols);
/* bold, plain: what switches bold letters on and off. */
void report_training_text(FILE *to, const struct device_report *device, struct symbols *symbols,
			  const char *bold, const char *plain);

#endif
