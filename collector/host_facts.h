/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about host, job and session that are recorded once, as info records (keys: FORMAT.md). */
#ifndef GPUTRACE_HOST_FACTS_H
#define GPUTRACE_HOST_FACTS_H

struct collector_options;
struct ring_control;
struct trace_writer;

void host_facts_add(struct trace_writer *writer, const struct collector_options *options,
		    const char *root, const struct ring_control *control);

#endif
