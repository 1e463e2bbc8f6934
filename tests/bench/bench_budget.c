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
void budget_copies(void *device, int count);
void budget_waits(int count);

__attribute__((noinline)) void budget_copies(void *device, int count)
{
	char host[64] = {0};

	for (int i = 0; i < count; i++)
		cudaMemcpyAsync(device, host, sizeof(host), 1, NULL);
}

__attribute__((noinline)) void budget_waits(int count)
{
	for (int i = 0; i < count; i++)
		cudaStreamSynchronize(NULL);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;
	void (*volatile copies)(void *, int) = budget_copies;
	void (*volatile waits)(int) = budget_waits;
	void *device;

	cudaMalloc(&device, 64);
	cudaSetDevice(0);
	copies(device, count);
	waits(count);
	if (argc > 2) {
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		printf("%lld%09ld\n", (long long)now.tv_sec, now.tv_nsec);
	}
	return 0;
}
