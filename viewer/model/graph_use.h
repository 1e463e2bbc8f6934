/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the steady steps of one device spent in each CUDA graph: launches, time on the GPU, where it
 * is launched. Where its nodes have times, they are added up.
 */
#ifndef GPUTRACE_MODEL_GRAPH_USE_H
#define GPUTRACE_MODEL_GRAPH_USE_H

#include "model.h"

struct graph_use {
	uint32_t kernel; /* that stands for the executable: index of kernels */
	uint32_t call;	 /* one of its launches, MODEL_NONE not in the file */
	uint64_t launches;
	int64_t gpu_ns; /* whole launches, or the sum over nodes */
	bool has_nodes;
	uint64_t linked_nodes; /* operations whose captured call is known */
};

/* By GPU time, largest first; the array is the caller's, NULL when there are none. */
struct graph_use *graph_use_build(const struct model *model, size_t device, size_t *count);

#endif
