/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nanoseconds per call of wrapped functions of a runtime that does nothing, and per clock read, in
 * one process: run.sh runs it with and without the shim and compares. Calls come in bursts with
 * pauses, as in a real program, so that the collector keeps up and no record is dropped.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#define READ_CLOCK() __rdtsc()
#else
static inline uint64_t read_counter(void)
{
	uint64_t value;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
}
#define READ_CLOCK() read_counter()
#endif

#define ROUNDS 61
#define CALLS  20000

int cudaMalloc(void **pointer, size_t size);
int cudaMemcpyAsync(void *dst, const void *src, size_t count, int kind, void *stream);
int cudaSetDevice(int device);
int cudaStreamSynchronize(void *stream);

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(void)
{
	static double copy_ns[ROUNDS], sync_ns[ROUNDS], clock_ns[ROUNDS];
	volatile uint64_t sink = 0;
	void *device, *host = malloc(64);

	cudaMalloc(&device, 64);
	cudaSetDevice(0); /* there is no driver to ask */
	for (int round = 0; round < ROUNDS; round++) {
		struct timespec pause = {0, 5000000};
		nanosleep(&pause, NULL);
		double begin = now_ns();
		for (int i = 0; i < CALLS; i++)
			sink = sink + READ_CLOCK();
		clock_ns[round] = (now_ns() - begin) / CALLS;
		begin = now_ns();
		for (int i = 0; i < CALLS; i++)
			cudaMemcpyAsync(device, host, 64, 1, NULL);
		copy_ns[round] = (now_ns() - begin) / CALLS;
		nanosleep(&pause, NULL);
		begin = now_ns();
		for (int i = 0; i < CALLS; i++)
			cudaStreamSynchronize(NULL);
		sync_ns[round] = (now_ns() - begin) / CALLS;
	}
	qsort(copy_ns, ROUNDS, sizeof(double), ascending);
	qsort(sync_ns, ROUNDS, sizeof(double), ascending);
	qsort(clock_ns, ROUNDS, sizeof(double), ascending);
	/* Median of the lower half: the machine is shared. */
	printf("%.2f %.2f %.2f\n", clock_ns[ROUNDS / 4], copy_ns[ROUNDS / 4], sync_ns[ROUNDS / 4]);
	free(host);
	return sink == 0;
}
