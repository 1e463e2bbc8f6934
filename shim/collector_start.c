/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts gputrace-collector so that the traced program notices nothing: a middle process, made by
 * clone() with exit signal 0, makes the collector its child and ends at once. The program gets no
 * SIGCHLD, wait(-1) does not see the middle process (it needs __WCLONE), and the collector belongs
 * to init. Both processes share our memory until exec, so they use nothing but system calls. Where
 * the collector would become a child of the program itself (PID 1, child subreaper), or cannot be
 * started, or does not answer, the same code runs on a thread.
 */
#include "collector_start.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector_env.h"
#include "options.h"
#include "own_threads.h"
#include "session.h"
#include "session_memory.h"
#include "shim_log.h"
#include "ticks.h"
#include "thread.h"

#ifdef GPUTRACE_HAVE_COLLECTOR_CORE
#include "../collector/collector.h"
#endif

#define STACK_BYTES  (64u * 1024)
#define COLLECTOR_FD 3 /* where the collector finds the session's memory */
#define PATH_BYTES   4096

struct launch {
	const char *path;
	char *const *argv;
	char *const *envp;
	int memfd;
	bool keep_stderr;
	char *leaf_stack;
	pid_t leaf_pid;
	int error; /* errno of the step that failed */
};

static _Atomic pid_t collector_pid; /* 0: a thread collects, or nobody */
static _Atomic bool has_thread;

bool collector_has_thread(void)
{
	return atomic_load(&has_thread);
}

/* A zombie is gone too: in a container nobody may ever wait for it. */
bool collector_is_gone(void)
{
	char path[32], text[256];
	pid_t pid = atomic_load(&collector_pid);
	int saved_errno = errno;
	bool is_gone = false;

	if (!pid)
		return false;
	if (kill(pid, 0)) {
		is_gone = errno == ESRCH;
	} else {
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
		if (fd >= 0)
			close(fd);
		text[length > 0 ? length : 0] = '\0';
		/* "pid (name) state ..." */
		const char *end = strrchr(text, ')');
		is_gone = end && end[1] == ' ' && (end[2] == 'Z' || end[2] == 'X');
	}
	errno = saved_errno;
	return is_gone;
}

void collector_forget(void)
{
	atomic_store(&collector_pid, 0);
	atomic_store(&has_thread, false);
}

/* Everything above the collector's own descriptors: pipes of the program must not stay open. */
static void close_others(void)
{
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, COLLECTOR_FD + 1, ~0u, 0))
		return;
#endif
	long limit = sysconf(_SC_OPEN_MAX);
	for (int fd = COLLECTOR_FD + 1; fd < (limit > 65536 || limit < 0 ? 65536 : limit); fd++)
		close(fd);
}

/* The process that becomes the collector. */
static int leaf_main(void *argument)
{
	struct launch *launch = argument;
	sigset_t none;

	setsid();
	if (launch->memfd == COLLECTOR_FD)
		fcntl(COLLECTOR_FD, F_SETFD, 0);
	else if (dup2(launch->memfd, COLLECTOR_FD) < 0)
		goto fail;
	int null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		if (!launch->keep_stderr)
			dup2(null, STDERR_FILENO);
	}
	close_others();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(launch->path, launch->argv, launch->envp);
fail:
	launch->error = errno;
	return 127;
}

static int middle_main(void *argument)
{
	struct launch *launch = argument;
	launch->leaf_pid = clone(leaf_main, launch->leaf_stack + STACK_BYTES,
				 CLONE_VM | CLONE_VFORK | SIGCHLD, launch);
	if (launch->leaf_pid < 0)
		launch->error = errno;
	return 0;
}

/* 0 or -errno. Returns when the collector's program is running or could not be started. */
static int launch_collector(struct launch *launch)
{
	sigset_t all, before;
	char *stacks = mmap(NULL, (size_t)2 * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stacks == MAP_FAILED)
		return -errno;
	launch->leaf_stack = stacks + STACK_BYTES;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t middle = clone(middle_main, stacks + STACK_BYTES, CLONE_VM | CLONE_VFORK, launch);
	if (middle < 0)
		launch->error = errno;
	else
		syscall(SYS_wait4, middle, NULL, __WCLONE, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	munmap(stacks, (size_t)2 * STACK_BYTES);
	return -launch->error;
}

/* The first that can be executed; NULL when there is none. */
static const char *find_collector(char path[PATH_BYTES])
{
	static const char *const places[] = {"gputrace-collector", "../bin/gputrace-collector",
					     "../libexec/gputrace/gputrace-collector"};
	if (shim_options.collector)
		return access(shim_options.collector, X_OK) ? NULL : shim_options.collector;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int length =
			snprintf(path, PATH_BYTES, "%s/%s", session_own_directory(), places[i]);
		if (length > 0 && length < PATH_BYTES && !access(path, X_OK))
			return path;
	}
	return NULL;
}

/* READY within the time; else nobody may attach any more. */
static bool wait_ready(void)
{
	uint64_t begin_ns = ticks_monotonic();
	uint64_t timeout_ns = (uint64_t)shim_options.start_ms * 1000000u;
	uint32_t state;
	do {
		/* Pairs with the collector's release: its build string is complete. */
		state = atomic_load_explicit(&session_control->collector_state,
					     memory_order_acquire);
		if (state != RING_COLLECTOR_NONE)
			return state == RING_COLLECTOR_READY;
		struct timespec pause = {0, 100000};
		nanosleep(&pause, NULL);
	} while (ticks_monotonic() - begin_ns < timeout_ns);
	state = RING_COLLECTOR_NONE;
	return !atomic_compare_exchange_strong(&session_control->collector_state, &state,
					       RING_COLLECTOR_FAILED) &&
	       state == RING_COLLECTOR_READY;
}

static const char *start_process(int memfd)
{
	char path[PATH_BYTES], pid[16], fd[16], log[32], max_mib[24], keep_s[24];
	const char *argv[16];
	size_t count = 0;
	int subreaper = 0;

	if (memfd < 0)
		return "no memory can be shared with another process";
	if (getpid() == 1)
		return "the program is process 1 of its container";
	prctl(PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0);
	if (subreaper)
		return "the program adopts orphaned processes";
	if (shim_options.collector && !strcmp(shim_options.collector, "none"))
		return "GPUTRACE_COLLECTOR=none asks for a thread";
	const char *program = find_collector(path);
	if (!program)
		return "gputrace-collector was not found";
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	snprintf(fd, sizeof(fd), "%d", COLLECTOR_FD);
	snprintf(log, sizeof(log), "GPUTRACE_LOG=%s", shim_options.log);
	argv[count++] = "gputrace-collector";
	argv[count++] = "--memfd";
	argv[count++] = fd;
	argv[count++] = "--pid";
	argv[count++] = pid;
	argv[count++] = "--out";
	argv[count++] = shim_options.out_dir;
	if (shim_options.name) {
		argv[count++] = "--name";
		argv[count++] = shim_options.name;
	}
	if (shim_options.max_mib) {
		snprintf(max_mib, sizeof(max_mib), "%ld", shim_options.max_mib);
		argv[count++] = "--max-mib";
		argv[count++] = max_mib;
	}
	if (shim_options.keep_s) {
		snprintf(keep_s, sizeof(keep_s), "%ld", shim_options.keep_s);
		argv[count++] = "--keep-s";
		argv[count++] = keep_s;
	}
	argv[count] = NULL;
	struct launch launch = {
		.path = program,
		.argv = (char *const *)(uintptr_t)argv,
		.envp = (char *const *)(uintptr_t)collector_env_build(),
		.memfd = memfd,
		.keep_stderr = shim_log_level > SHIM_LOG_OFF,
	};
	int rc = launch_collector(&launch);
	if (rc) {
		SHIM_LOG(WARN, "cannot run the collector: path=\"%s\", error=%s", program,
			 strerror(-rc));
		return "gputrace-collector could not be run";
	}
	if (!wait_ready())
		return "gputrace-collector did not answer in time (GPUTRACE_START_MS)";
	atomic_store(&collector_pid, launch.leaf_pid);
	SHIM_LOG(INFO, "collector: pid=%d, path=\"%s\"", (int)launch.leaf_pid, program);
	return NULL;
}

#ifdef GPUTRACE_HAVE_COLLECTOR_CORE
static struct collector_options thread_options;

static void *collector_thread(void *unused)
{
	(void)unused;
	thread_mute();
	int rc = collector_run(&thread_options, NULL);
	if (rc)
		SHIM_LOG(ERROR, "the collecting thread failed: %s", strerror(-rc));
	atomic_store(&has_thread, false);
	return NULL;
}

/* Ends the session when only our threads are left, so that they do not keep the process alive. */
static void *watching_thread(void *unused)
{
	struct ring_control *control = session_control;
	(void)unused;
	while (!atomic_load_explicit(&control->session_ended, memory_order_relaxed)) {
		struct timespec pause = {0, 100000000};
		nanosleep(&pause, NULL);
		if (own_threads_are_last())
			atomic_store_explicit(&control->session_ended, 1, memory_order_release);
	}
	return NULL;
}

static int start_thread(int memfd, const char *reason)
{
	uint64_t memory_bytes;
	thread_options = (struct collector_options){
		.memfd = memfd,
		.pid = 0,
		.out_dir_fd = -1,
		.out_dir = shim_options.out_dir,
		.name = shim_options.name,
		.environment = collector_env_build(),
		.fallback_reason = reason,
		.memory = session_memory_base(&memory_bytes),
		.max_bytes = (uint64_t)shim_options.max_mib << 20,
		.keep_ns = (uint64_t)shim_options.keep_s * 1000000000u,
	};
	thread_options.memory_bytes = memory_bytes;
	atomic_store(&has_thread, true);
	int rc = own_threads_start("gputrace-write", collector_thread);
	if (rc)
		atomic_store(&has_thread, false);
	else
		own_threads_start("gputrace-watch", watching_thread);
	return -rc;
}
#endif

int collector_start(int memfd, const char **reason)
{
	int cancel;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	*reason = start_process(memfd);
	int rc = 0;
	if (*reason) {
		SHIM_LOG(INFO, "collecting on a thread: %s", *reason);
#ifdef GPUTRACE_HAVE_COLLECTOR_CORE
		rc = start_thread(memfd, *reason);
#else
		rc = -ENOSYS;
#endif
	}
	pthread_setcancelstate(cancel, NULL);
	return rc;
}
