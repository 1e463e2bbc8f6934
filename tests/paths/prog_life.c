/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lives of processes: what ends, forks or becomes another program while CUDA is in use. A call
 * can be told by the number of bytes that it sets, so that a trace can be held against what was
 * done.
 *
 *   prog_life MODE [ARGUMENT]
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

extern char **environ;

/* Sets `first` bytes, `first` + 1 and so on; every result counts. */
static void set_bytes(size_t first, size_t count)
{
	void *memory = NULL;
	int failed = 0;

	errno = 1234;
	failed += cudaMalloc(&memory, 1 << 20) != cudaSuccess;
	for (size_t i = 0; i < count; i++)
		failed += cudaMemset(memory, 0, first + i) != cudaSuccess;
	failed += cudaFree(memory) != cudaSuccess;
	printf("%zu: %d failed%s\n", first, failed, errno == 1234 ? "" : ", errno changed");
	fflush(stdout);
}

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void nap_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void tell_end(const char *who, pid_t child)
{
	int status = 0;

	if (waitpid(child, &status, 0) != child)
		printf("%s: not waited for\n", who);
	else if (WIFEXITED(status))
		printf("%s: exit %d\n", who, WEXITSTATUS(status));
	else
		printf("%s: signal %d\n", who, WTERMSIG(status));
	fflush(stdout);
}

/* ---- children that use no GPU ---- */

/* C17: one child runs the exit handlers, another becomes a program that does. */
static void exiting_children(void)
{
	double begin_s;
	pid_t child;

	set_bytes(100, 5);
	begin_s = now_s();
	child = fork();
	if (child == 0)
		exit(3);
	tell_end("exit", child);
	child = fork();
	if (child == 0) {
		execl("/bin/sh", "sh", "-c", "exit 4", (char *)NULL);
		_exit(99);
	}
	tell_end("exec", child);
	printf("within a second: %d\n", now_s() - begin_s < 1);
	set_bytes(200, 5);
}

/* C18: as a data loader does it. */
static void idle_workers(void)
{
	pid_t workers[4];

	set_bytes(100, 5);
	for (int i = 0; i < 4; i++) {
		workers[i] = fork();
		if (workers[i] == 0) {
			char *work = malloc(1 << 20);

			memset(work, i, 1 << 20);
			nap_ms(20);
			exit(work[77]);
		}
	}
	set_bytes(200, 5);
	for (int i = 0; i < 4; i++)
		tell_end("worker", workers[i]);
}

/* The child of a vfork shares our memory and runs in our place until it is another program. */
static void borrowed_memory(void)
{
	set_bytes(100, 5);
	for (int i = 0; i < 20; i++) {
		pid_t child = vfork();

		if (child == 0) {
			if (i % 2)
				_exit(i);
			execl("/bin/sh", "sh", "-c", "exit 40", (char *)NULL);
			_exit(99);
		}
		tell_end("vfork", child);
		set_bytes(200 + 10 * (size_t)i, 5);
	}
}

/* ---- children with a session of their own ---- */

/* C21, with everything that posix_spawn can be asked for. */
static void spawned_ranks(const char *self)
{
	pid_t ranks[2];
	int joined[2];
	char line[256];

	set_bytes(100, 5);
	if (pipe(joined))
		exit(1);
	for (int i = 0; i < 2; i++) {
		char from[16], *arguments[] = {(char *)(uintptr_t)self, "set", from, NULL};
		posix_spawn_file_actions_t actions;
		posix_spawnattr_t attributes;
		sigset_t mask, defaults;

		snprintf(from, sizeof(from), "%d", 1000 * (i + 1));
		posix_spawn_file_actions_init(&actions);
		posix_spawn_file_actions_adddup2(&actions, joined[1], STDOUT_FILENO);
		posix_spawn_file_actions_addclose(&actions, joined[0]);
		posix_spawn_file_actions_addopen(&actions, 17, "/dev/null", O_RDONLY, 0);
		posix_spawnattr_init(&attributes);
		sigemptyset(&mask);
		sigaddset(&mask, SIGUSR1);
		sigemptyset(&defaults);
		sigaddset(&defaults, SIGTERM);
		posix_spawnattr_setsigmask(&attributes, &mask);
		posix_spawnattr_setsigdefault(&attributes, &defaults);
		posix_spawnattr_setpgroup(&attributes, 0);
		posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
							      POSIX_SPAWN_SETSIGDEF |
							      POSIX_SPAWN_SETPGROUP);
		if (i == 0)
			printf("spawn: %d\n", posix_spawn(&ranks[i], self, &actions, &attributes,
							  arguments, environ));
		else
			printf("spawn: %d\n", posix_spawnp(&ranks[i], self, &actions, &attributes,
							   arguments, environ));
		posix_spawn_file_actions_destroy(&actions);
		posix_spawnattr_destroy(&attributes);
		tell_end("rank", ranks[i]);
	}
	close(joined[1]);
	ssize_t length = read(joined[0], line, sizeof(line) - 1);
	line[length > 0 ? length : 0] = '\0';
	printf("%s", line);
	set_bytes(200, 5);
}

/* Twice forked, in a session of its own, as a server does it; the first process is gone by then. */
static void become_daemon(const char *done)
{
	pid_t child;

	set_bytes(100, 5);
	child = fork();
	if (child != 0) {
		tell_end("first child", child);
		return;
	}
	setsid();
	if (!freopen("/dev/null", "w", stdout))
		_exit(1);
	if (fork() != 0)
		_exit(0);
	nap_ms(100);
	set_bytes(300, 5);
	int file = open(done, O_WRONLY | O_CREAT, 0600);
	close(file);
	exit(0);
}

/* ---- threads that outlive or replace ---- */

static void *work_on(void *argument)
{
	long ms = (long)(intptr_t)argument;
	double until_s = now_s() + (double)ms / 1e3;

	set_bytes(300, 5);
	nap_ms(20);
	for (size_t i = 0; now_s() < until_s; i++)
		nap_ms(10);
	set_bytes(400, 50);
	return NULL;
}

/* The main thread is gone; the process ends with its last thread. */
static void leave_main(long ms)
{
	pthread_t thread;

	set_bytes(100, 5);
	pthread_create(&thread, NULL, work_on, (void *)(intptr_t)ms);
	pthread_exit(NULL);
}

static const char *own_path;

static void *replace_program(void *unused)
{
	(void)unused;
	set_bytes(300, 5);
	/* A shell for a while, and then this program again. */
	execl("/bin/sh", "sh", "-c", "sleep 0.2; exec \"$0\" set 1000", own_path, (char *)NULL);
	return NULL;
}

static void *busy(void *unused)
{
	void *memory = NULL;

	(void)unused;
	cudaMalloc(&memory, 100);
	for (;;) {
		cudaMemset(memory, 0, 7);
		nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
	}
	return NULL;
}

static void exec_from_thread(void)
{
	pthread_t threads[2];

	set_bytes(100, 5);
	pthread_create(&threads[0], NULL, busy, NULL);
	nap_ms(20);
	pthread_create(&threads[1], NULL, replace_program, NULL);
	pthread_join(threads[1], NULL);
	puts("no other program");
}

/* Until a file is there. */
static void go_on_until(const char *path)
{
	void *memory = NULL;
	int failed = cudaMalloc(&memory, 100) != cudaSuccess;
	const time_t end_s = time(NULL) + 60; /* who would say stop may be gone */

	while (access(path, F_OK) && time(NULL) < end_s) {
		failed += cudaMemset(memory, 0, 7) != cudaSuccess;
		nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
	}
	printf("went on: %d failed\n", failed);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	const char *argument = argc > 2 ? argv[2] : "0";

	own_path = argv[0];
	if (!strcmp(mode, "set"))
		set_bytes((size_t)atol(argument), 5);
	else if (!strcmp(mode, "exiting-children"))
		exiting_children();
	else if (!strcmp(mode, "idle-workers"))
		idle_workers();
	else if (!strcmp(mode, "vfork"))
		borrowed_memory();
	else if (!strcmp(mode, "spawn"))
		spawned_ranks(argv[0]);
	else if (!strcmp(mode, "daemon"))
		become_daemon(argument);
	else if (!strcmp(mode, "leave-main"))
		leave_main(atol(argument));
	else if (!strcmp(mode, "go-on"))
		go_on_until(argument);
	else if (!strcmp(mode, "exec-from-thread"))
		exec_from_thread();
	else
		return 2;
	return 0;
}
