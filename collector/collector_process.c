/* SPDX-License-Identifier: Apache-2.0 */
/* All of it is best effort: a kernel or a sandbox that refuses one step leaves the others useful.
 */
#define _GNU_SOURCE
#include "collector_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define MEMORY_POLICY_DEFAULT 0
#define CPU_MASK_BYTES	      1024 /* 8192 CPUs */
#define HIGHEST_DESCRIPTOR    65536

static void close_between(unsigned int first, unsigned int last)
{
	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	for (unsigned int fd = first; fd <= last && fd < HIGHEST_DESCRIPTOR; fd++)
		close((int)fd);
}

/* Pipes of the job must not stay open: `train.py | tee log` would not end. */
static void close_others(int memfd, int dir_fd, int keep_stderr)
{
	unsigned int low = (unsigned int)(memfd < dir_fd ? memfd : dir_fd);
	unsigned int high = (unsigned int)(memfd < dir_fd ? dir_fd : memfd);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= (keep_stderr ? 1 : 2); fd++) {
		if (fd != memfd && fd != dir_fd)
			dup2(null, fd);
	}
	if (null > 2)
		close(null);
	close_between(3, low - 1);
	close_between(low + 1 > 3 ? low + 1 : 3, high - 1);
	close_between(high + 1 > 3 ? high + 1 : 3, ~0u);
}

static void reset_signals(void)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	const struct sigaction standard = {.sa_handler = SIG_DFL};

	for (int number = 1; number < _NSIG; number++)
		sigaction(number, &standard, NULL);
	/* The end of a session is the end of the job, never a signal to its process group or step.
	 */
	sigaction(SIGHUP, &ignore, NULL);
	sigaction(SIGINT, &ignore, NULL);
	sigaction(SIGTERM, &ignore, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
	sigaction(SIGXCPU, &ignore, NULL);
}

/* The job may be bound to the cores next to its GPU, at a real-time priority, with its memory on
 * one node: a collector there would compete with it. The kernel keeps all CPUs within the cpuset.
 */
static void reset_scheduling(void)
{
	const struct sched_param normal = {0};
	unsigned char cpus[CPU_MASK_BYTES];

	memset(cpus, 0xff, sizeof(cpus));
	syscall(SYS_sched_setaffinity, 0, sizeof(cpus), cpus);
	sched_setscheduler(0, SCHED_OTHER, &normal);
	setpriority(PRIO_PROCESS, 0, 0);
	syscall(SYS_set_mempolicy, MEMORY_POLICY_DEFAULT, NULL, 0);
}

static void reset_limits(void)
{
	static const int raised[] = {RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE,
				     RLIMIT_NOFILE};
	const struct rlimit no_core = {0, 0};

	for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)raised[i], &limit) < 0)
			continue;
		limit.rlim_cur = limit.rlim_max;
		setrlimit((__rlimit_resource_t)raised[i], &limit);
	}
	setrlimit(RLIMIT_CORE, &no_core);
}

void collector_process_detach(int memfd, int dir_fd, int keep_stderr)
{
	setsid();
	umask(077);
	reset_signals();
	reset_scheduling();
	reset_limits();
	close_others(memfd, dir_fd, keep_stderr);
	/* Nobody shall be kept from unmounting the job's directory; the output's is held anyway. */
	if (chdir("/") < 0)
		return;
}
