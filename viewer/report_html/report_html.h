/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as one self-contained page: no other file, no network, every text escaped.
 */
#ifndef GPUTRACE_REPORT_HTML_REPORT_HTML_H
#define GPUTRACE_REPORT_HTML_REPORT_HTML_H

#include "report_data.h"

/* 0, or a negative errno. */
int report_html_write(const struct report_data *report, const char *path);

#endif
