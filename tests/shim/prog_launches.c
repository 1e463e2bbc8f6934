/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches kernels of the simulated driver at a steady rate and prints, as key=value lines, how
 * many, the longest launch in CPU time of the launching thread, and this process's memory over
 * time. usage: prog_launches RATE_PER_S SECONDS [REST_S]
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda.h>

#include "../simcuda/simcuda.h"

static uint64_t clock_of(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static unsigned long resident_kib(void)
{
	char line[256];
	unsigned long kib = 0;
	FILE *file = fopen("/proc/self/status", "r");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmRSS: %lu kB", &kib);
	if (file)
		fclose(file);
	return kib;
}

static uint64_t longest_ns, over_1ms;

static void launch(CUfunction function, CUstream stream)
{
	uint64_t before_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
	int status = (int)cuLaunchKernel(function, 64, 1, 1, 128, 1, 1, 0, stream, NULL, NULL);
	uint64_t took_ns = clock_of(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	if (status) {
		printf("failed=%d\n", status);
		exit(1);
	}
	longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
	over_1ms += took_ns > 1000000;
}

int main(int argc, char **argv)
{
	uint64_t rate = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	struct simcuda_cost cost = {.fixed_ns = 2000};
	uint64_t launched = 0, second = 0;
	CUcontext context;
	CUdevice device;
	CUstream stream;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
	    cuCtxSetCurrent(context) || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
		return 1;
	CUfunction function = simcuda_library_kernel("soak_kernel", &cost);
	uint64_t begin_ns = clock_of(CLOCK_MONOTONIC);
	while (second < seconds) {
		uint64_t now_ns = clock_of(CLOCK_MONOTONIC) - begin_ns;
		uint64_t due = now_ns / 1000 * rate / 1000000;
		/* Behind by more than 50 ms: the machine is too slow for the rate, which shows. */
		uint64_t most = launched + rate / 20 + 1;
		while (launched < due && launched < most) {
			launch(function, stream);
			launched++;
		}
		if (now_ns / 1000000000u > second) {
			second = now_ns / 1000000000u;
			printf("second=%llu launched=%llu resident_kib=%lu\n",
			       (unsigned long long)second, (unsigned long long)launched,
			       resident_kib());
		}
		struct timespec pause = {0, 500000};
		nanosleep(&pause, NULL);
	}
	cuCtxSynchronize();
	struct timespec rest = {argc > 3 ? atol(argv[3]) : 0, 0};
	nanosleep(&rest, NULL);
	printf("launched=%llu longest_us=%.1f over_1ms=%llu\n", (unsigned long long)launched,
	       (double)longest_ns / 1e3, (unsigned long long)over_1ms);
	return 0;
}
