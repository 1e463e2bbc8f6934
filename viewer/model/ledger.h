/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a step's wall time on one device goes. Each instant belongs to exactly one part (RULES.md,
 * "The ledger"), so the parts of a window add up to its length exactly: time is counted in
 * 420ths of a nanosecond, in which an instant divides evenly among up to seven kernel classes.
 */
#ifndef GPUTRACE_MODEL_LEDGER_H
#define GPUTRACE_MODEL_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_op;
struct model;

#define LEDGER_UNITS_PER_NS 420

/* key for JSON, label for people, in the order of the precedence. */
#define LEDGER_PARTS(PART)                                                                         \
	PART(GEMM, "gemm", "compute: matrix products")                                             \
	PART(CONV, "convolution", "compute: convolutions")                                         \
	PART(ATTENTION, "attention", "compute: attention")                                         \
	PART(MEMORY_BOUND, "memory_bound", "compute: memory-bound")                                \
	PART(OPTIMIZER, "optimizer", "compute: optimizer")                                         \
	PART(OTHER, "other_compute", "compute: other")                                             \
	PART(GRAPH, "graph_replay", "compute: graph replays, no nodes")                            \
	PART(COMM, "exposed_communication", "exposed communication")                               \
	PART(COPY, "exposed_copy", "exposed copies")                                               \
	PART(IDLE_GPU_WAIT, "idle_gpu_wait", "idle: waiting on the GPU's side")                    \
	PART(IDLE_SYNC, "idle_sync", "idle: drained by synchronisation")                           \
	PART(IDLE_ISSUE, "idle_issue_bound", "idle: launches too slow")                            \
	PART(IDLE_HOST_AWAY, "idle_host_away", "idle: host away")                                  \
	PART(UNKNOWN, "unknown", "unknown (launch not recorded)")

enum ledger_part {
#define PART(name, key, label) LEDGER_##name,
	LEDGER_PARTS(PART)
#undef PART
		LEDGER_PART_COUNT
};
#define LEDGER_COMPUTE_PARTS 7 /* the first ones */

const char *ledger_part_key(enum ledger_part part);
const char *ledger_part_label(enum ledger_part part);
/* Where an instant goes in which only this operation runs. */
enum ledger_part ledger_part_of_op(const struct model *model, const struct gpu_op *op);

/* Which copies the exposed-copy part consists of. */
enum copy_lane {
	COPY_LANE_H2D_PAGEABLE,
	COPY_LANE_H2D_OTHER,
	COPY_LANE_D2H_PAGEABLE,
	COPY_LANE_D2H_OTHER,
	COPY_LANE_COUNT
};

struct ledger {
	int64_t part[LEDGER_PART_COUNT];    /* in 1/420 ns; their sum is 420 * length_ns */
	int64_t copy_lane[COPY_LANE_COUNT]; /* split of part[LEDGER_COPY] */
	int64_t length_ns;
};

/* A step's window on one device. begin_ns == end_ns: the device did nothing in it. */
struct step_window {
	int64_t begin_ns, end_ns;
};

/* The operations that begin in a window which is not empty: found once, asked for by every rule. */
struct op_range {
	int64_t begin_ns, end_ns;
	size_t first, limit; /* in ops */
};

/* Idle time of steady steps that one call site answers for. */
struct idle_charge {
	uint8_t part;	      /* LEDGER_IDLE_SYNC, _ISSUE, _HOST_AWAY or _GPU_WAIT */
	uint8_t is_readback;  /* SYNC: the wait was for a device-to-host copy <= 64 KiB */
	uint8_t is_sync_call; /* SYNC: an explicit synchronisation, not a copy or a free */
	uint32_t call;	      /* one of the calls it stands for; its site and name are the key */
	uint32_t launch_call; /* one of the calls that ended such a gap */
	uint64_t gaps;
	int64_t idle_ns;  /* total over steady steps */
	int64_t other_ns; /* ISSUE: of that, inside of calls that load or allocate */
};

struct device_ledger {
	struct step_window *windows; /* one per step of the model */
	struct ledger *steps;	     /* likewise */
	struct op_range *ranges;     /* by begin */
	size_t range_count;
	struct ledger whole;	     /* first to last operation of the device */
	struct ledger steady;	     /* sum over steady steps; divide by steady_count */
	size_t steady_count;	     /* steady steps in which the device did something */
	struct idle_charge *charges; /* largest first */
	size_t charge_count;
};

/* Fills windows, step kinds that depend on length (outliers), ledgers and charges of all devices.
 * Called by model_build(). */
void ledger_build(struct model *model);
void ledger_free(struct device_ledger *ledger);

void ledger_add(struct ledger *to, const struct ledger *from);
int64_t ledger_sum(const struct ledger *ledger);
int64_t ledger_compute(const struct ledger *ledger);
/* Mean over steady steps, ms. */
double ledger_part_ms(const struct device_ledger *ledger, enum ledger_part part);
double ledger_step_ms(const struct device_ledger *ledger);
/* Share of the steady steps' time, percent. */
double ledger_part_percent(const struct device_ledger *ledger, enum ledger_part part);
double ledger_copy_lane_ms(const struct device_ledger *ledger, enum copy_lane lane);

#endif
