/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks NVML once a second in a child process of its own: a call into the driver that hangs, crashes
 * or takes its time does so there, and costs the owner numbers, never progress. For programs with
 * one thread (the collector's process, `gputrace doctor`), never inside a traced job.
 */
#ifndef GPUTRACE_NVML_WATCH_H
#define GPUTRACE_NVML_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nvml.h"

struct nvml_shared;

struct nvml_watch {
	pid_t child;		    /* 0: not started */
	struct nvml_shared *shared; /* NULL: not started */
	uint64_t seen;
};

/* False, with *reason set, when no child could be started. `library`: path or name.
 * `watched_pid`: whose memory counts as own, 0 nobody's. */
bool nvml_watch_start(struct nvml_watch *watch, const char *library, uint32_t watched_pid,
		      const char **reason);
/* Copies the newest state when there is one that was not seen yet. Never blocks. */
bool nvml_watch_take(struct nvml_watch *watch, struct nvml_state *state);
/* Whether the child is still there; a state with a reason is the last word of one that ended. */
bool nvml_watch_is_alive(struct nvml_watch *watch);
void nvml_watch_stop(struct nvml_watch *watch);

#endif
