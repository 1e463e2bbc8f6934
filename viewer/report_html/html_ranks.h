/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ranks and the findings between them on the page. */
#ifndef GPUTRACE_REPORT_HTML_HTML_RANKS_H
#define GPUTRACE_REPORT_HTML_HTML_RANKS_H

#include "report_data.h"
#include "text.h"

void html_ranks_add(struct text *page, const struct report_data *report);

#endif
