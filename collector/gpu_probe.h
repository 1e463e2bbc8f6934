/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the collector's own process asks NVML; the collector inside a job has none. The functions of
 * nvml_watch.h behind pointers, so that no code of theirs is linked into the shim.
 */
#ifndef GPUTRACE_GPU_PROBE_H
#define GPUTRACE_GPU_PROBE_H

#include <stdbool.h>
#include <stdint.h>

struct nvml_state;

struct gpu_probe {
	void *context;
	bool (*start)(void *context, const char *library, uint32_t pid, const char **reason);
	bool (*take)(void *context, struct nvml_state *state);
	void (*stop)(void *context);
};

#endif
