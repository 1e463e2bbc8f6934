/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_budget CALLS [when]: calls wrapped functions so many times, for callgrind to count
 * instructions. Each function below is one figure. check_budget.sh runs it twice and divides the
 * difference, so that what only first calls cost (a ring, an unwound stack) is not in it. With
 * "when" it prints CLOCK_REALTIME in ns at its end, for run.sh to see how long the file takes from
 * there.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int cudaMalloc(void **pointer, size_t size);
int cudaMemcpyAsync(void *dst, const void *src, size_t count, int kind, void *stream);
int cudaSetDevice(int device);
int cudaStreamSynchronize(void *stream);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);
int cudaGraphInstantiate(void **executable, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *executable, void *stream);
void budget_copies(void *device, void *stream, int count);
void budget_captured(void *device, void *stream, int count);
void budget_launches(void *executable, void *stream, int count);
void budget_waits(int count);

static void copy(void *device, void *stream, int count)
{
	char host[64] = {0};

	for (int i = 0; i < count; i++)
		cudaMemcpyAsync(device, host, sizeof(host), 1, stream);
}

__attribute__((noinline)) void budget_copies(void *device, void *stream, int count)
{
	copy(device, stream, count);
}

/* The same calls, into a graph. */
__attribute__((noinline)) void budget_captured(void *device, void *stream, int count)
{
	copy(device, stream, count);
}

__attribute__((noinline)) void budget_launches(void *executable, void *stream, int count)
{
	for (int i = 0; i < count; i++)
		cudaGraphLaunch(executable, stream);
}

__attribute__((noinline)) void budget_waits(int count)
{
	for (int i = 0; i < count; i++)
		cudaStreamSynchronize(NULL);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;
	void (*volatile copies)(void *, void *, int) = budget_copies;
	void (*volatile captured)(void *, void *, int) = budget_captured;
	void (*volatile launches)(void *, void *, int) = budget_launches;
	void (*volatile waits)(int) = budget_waits;
	void *device, *graph = NULL, *executable = NULL;
	static char stream[8];

	cudaMalloc(&device, 64);
	cudaSetDevice(0);
	copies(device, NULL, count);
	waits(count);
	cudaStreamBeginCapture(stream, 0);
	captured(device, stream, count);
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&executable, graph, 0);
	launches(executable, stream, count);
	if (argc > 2) {
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		printf("%lld%09ld\n", (long long)now.tv_sec, now.tv_nsec);
	}
	return 0;
}
