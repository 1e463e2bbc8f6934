/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Style and script of the page, as text to put inline.
 */
#ifndef GPUTRACE_REPORT_HTML_HTML_ASSETS_H
#define GPUTRACE_REPORT_HTML_HTML_ASSETS_H

extern const char html_style[];
extern const char html_script[];

#endif
