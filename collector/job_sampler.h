/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples the job and its surroundings from /proc and /sys: where its launching threads run and how
 * long they wait for a CPU, its memory, its cgroup's throttling, the machine's pressure.
 */
#ifndef GPUTRACE_JOB_SAMPLER_H
#define GPUTRACE_JOB_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "numa_nodes.h"
#include "ring_reader.h"
#include "sample_sink.h"

#define JOB_MAX_THREADS 32

struct job_thread {
	uint32_t thread_id; /* 0: unused */
	uint64_t tail;	    /* of its ring when it was looked at last */
	int64_t cpu;	    /* told last, -1 none */
	bool is_live;
};

struct job_sampler {
	const char *root;
	pid_t pid; /* 0: this process */
	struct sample_sink sink;
	struct numa_nodes nodes;
	struct job_thread threads[JOB_MAX_THREADS];
	char cgroup[512]; /* version 2: path below sys/fs/cgroup; version 1: of the cpu one */
	char memory_group[512];
	bool is_version1;
	uint64_t page_bytes;
};

void job_sampler_init(struct job_sampler *sampler, const struct sample_sink *sink, const char *root,
		      pid_t pid);
/* Ten times a second: the CPUs of threads that recorded something since the last time. */
void job_sampler_look_at_threads(struct job_sampler *sampler, const struct ring_reader *reader);
/* Once a second: everything. */
void job_sampler_run(struct job_sampler *sampler);

#endif
