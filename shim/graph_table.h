/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where graphs and executables come from: the site of the capture (or of the first node) and what
 * kinds of nodes they have. A table of fixed size; readers take no lock, and what does not fit any
 * more is unknown.
 */
#ifndef GPUTRACE_SHIM_GRAPH_TABLE_H
#define GPUTRACE_SHIM_GRAPH_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum graph_node_kind { GRAPH_NODE_OTHER, GRAPH_NODE_KERNEL, GRAPH_NODE_COPY, GRAPH_NODE_SET };

struct graph_origin {
	uint64_t site; /* 0 unknown */
	uint32_t nodes, kernels, copies, sets;
};

/* False: nothing is known; *origin is zeroed. */
bool graph_table_find(const void *handle, struct graph_origin *origin);
void graph_table_put(const void *handle, const struct graph_origin *origin);
/* One more node, if the graph is known. */
void graph_table_count(const void *graph, enum graph_node_kind kind);
/* The same for another handle: a clone, an executable. */
void graph_table_copy(const void *from, const void *to);
/* Before the handle can be handed out again. */
void graph_table_remove(const void *handle);
/* In a forked child, and when a session ends. */
void graph_table_forget(void);

#endif
