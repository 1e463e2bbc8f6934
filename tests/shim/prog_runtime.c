/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime-API program, linked to the simulated libcudart, that prints every result code.
 * usage: prog_runtime MODE
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#define PRINT(call)                                                                                \
	do {                                                                                       \
		errno = 1234;                                                                      \
		int status = (int)(call);                                                          \
		printf("%s = %d%s\n", #call, status, errno == 1234 ? "" : " ERRNO CHANGED");       \
	} while (0)

static void copy_some(int times)
{
	void *device, *pinned, *pageable = malloc(1 << 16);
	cudaStream_t stream;
	PRINT(cudaMalloc(&device, 1 << 16));
	PRINT(cudaHostAlloc(&pinned, 1 << 16, 0));
	PRINT(cudaStreamCreate(&stream));
	for (int i = 0; i < times; i++) {
		PRINT(cudaMemcpyAsync(device, pageable, 1 << 16, cudaMemcpyHostToDevice, stream));
		PRINT(cudaMemcpyAsync(pinned, device, 1 << 16, cudaMemcpyDefault, stream));
		PRINT(cudaMemcpy(device, pageable, 320, cudaMemcpyHostToDevice));
		PRINT(cudaMemset(device, 0, 100));
		PRINT(cudaStreamSynchronize(stream));
	}
	PRINT(cudaStreamDestroy(stream));
	PRINT(cudaFree(device));
	PRINT(cudaFreeHost(pinned));
	free(pageable);
}

/* As frameworks do it: one event after another is asked for until it is there. */
static void poll_events(int times)
{
	const size_t bytes = 64 << 20;
	unsigned int polls = 0;
	void *device;
	cudaEvent_t event;
	PRINT(cudaMalloc(&device, bytes));
	PRINT(cudaEventCreate(&event));
	for (int i = 0; i < times; i++) {
		PRINT(cudaMemsetAsync(device, i, bytes, NULL));
		PRINT(cudaEventRecord(event, NULL));
		while (cudaEventQuery(event) == cudaErrorNotReady)
			polls++;
		while (cudaStreamQuery(NULL) == cudaErrorNotReady)
			polls++;
	}
	printf("polled: %s\n", polls > (unsigned int)times ? "yes" : "no");
	PRINT(cudaGetLastError());
	PRINT(cudaEventDestroy(event));
	PRINT(cudaFree(device));
}

static void fail_some(void)
{
	void *device;
	PRINT(cudaMalloc(NULL, 16));
	PRINT(cudaMalloc(&device, (size_t)1 << 50));
	PRINT(cudaGetLastError());
	PRINT(cudaGetLastError());
	PRINT(cudaFree((void *)0x123450));
	PRINT(cudaMemcpy(NULL, NULL, 16, cudaMemcpyHostToDevice));
	PRINT(cudaPeekAtLastError());
	PRINT(cudaGetLastError());
}

/* ---- threads ---- */

static void *thread_main(void *argument)
{
	void *device;
	cudaMalloc(&device, 1000 + (size_t)(uintptr_t)argument);
	for (int i = 0; i < 50; i++)
		cudaMemset(device, 0, 10);
	cudaFree(device);
	return NULL;
}

static void run_threads(int count, int rounds)
{
	pthread_t threads[64];
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < count; i++)
			pthread_create(&threads[i], NULL, thread_main, (void *)(uintptr_t)i);
		for (int i = 0; i < count; i++)
			pthread_join(threads[i], NULL);
	}
}

static pthread_key_t key;
static void *key_device;

/* A destructor of the program's own, after or before the shim's: its calls count as well. */
static void key_ended(void *value)
{
	(void)value;
	cudaMemset(key_device, 0, 77);
}

static void *thread_with_destructor(void *unused)
{
	(void)unused;
	cudaMalloc(&key_device, 1000);
	pthread_setspecific(key, &key_device);
	return NULL;
}

/* ---- processes ---- */

static _Atomic int children_seen;
static void on_child(int signal_number)
{
	(void)signal_number;
	children_seen++;
}

static void wait_for(pid_t pid)
{
	int status = 0;
	waitpid(pid, &status, 0);
	printf("child: %s %d\n", WIFEXITED(status) ? "exit" : "signal",
	       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static void no_children_are_seen(void)
{
	int status;
	struct sigaction action = {.sa_handler = on_child};
	sigaction(SIGCHLD, &action, NULL);
	copy_some(1);
	pid_t found = waitpid(-1, &status, WNOHANG);
	printf("waitpid(-1) = %d %s, SIGCHLD seen = %d\n", (int)found,
	       found < 0 && errno == ECHILD ? "ECHILD" : "?", children_seen);
}

static void fork_workers(bool children_use_cuda)
{
	copy_some(1);
	fflush(stdout);
	for (int i = 0; i < 4; i++) {
		pid_t pid = fork();
		if (!pid) {
			void *device;
			if (children_use_cuda)
				cudaMalloc(&device, 4242);
			exit(i); /* with exit handlers, as some programs do */
		}
		wait_for(pid);
	}
	copy_some(1);
}

/* A child made without fork handlers. */
static void clone_child(void)
{
	void *device;
	copy_some(1);
	fflush(stdout);
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid) {
		cudaDeviceSynchronize(); /* opens nothing */
		cudaMalloc(&device, 4242);
		_exit(3);
	}
	wait_for(pid);
	copy_some(1);
}

static void run_destructor(void)
{
	pthread_t thread;

	cudaFree(NULL);
	pthread_key_create(&key, key_ended);
	pthread_create(&thread, NULL, thread_with_destructor, NULL);
	pthread_join(thread, NULL);
}

static void close_everything(void)
{
	copy_some(1);
	fflush(stdout);
	for (int fd = 3; fd < 4096; fd++)
		close(fd);
	/* Descriptors that take the numbers of closed ones must not be written to. */
	FILE *file = fopen("/dev/null", "w");
	int high = dup2(fileno(file), 1000);
	run_threads(40, 1);
	printf("the descriptor in its place is open: %d\n", fcntl(high, F_GETFD) >= 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "copy";
	int number = argc > 2 ? atoi(argv[2]) : 1;
	void *device;

	if (!strcmp(mode, "copy")) {
		copy_some(number);
	} else if (!strcmp(mode, "once")) {
		PRINT(cudaMalloc(&device, 100));
	} else if (!strcmp(mode, "poll")) {
		poll_events(number);
	} else if (!strcmp(mode, "fail")) {
		copy_some(1);
		fail_some();
	} else if (!strcmp(mode, "idle")) {
		int count;
		PRINT(cudaGetDeviceCount(&count));
		PRINT(cudaRuntimeGetVersion(&count));
	} else if (!strcmp(mode, "threads")) {
		/* Opens the session: other threads' calls meanwhile would be counted only. */
		cudaFree(NULL);
		run_threads(argc > 3 ? atoi(argv[3]) : 8, number);
	} else if (!strcmp(mode, "destructor")) {
		run_destructor();
	} else if (!strcmp(mode, "children")) {
		no_children_are_seen();
	} else if (!strcmp(mode, "fork")) {
		fork_workers(false);
	} else if (!strcmp(mode, "fork-cuda")) {
		fork_workers(true);
	} else if (!strcmp(mode, "clone")) {
		clone_child();
	} else if (!strcmp(mode, "exec")) {
		copy_some(1);
		fflush(stdout);
		execl("/proc/self/exe", argv[0], "copy", "2", (char *)NULL);
	} else if (!strcmp(mode, "_exit")) {
		copy_some(number);
		fflush(stdout);
		_exit(7);
	} else if (!strcmp(mode, "kill")) {
		copy_some(number);
		fflush(stdout);
		kill(getpid(), SIGKILL);
	} else if (!strcmp(mode, "abort")) {
		copy_some(number);
		fflush(stdout);
		abort();
	} else if (!strcmp(mode, "subreaper")) {
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		copy_some(number);
		printf("waitpid(-1) = %d\n", (int)waitpid(-1, NULL, WNOHANG));
	} else if (!strcmp(mode, "oom-kill")) {
		copy_some(1);
		fflush(stdout);
		cudaMalloc(&device, (size_t)1 << 50);
		kill(getpid(), SIGKILL);
	} else if (!strcmp(mode, "close")) {
		close_everything();
	} else if (!strcmp(mode, "visible")) {
		int count = 0;
		setenv("CUDA_VISIBLE_DEVICES", "1", 1);
		cudaGetDeviceCount(&count);
		printf("devices %d\n", count);
		copy_some(1);
	} else if (!strcmp(mode, "chdir")) {
		number = chdir("/");
		copy_some(1);
	} else if (!strcmp(mode, "pthread_exit")) {
		copy_some(1);
		pthread_exit(NULL);
	} else {
		printf("unknown mode %s\n", mode);
		return 2;
	}
	return 0;
}
