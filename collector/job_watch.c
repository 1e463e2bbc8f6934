/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pidfd tells death exactly. Where the kernel has none, /proc/PID/stat is compared with what it
 * was at the start. exec is seen by the exe link and, for a program that executes itself, by the
 * session's memory being gone from the job's maps.
 */
#define _GNU_SOURCE
#include "job_watch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "small_file.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define STAT_FIELDS_TO_START 20 /* fields of /proc/PID/stat from the state to the start time */

uint64_t job_watch_start_time(pid_t pid, char *state)
{
	char path[64], text[1024];
	const char *at;
	uint64_t start;

	*state = '?';
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (small_file_read(path, text, sizeof(text)) <= 0)
		return 0;
	/* The name may hold anything, so the fields are counted from its last parenthesis. */
	at = strrchr(text, ')');
	if (!at || at[1] != ' ')
		return 0;
	at += 2;
	*state = *at;
	for (int field = 1; field < STAT_FIELDS_TO_START; field++) {
		at = strchr(at, ' ');
		if (!at)
			return 0;
		at++;
	}
	return small_file_number(&at, 10, &start) ? start : 0;
}

static void read_exe(pid_t pid, char *text, size_t size)
{
	char path[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	length = readlink(path, text, size - 1);
	text[length > 0 ? length : 0] = '\0';
}

void job_watch_open(struct job_watch *watch, pid_t pid, int memfd)
{
	struct stat status;
	char state;

	memset(watch, 0, sizeof(*watch));
	watch->pid = pid;
	watch->pidfd = -1;
	if (pid == 0)
		return;
	watch->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	watch->start = job_watch_start_time(pid, &state);
	read_exe(pid, watch->exe, sizeof(watch->exe));
	if (small_file_stat(memfd, &status) == 0)
		watch->inode = (uint64_t)status.st_ino;
}

void job_watch_close(struct job_watch *watch)
{
	if (watch->pidfd >= 0)
		close(watch->pidfd);
	watch->pidfd = -1;
}

bool job_watch_sleep(const struct job_watch *watch, uint64_t timeout_ns)
{
	struct pollfd job = {.fd = watch->pidfd, .events = POLLIN};
	struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ns / 1000000000u),
		.tv_nsec = (long)(timeout_ns % 1000000000u),
	};

	/* With a descriptor of -1 this is a sleep. */
	return ppoll(&job, 1, &timeout, NULL) > 0;
}

/* A leader that ended before its other threads is a zombie too; then the job goes on. */
static bool has_other_threads(pid_t pid)
{
	char path[64], text[2048];
	const char *at;
	uint64_t threads = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (small_file_read(path, text, sizeof(text)) <= 0)
		return false;
	at = strstr(text, "\nThreads:\t");
	if (!at)
		return false;
	at += strlen("\nThreads:\t");
	return small_file_number(&at, 10, &threads) && threads > 1;
}

static bool is_dead(const struct job_watch *watch)
{
	struct pollfd job = {.fd = watch->pidfd, .events = POLLIN};
	uint64_t start;
	char state;

	if (watch->pidfd >= 0)
		return poll(&job, 1, 0) > 0;
	start = job_watch_start_time(watch->pid, &state);
	if (state == '?' || (watch->start && start != watch->start))
		return true;
	return (state == 'Z' || state == 'X') && !has_other_threads(watch->pid);
}

enum job_state job_watch_state(struct job_watch *watch)
{
	char exe[sizeof(watch->exe)];

	if (watch->pid == 0)
		return JOB_ALIVE;
	if (is_dead(watch))
		return JOB_DEAD;
	read_exe(watch->pid, exe, sizeof(exe));
	if (watch->exe[0] && exe[0] && strcmp(exe, watch->exe) != 0) {
		/* A file that is replaced while it runs gets " (deleted)" behind its name. */
		size_t length = strlen(watch->exe);

		if (strncmp(exe, watch->exe, length) != 0 ||
		    strcmp(exe + length, " (deleted)") != 0)
			return JOB_EXECED;
	}
	return JOB_ALIVE;
}

bool job_watch_maps_lack_memory(const struct job_watch *watch, const char *maps)
{
	char wanted[32];

	if (watch->pid == 0 || watch->inode == 0)
		return false;
	snprintf(wanted, sizeof(wanted), " %llu ", (unsigned long long)watch->inode);
	/* "start-end perms offset dev inode   /memfd:gputrace (deleted)", or "/dev/shm/gputrace.1.f
	 * (deleted)" where memfds are refused. */
	for (const char *at = strstr(maps, "gputrace"); at; at = strstr(at + 1, "gputrace")) {
		const char *line = at;

		while (line > maps && line[-1] != '\n')
			line--;
		for (; line < at; line++) {
			if (strncmp(line, wanted, strlen(wanted)) == 0)
				return false;
		}
	}
	return true;
}
