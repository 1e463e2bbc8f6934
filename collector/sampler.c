/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two rhythms: every 100 ms what moves quickly and only while the job works (CPUs of threads, links
 * of GPUs), every second all the rest. The first look of each kind comes at once, so that short
 * runs have one too.
 */
#include "sampler.h"

#include <string.h>

#include "collector.h"
#include "trace_name.h"

#define FAST_NS 100000000ull
#define SLOW_NS 1000000000ull

void sampler_init(struct sampler *sampler, struct trace_writer *writer, struct drain *drain,
		  const struct collector_options *options, const char *root)
{
	const struct sample_sink sink = {writer, drain->reader->clock_kind};

	sampler->drain = drain;
	sampler->next_fast_ns = 0;
	sampler->next_slow_ns = 0;
	sampler->cuda_folder[0] = '\0';
	job_sampler_init(&sampler->job, &sink, root, options->pid);
	gpu_sampler_init(&sampler->gpus, &sink, root, drain, options->gpu_probe,
			 trace_name_variable(options->environment, "GPUTRACE_NVML"), options->pid);
	page_sampler_init(&sampler->pages, &sink, root, options->pid);
}

void sampler_note_record(void *context, uint16_t kind, const void *record)
{
	struct sampler *sampler = context;
	const struct call_part *call = record;

	if (kind == RECORD_KIND_copy)
		page_sampler_note(&sampler->pages, record);
	if (kind == RECORD_KIND_copy || kind == RECORD_KIND_launch)
		gpu_sampler_note_work(&sampler->gpus, call->device);
}

void sampler_note_library(struct sampler *sampler, const struct record_library *library)
{
	size_t length = library->path_bytes;

	if (sampler->cuda_folder[0] || length >= sizeof(sampler->cuda_folder))
		return;
	for (size_t i = length; i-- > 0;) {
		if (library->path[i] != '/')
			continue;
		if (i > 0 && length - i > strlen("/libcuda.so") &&
		    memcmp(library->path + i, "/libcuda.so", strlen("/libcuda.so")) == 0) {
			memcpy(sampler->cuda_folder, library->path, i);
			sampler->cuda_folder[i] = '\0';
		}
		return;
	}
}

void sampler_run(struct sampler *sampler, uint64_t now_ns)
{
	if (now_ns >= sampler->next_fast_ns) {
		sampler->next_fast_ns = now_ns + FAST_NS;
		if (gpu_sampler_is_busy(&sampler->gpus))
			gpu_sampler_look_at_links(&sampler->gpus);
		job_sampler_look_at_threads(&sampler->job, sampler->drain->reader);
	}
	if (now_ns >= sampler->next_slow_ns && sampler->drain->device_count) {
		sampler->next_slow_ns = now_ns + SLOW_NS;
		job_sampler_run(&sampler->job);
		gpu_sampler_run(&sampler->gpus, now_ns, sampler->cuda_folder);
		page_sampler_run(&sampler->pages, now_ns);
	}
}

void sampler_finish(struct sampler *sampler, uint64_t now_ns)
{
	if (gpu_sampler_is_busy(&sampler->gpus))
		gpu_sampler_look_at_links(&sampler->gpus);
	page_sampler_run(&sampler->pages, now_ns);
	gpu_sampler_finish(&sampler->gpus);
}
