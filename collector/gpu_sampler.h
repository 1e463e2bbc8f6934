/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples the session's GPUs: links from sysfs, promptly when one begins to work, everything else
 * from NVML once a second.
 */
#ifndef GPUTRACE_GPU_SAMPLER_H
#define GPUTRACE_GPU_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "drain.h"
#include "gpu_probe.h"
#include "nvml.h"
#include "sample_sink.h"

struct gpu_sampler {
	const char *root;
	struct sample_sink sink;
	struct drain *drain;	       /* whose devices they are */
	const struct gpu_probe *probe; /* NULL: no NVML */
	const char *library;	       /* of NVML, NULL the one beside the job's libcuda */
	pid_t pid;
	bool is_started, is_told; /* the probe; its facts that do not change */
	uint32_t busy; /* bit per index of drain->devices: work came since the last look */
	uint64_t started_ns;
	struct nvml_state state;
};

void gpu_sampler_init(struct gpu_sampler *sampler, const struct sample_sink *sink, const char *root,
		      struct drain *drain, const struct gpu_probe *probe, const char *library,
		      pid_t pid);
/* Work for a device was recorded. */
void gpu_sampler_note_work(struct gpu_sampler *sampler, uint32_t ordinal);
/* Whether work came since the last look at links. */
static inline bool gpu_sampler_is_busy(const struct gpu_sampler *sampler)
{
	return sampler->busy != 0;
}
/* Ten times a second while GPUs work: their links. */
void gpu_sampler_look_at_links(struct gpu_sampler *sampler);
/* Once a second. `cuda_folder`: of the job's libcuda, "" unknown. */
void gpu_sampler_run(struct gpu_sampler *sampler, uint64_t now_ns, const char *cuda_folder);
void gpu_sampler_finish(struct gpu_sampler *sampler);

#endif
