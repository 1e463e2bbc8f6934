/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector: drains the rings of one traced process into one trace file. The same code is the
 * body of the program gputrace-collector (collector_main.c) and of the thread that the shim starts
 * when that program cannot run. It never exits or aborts, starts no threads of its own accord,
 * keeps its memory bounded and blocks every signal of the calling thread before it works.
 */
#ifndef GPUTRACE_COLLECTOR_H
#define GPUTRACE_COLLECTOR_H

#include <stdint.h>
#include <sys/types.h>

struct error;
struct gpu_probe;
struct ring_relief;

struct collector_options {
	int memfd;    /* the session's memory; stays the caller's */
	void *memory; /* in the job, where there is no descriptor; else NULL */
	uint64_t memory_bytes;
	pid_t pid;	     /* the job as the caller sees it; 0: the caller is in the job */
	int out_dir_fd;	     /* where the file is created; -1: open out_dir */
	const char *out_dir; /* unused when out_dir_fd >= 0 */
	const char *name;    /* first part of the file name; NULL: from the job's command */
	const char *const
		*environment;	     /* "KEY=VALUE"..., NULL: the job's variables are unknown.
				      * Ranks and the allow-list of FORMAT.md are taken from it. */
	const char *fallback_reason; /* in the job: why no process could be started; else NULL */
	const char *root; /* where /sys and /proc of the machine begin; NULL: GPUTRACE_ROOT of the
			   * environment, else the machine itself */
	const struct gpu_probe *gpu_probe; /* asks NVML; NULL: nobody does */
	const struct ring_relief *relief;  /* empties rings meanwhile; NULL: nobody does */
	uint32_t tail_interval_ms;	   /* 0: 50 */
	uint64_t max_bytes, keep_ns; /* of the file, as in trace_writer_options; 0: no limit */
	int compression_level;	     /* 0: 1 */
};

/*
 * Runs until the session ends: ring_control.session_ended, death or exec of the job. Sets
 * collector_state to READY once attached, then DONE (the file is complete) or FAILED with
 * collector_errno. 0 or a negative errno with the reason in *err.
 */
int collector_run(const struct collector_options *options, struct error *err);

/* Version of program and layouts, under 40 bytes. The shim writes it to ring_control.shim_build and
 * compares collector_build with it. */
const char *collector_build(void);

#endif
