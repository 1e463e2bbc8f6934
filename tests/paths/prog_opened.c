/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is linked to no CUDA library and opens them: it closes and reopens them, or forks
 * in the middle of a call. The runtime of tests/shim/lib_fake_cudart.c raises SIGUSR1 in
 * cudaFree().
 *
 *   prog_opened close        opens, calls, closes: three times
 *   prog_opened fork-leave   the child of a fork inside a call makes calls and leaves
 *   prog_opened fork-return  it returns through the call that it was born in, and makes calls
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

union found {
	void *object;
	int (*init)(unsigned int);
	int (*allocate)(void **, size_t);
	int (*set)(void *, int, size_t);
	int (*release)(void *);
};

static union found find(void *library, const char *name)
{
	union found found = {library ? dlsym(library, name) : NULL};

	if (!found.object) {
		printf("%s: %s\n", name, dlerror());
		exit(9);
	}
	return found;
}

/* ---- closing ---- */

static void close_and_reopen(void)
{
	for (size_t round = 1; round <= 3; round++) {
		void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
		void *runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);
		union found allocate = find(runtime, "cudaMalloc"),
			    set = find(runtime, "cudaMemset");
		void *memory = NULL;

		printf("init %d\n", find(driver, "cuInit").init(0));
		printf("malloc %d\n", allocate.allocate(&memory, 4096));
		for (size_t i = 0; i < 5; i++)
			printf("set %d\n", set.set(memory, 0, 100 * round + i));
		printf("free %d\n", find(runtime, "cudaFree").release(memory));
		printf("close %d", dlclose(runtime));
		printf(" %d\n", dlclose(driver));
	}
}

/* ---- forking inside a call ---- */

static union found allocate, release;
static volatile sig_atomic_t returns_through, is_child;
static pid_t child;

static void make_calls(const char *who)
{
	void *memory = NULL;

	for (size_t i = 0; i < 3; i++)
		printf("%s: malloc %d\n", who, allocate.allocate(&memory, 70 + i));
	fflush(stdout);
}

static void interrupted(int signal_number)
{
	(void)signal_number;
	child = fork();
	if (child != 0)
		return;
	is_child = 1;
	if (returns_through)
		return;
	make_calls("child, inside");
	_exit(5);
}

static void *fork_inside(void *unused)
{
	static int argument;
	struct sigaction action = {.sa_handler = interrupted};
	int status = 0;

	(void)unused;
	sigaction(SIGUSR1, &action, NULL);
	make_calls("parent, before");
	int result = release.release(&argument);
	/* One after the other, so that what they print is in order. */
	if (!is_child)
		waitpid(child, &status, 0);
	printf("%s: free %d\n", is_child ? "child" : "parent", result);
	fflush(stdout);
	if (is_child) {
		make_calls("child, after");
		exit(6);
	}
	printf("child: %s %d\n", WIFEXITED(status) ? "exit" : "signal",
	       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	make_calls("parent, after");
	return NULL;
}

static void fork_inside_a_call(bool on_a_thread)
{
	void *runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);
	pthread_t thread;

	allocate = find(runtime, "cudaMalloc");
	release = find(runtime, "cudaFree");
	if (!on_a_thread) {
		fork_inside(NULL);
		return;
	}
	pthread_create(&thread, NULL, fork_inside, NULL);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "close")) {
		close_and_reopen();
	} else if (!strncmp(mode, "fork-", 5)) {
		returns_through = !strcmp(mode, "fork-return");
		fork_inside_a_call(argc > 2);
	} else {
		return 2;
	}
	return 0;
}
