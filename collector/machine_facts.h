/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine is, told once per session as info records: NUMA nodes, GPUs with their place and
 * link, paths between them.
 */
#ifndef GPUTRACE_MACHINE_FACTS_H
#define GPUTRACE_MACHINE_FACTS_H

struct trace_writer;

void machine_facts_add(struct trace_writer *writer, const char *root);

#endif
