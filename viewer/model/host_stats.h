/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of the steady steps of one device: who launches, how often, how long it waits.
 */
#ifndef GPUTRACE_MODEL_HOST_STATS_H
#define GPUTRACE_MODEL_HOST_STATS_H

#include "model.h"

struct host_stats {
	bool has_thread;		   /* false: no launch of this device is in the file */
	uint16_t thread;		   /* that launches most for the device */
	uint64_t kernels;		   /* that ran on the device in steady steps */
	uint64_t graphs;		   /* likewise, timed as wholes */
	int64_t median_kernel_ns;	   /* of both */
	int64_t median_launch_interval_ns; /* begin to begin, that thread, steady steps */
	int64_t median_queue_ns;	   /* from the return of a launch to its kernel's begin */
	double wait_ms;			   /* per step, that thread inside blocking calls */
	double step_ms;			   /* per step, wall time of the host */
};

void host_stats_build(const struct model *model, size_t device, struct host_stats *stats);

#endif
