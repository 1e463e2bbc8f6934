/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shim's settings, from the environment (options.def). Read once; plain data afterwards.
 */
#ifndef GPUTRACE_SHIM_OPTIONS_H
#define GPUTRACE_SHIM_OPTIONS_H

struct shim_options {
#define OPTION_TEXT(field, variable, value, help)	       const char *field;
#define OPTION_CHOICE(field, variable, value, words, help)     const char *field;
#define OPTION_NUMBER(field, variable, value, low, high, help) long field;
#define OPTION_SIZE(field, variable, value, low, high, help)   long field;
#define OPTION_SPAN(field, variable, value, low, high, help)   long field;
#include "options.def"
#undef OPTION_TEXT
#undef OPTION_CHOICE
#undef OPTION_NUMBER
#undef OPTION_SIZE
#undef OPTION_SPAN
	const char *ignored; /* name of the first variable whose value did not fit, or NULL */
};

extern struct shim_options shim_options;

/* Texts point into the process's environment and are copied, since programs change it later. */
void options_read(void);

#endif
