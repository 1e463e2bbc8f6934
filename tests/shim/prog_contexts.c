/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that make and destroy contexts, streams and memory, with work in between, while a tool
 * flushes: for a run under sanitizers. Prints one line; the exit code is not 0 when a call failed.
 * usage: prog_contexts THREADS ROUNDS
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

static _Atomic unsigned long failed, done;
static int rounds;

static void check(int status)
{
	if (status)
		atomic_fetch_add(&failed, 1);
}

static void *work(void *unused)
{
	(void)unused;
	for (int i = 0; i < rounds; i++) {
		CUctxCreateParams *none = NULL;
		char host[4096] = {0};
		CUdeviceptr memory = 0;
		CUcontext context;
		CUstream stream;

		check((int)cuCtxCreate_v4(&context, none, 0, 0));
		check((int)cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		check((int)cuMemAlloc(&memory, sizeof(host)));
		for (int copy = 0; copy < 20; copy++)
			check((int)cuMemcpyHtoDAsync(memory, host, sizeof(host), stream));
		check((int)cuStreamSynchronize(stream));
		check((int)cuMemFree(memory));
		check((int)cuStreamDestroy(stream));
		check((int)cuCtxDestroy(context));
		atomic_fetch_add(&done, 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[16];
	int count = argc > 1 ? atoi(argv[1]) : 4;

	rounds = argc > 2 ? atoi(argv[2]) : 100;
	if (count < 1 || count > 16 || cuInit(0))
		return 1;
	for (int i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("rounds=%lu failed=%lu\n", atomic_load(&done), atomic_load(&failed));
	return atomic_load(&failed) != 0;
}
