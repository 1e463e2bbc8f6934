/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two rhythms: every 100 ms what moves quickly and only while the job works (CPUs of threads, links
 * of GPUs), every second all the rest. The first look of each kind comes at once, so that short
 * runs have one too; after a new thread the next ones come soon, since programs bind their threads
 * when they have seen their GPU.
 */
#define _GNU_SOURCE
#include "sampler.h"

#include <string.h>

#include "collector.h"
#include "trace_name.h"
#include "trace_writer.h"

#define FIRST_NS 10000000ull /* after a new thread, then twice that, until FAST_NS */
#define FAST_NS	 100000000ull
#define SLOW_NS	 1000000000ull

void sampler_init(struct sampler *sampler, struct trace_writer *writer, struct drain *drain,
		  const struct collector_options *options, const char *root)
{
	const struct sample_sink sink = {writer, drain->reader->clock_kind};

	sampler->drain = drain;
	sampler->writer = writer;
	sampler->threads = 0;
	sampler->is_runtime_told = false;
	sampler->pause_ns = FIRST_NS;
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
	/* The link of the GPU at the other end is under load too. */
	if (kind == RECORD_KIND_copy &&
	    ((const struct record_copy *)record)->direction == COPY_PEER)
		gpu_sampler_note_work(&sampler->gpus,
				      ((const struct record_copy *)record)->peer_device);
}

/* The toolkit is in the name of its library: "libcudart.so.12.4.127", in wheels with a hash,
 * "libcudart-d0da41ae.so.11.8.89". */
static void note_runtime(struct sampler *sampler, const char *name, size_t length)
{
	char version[16];
	const char *at, *dot;

	if (sampler->is_runtime_told || length < strlen("libcudart") ||
	    memcmp(name, "libcudart", strlen("libcudart")) != 0)
		return;
	at = memmem(name, length, ".so.", strlen(".so."));
	if (!at)
		return;
	at += strlen(".so.");
	length -= (size_t)(at - name);
	dot = memchr(at, '.', length);
	if (!dot)
		return; /* only the major version: not enough to look anything up */
	for (size_t i = 0; i < length && i + 1 < sizeof(version); i++) {
		bool is_end = at + i > dot && at[i] == '.';

		version[i] = is_end ? '\0' : at[i];
		version[i + 1] = '\0';
		if (is_end)
			break;
	}
	sampler->is_runtime_told = true;
	trace_writer_info(sampler->writer, "cuda.runtime_version", version, NULL);
}

void sampler_note_library(struct sampler *sampler, const struct record_library *library)
{
	const char *name = memrchr(library->path, '/', library->path_bytes);
	size_t folder, length;

	if (!name)
		return;
	folder = (size_t)(name - library->path);
	length = library->path_bytes - folder - 1;
	name++;
	note_runtime(sampler, name, length);
	if (!sampler->cuda_folder[0] && folder > 0 && folder < sizeof(sampler->cuda_folder) &&
	    length >= strlen("libcuda.so") &&
	    memcmp(name, "libcuda.so", strlen("libcuda.so")) == 0) {
		memcpy(sampler->cuda_folder, library->path, folder);
		sampler->cuda_folder[folder] = '\0';
	}
}

void sampler_run(struct sampler *sampler, uint64_t now_ns)
{
	uint32_t threads = sampler->drain->reader->threads;

	/* A thread that has just begun to record is looked at at once: the run may be short. */
	if (now_ns >= sampler->next_fast_ns || threads != sampler->threads) {
		if (threads != sampler->threads)
			sampler->pause_ns = FIRST_NS;
		sampler->threads = threads;
		sampler->next_fast_ns = now_ns + sampler->pause_ns;
		sampler->pause_ns =
			sampler->pause_ns * 2 < FAST_NS ? sampler->pause_ns * 2 : FAST_NS;
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
