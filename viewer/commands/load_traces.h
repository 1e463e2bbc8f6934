/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the traces that a command line names: files, or directories full of them.
 */
#ifndef GPUTRACE_COMMANDS_LOAD_TRACES_H
#define GPUTRACE_COMMANDS_LOAD_TRACES_H

#include <stddef.h>

#include "model.h"

struct loaded_trace {
	struct trace *trace;
	struct model *model; /* NULL when only opened */
};

struct loaded_traces {
	struct loaded_trace *items;
	size_t count, capacity;
};

/* Opens every path; a directory stands for all *.gtrace in it, by name. 0, or EXIT_UNREADABLE after
 * one sentence on stderr about the first that cannot be read. */
int load_traces(const char *command, char *const *paths, size_t count, bool builds_models,
		struct loaded_traces *out);
/*
 * Only the part of every trace from here on or up to there counts, for all that is loaded later.
 * The text is seconds since the session's start; with a minus, before the end of what is complete.
 * False when it is no time.
 */
bool load_traces_from(const char *seconds);
bool load_traces_to(const char *seconds);
/* Builds the model of an open trace. 0, or EXIT_UNREADABLE after one sentence on stderr. */
int load_trace_model(const char *command, struct loaded_trace *loaded);
void load_traces_free(struct loaded_traces *traces);

#endif
