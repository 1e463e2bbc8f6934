// SPDX-License-Identifier: Apache-2.0
/*
 * A program that is as hard on whoever wraps CUDA as a real one can be: constructors of libraries
 * that call CUDA while several threads open and close them, forks in the middle of all that, and a
 * malloc of its own that counts. Prints how often the heap was used by 200 copies from as many
 * places, which must be the same with and without the shim.
 *
 * usage: sites_storm LIBRARY_WITH_CONSTRUCTOR   (libcudart.so.13 on the library path)
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 3
#define ROUNDS	40
#define FORKS	40

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
static _Atomic uint64_t heap_calls;

__attribute__((visibility("default"))) void *malloc(size_t size)
{
	heap_calls++;
	return __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
	heap_calls++;
	return __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void *realloc(void *old, size_t size)
{
	heap_calls++;
	return __libc_realloc(old, size);
}

__attribute__((visibility("default"))) int sites_storm_copy(void);

static int (*copy)(void *to, const void *from, size_t size_bytes, int kind);
static void *device;
static const char *library_path;
static _Atomic int failures, copies;

/* Called by the library's constructor too. */
int sites_storm_copy(void)
{
	char host[64] = {0};

	copies++;
	return copy(device, host, sizeof(host), 1);
}

static int copy_deep(int depth)
{
	volatile char space[48];
	int below;

	space[0] = (char)depth;
	below = depth > 0 ? copy_deep(depth - 1) : sites_storm_copy();
	return below + (space[0] != (char)depth);
}

static void *open_and_close(void *unused)
{
	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		void *library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);

		if (!library)
			failures++;
		else
			dlclose(library);
		failures += copy_deep(round % 20) != 0;
	}
	return NULL;
}

/* A child that makes calls of its own and one that makes none. */
static void fork_once(int round)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		alarm(20);
		if (round % 2)
			sites_storm_copy(); /* may fail in a child, but must return */
		_exit(0);
	}
	waitpid(child, &status, 0);
	failures += status != 0;
}

int main(int argc, char **argv)
{
	void *runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_GLOBAL);
	int (*allocate)(void **, size_t) =
		(int (*)(void **, size_t))(uintptr_t)dlsym(runtime, "cudaMalloc");
	pthread_t threads[THREADS];
	uint64_t before;

	copy = (int (*)(void *, const void *, size_t, int))(uintptr_t)dlsym(runtime, "cudaMemcpy");
	if (argc != 2 || !allocate || !copy || allocate(&device, 4096) != 0)
		return 2;
	library_path = argv[1];
	alarm(60); /* a hang is a failure */
	for (int depth = 0; depth < 10; depth++)
		copy_deep(depth);
	before = heap_calls;
	for (int depth = 0; depth < 200; depth++)
		failures += copy_deep(depth % 50) != 0;
	printf("heap %llu\n", (unsigned long long)(heap_calls - before));
	fflush(stdout);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, open_and_close, NULL);
	for (int round = 0; round < FORKS; round++)
		fork_once(round);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("failures %d\n", failures);
	return failures ? 1 : 0;
}
