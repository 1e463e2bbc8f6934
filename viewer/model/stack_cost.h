/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every call site cost, split by what it did there: GPU time that it launched, bytes that it
 * copied, host time inside its calls, and the time of a step that was lost to it. One pass over a
 * model; tables by site and flame graphs add up the same items.
 */
#ifndef GPUTRACE_MODEL_STACK_COST_H
#define GPUTRACE_MODEL_STACK_COST_H

#include "model.h"

/* What stands below the API's name in a stack. */
enum stack_leaf {
	STACK_LEAF_CALL = 1, /* the call itself: its time on the host; `leaf` is 0 */
	STACK_LEAF_KERNEL,   /* `leaf`: index of kernels */
	STACK_LEAF_COPY,     /* `leaf`: enum copy_direction */
	STACK_LEAF_SET,
	STACK_LEAF_IDLE, /* `leaf`: enum ledger_part of the idle time that is charged to it */
};

struct stack_cost {
	uint32_t site; /* index of sites, 0 unknown */
	uint32_t leaf;
	uint32_t capture_site; /* launches of a graph: where it was captured, index of sites; 0 */
	uint16_t api;	       /* index of apis, of the outermost call; 0 unknown */
	uint16_t device;       /* index of devices; MODEL_NO_DEVICE with STACK_LEAF_CALL */
	uint16_t thread;       /* index of threads; only with STACK_LEAF_CALL, else 0 */
	uint8_t type;	       /* enum stack_leaf */
	uint64_t launches, copies, syncs, calls; /* calls: outermost ones, of any kind */
	uint64_t bytes;	 /* host-link, peer and device copies; memsets do not count */
	int64_t gpu_ns;	 /* sum over operations: overlapping ones count twice */
	int64_t host_ns; /* inside outermost calls */
	/* Steady steps only: idle charged by the ledger, and the instants in which nothing better
	 * than this copy or communication ran. Adds up to the ledger's parts. */
	int64_t idle_ns, exposed_ns;
};

struct stack_costs {
	struct stack_cost *items; /* by site, API, leaf: one site's items are neighbours */
	size_t count;
};

enum stack_scope {
	STACK_WHOLE_RUN, /* everything recorded, except idle_ns and exposed_ns */
	STACK_STEADY,	 /* steady steps only */
};

void stack_costs_build(const struct model *model, enum stack_scope scope, struct stack_costs *out);
void stack_costs_free(struct stack_costs *costs);

#endif
