/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step of one device as data for the page's timeline.
 */
#ifndef GPUTRACE_REPORT_HTML_HTML_TIMELINE_H
#define GPUTRACE_REPORT_HTML_HTML_TIMELINE_H

#include "report_data.h"
#include "text.h"

/* Adds the JSON of the steady step whose length is nearest to the median, safe inside a script
 * element. False when there is no such step. */
bool html_timeline_add(struct text *text, const struct device_report *report);
/* Colours of the ledger's parts, for the timeline and the bars. */
const char *html_part_colour(enum ledger_part part);

#endif
