/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When what is sampled: the clock of job_sampler, gpu_sampler and page_sampler. Part of the
 * collector's loop; meant to stay below 1 % of a CPU.
 */
#ifndef GPUTRACE_SAMPLER_H
#define GPUTRACE_SAMPLER_H

#include <stdint.h>

#include "gpu_sampler.h"
#include "job_sampler.h"
#include "page_sampler.h"

struct collector_options;

struct sampler {
	struct drain *drain;
	struct job_sampler job;
	struct gpu_sampler gpus;
	struct page_sampler pages;
	struct trace_writer *writer;
	uint64_t pause_ns; /* from a look at what moves quickly to the next */
	uint64_t next_fast_ns, next_slow_ns;
	uint32_t threads; /* that had recorded at the last look */
	bool is_runtime_told;
	char cuda_folder[512]; /* of the job's libcuda.so, "" not seen */
};

void sampler_init(struct sampler *sampler, struct trace_writer *writer, struct drain *drain,
		  const struct collector_options *options, const char *root);
/* For every host record of the job: a drain_record_fn. */
void sampler_note_record(void *context, uint16_t kind, const void *record);
void sampler_note_library(struct sampler *sampler, const struct record_library *library);
/* In every round of the loop; samples what is due. */
void sampler_run(struct sampler *sampler, uint64_t now_ns);
void sampler_finish(struct sampler *sampler, uint64_t now_ns);

#endif
