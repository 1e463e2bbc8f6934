/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of a report as words: what a finding costs and what its cure may gain, how much was done
 * per step. Text and page say the same because they take it from here.
 */
#ifndef GPUTRACE_PRINT_REPORT_WORDS_H
#define GPUTRACE_PRINT_REPORT_WORDS_H

#include <stdio.h>

#include "report_data.h"
#include "text.h"

/* What is less rounds to 0.00 ms and is called no gain. */
#define REPORT_LEAST_MS 0.005

/* "2.09 to 5.70 ms"; "up to 43.10 ms" where nothing is the lower end or both ends are one; false,
 * and nothing added, where no gain is left at this precision. */
bool report_add_gain(struct text *text, double low_ms, double high_ms);
/* The same as shares of a step: "5.8 to 15.7 %", or "15.7 %" where the upper end alone counts. */
void report_add_percent(struct text *text, double low_ms, double high_ms, double step_ms);
/* "costs 10.47 ms (28.9 %), gain 2.09 to 5.70 ms (5.8 to 15.7 %)". Empty for what has no price:
 * what ended the work, or may end it. Caller frees. */
char *report_price_text(const struct finding *finding, double step_ms);
/* "together 8.90 to 23.28 ms"; empty where there is no gain. Caller frees. */
char *report_together_text(const struct device_report *device);
/* "per step: 73 launches, 73 kernels, 3 copies (33.00 MiB to the GPU, 4 bytes back), ...". Caller
 * frees. */
char *report_work_text(const struct device_report *device);
/* "27 of them, mean 36.274 ms, median 36.039, MAD 0.318, p95 37.444"; of one step, or of a run
 * without steps, its length alone. Caller frees. */
char *report_length_text(const struct device_report *device);
/* Whether it points at a place; "at unknown" says less than nothing. */
bool report_has_place(const struct finding *finding);
/* The words in lines of at most 100 columns behind the indent. */
void report_print_wrapped(FILE *to, const char *indent, const char *words);
const char *report_severity_word(enum severity severity);

#endif
