/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the traced job still the process that started the session? A zombie is dead, a reused process
 * number is dead, and a process that called exec is another program (its old session is over).
 */
#ifndef GPUTRACE_JOB_WATCH_H
#define GPUTRACE_JOB_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum job_state { JOB_ALIVE, JOB_DEAD, JOB_EXECED };

struct job_watch {
	pid_t pid;	/* 0: the collector lives in the job, nothing to watch */
	int pidfd;	/* -1: not to be had */
	uint64_t start; /* of /proc/PID/stat, 0 unknown */
	uint64_t inode; /* of the session's memory in /proc/PID/maps, 0 unknown */
	char exe[512];	/* link text of /proc/PID/exe, "" unknown */
};

void job_watch_open(struct job_watch *watch, pid_t pid, int memfd);
void job_watch_close(struct job_watch *watch);
/* Sleeps up to `timeout_ns`; true when it woke because the job died. */
bool job_watch_sleep(const struct job_watch *watch, uint64_t timeout_ns);
/* Some system calls: ask every few ms. */
enum job_state job_watch_state(struct job_watch *watch);
/* The text of /proc/PID/maps, when the caller has read it anyway: without the session's memory in
 * it the job has called exec. */
bool job_watch_maps_lack_memory(const struct job_watch *watch, const char *maps);
/* Start time of a process in clock ticks since boot, 0 unknown; *state gets its state letter. */
uint64_t job_watch_start_time(pid_t pid, char *state);

#endif
