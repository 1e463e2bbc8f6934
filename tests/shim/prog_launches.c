/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches kernels of the simulated driver at a steady rate and prints, as key=value lines, how
 * many, the longest launch in CPU time of the launching thread, how long launches took by the wall
 * clock, how long they were blocked (neither on a CPU nor waiting for one: in a lock, in a system
 * call), and this process's memory over time. usage: prog_launches RATE_PER_S SECONDS [REST_S]
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

/* How long this thread has been ready and without a CPU, which is the machine's matter; 0: the
 * kernel does not tell. */
static uint64_t waited_for_cpu_ns(void)
{
	static int file = -2;
	char text[96] = "";
	unsigned long long ran_ns, waited_ns = 0;

	if (file == -2)
		file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (file < 0 || pread(file, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%llu %llu", &ran_ns, &waited_ns) != 2)
		return 0;
	return waited_ns;
}

static uint64_t longest_ns, over_1ms, wall_longest_ns, wall_over_1ms;
static uint64_t blocked_longest_ns, blocked_over_1ms;

/* Launches by wall time: 16 classes for every doubling. */
enum { CLASSES = 16 * 40 };
static uint64_t by_wall[CLASSES];

static unsigned int class_of(uint64_t ns)
{
	unsigned int doubling = 0;
	for (; ns >= 32; ns >>= 1)
		doubling++;
	unsigned int class = doubling * 16 + (unsigned int)ns;
	return class < CLASSES ? class : CLASSES - 1;
}

/* Upper end of a class: class_of() keeps the five highest bits of a time. */
static double class_end_us(unsigned int class)
{
	unsigned int doubling = class < 32 ? 0 : class / 16 - 1;
	return (double)((uint64_t)(class - doubling * 16 + 1) << doubling) / 1e3;
}

static double percentile_us(uint64_t launches, double share)
{
	uint64_t wanted = (uint64_t)((double)launches * share), seen = 0;
	for (unsigned int i = 0; i < CLASSES; i++) {
		seen += by_wall[i];
		if (seen > wanted)
			return class_end_us(i);
	}
	return (double)wall_longest_ns / 1e3;
}

/* Who waits for a CPU in the launches before this one, since the count was last read, makes this
 * one look less blocked: it is read every few launches. */
static void note_wall(uint64_t wall_ns, uint64_t cpu_ns, uint64_t *waited_ns)
{
	uint64_t waited_before_ns = *waited_ns, blocked_ns;

	wall_longest_ns = wall_ns > wall_longest_ns ? wall_ns : wall_longest_ns;
	by_wall[class_of(wall_ns)]++;
	if (wall_ns < 200000)
		return;
	*waited_ns = waited_for_cpu_ns();
	blocked_ns = cpu_ns + *waited_ns - waited_before_ns;
	blocked_ns = wall_ns > blocked_ns ? wall_ns - blocked_ns : 0;
	wall_over_1ms += wall_ns > 1000000;
	blocked_longest_ns = blocked_ns > blocked_longest_ns ? blocked_ns : blocked_longest_ns;
	blocked_over_1ms += blocked_ns > 1000000;
}

static void launch(CUfunction function, CUstream stream)
{
	static uint64_t waited_ns, launches;
	if (launches++ % 16 == 0)
		waited_ns = waited_for_cpu_ns();
	uint64_t before_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
	uint64_t wall_ns = clock_of(CLOCK_MONOTONIC);
	int status = (int)cuLaunchKernel(function, 64, 1, 1, 128, 1, 1, 0, stream, NULL, NULL);
	wall_ns = clock_of(CLOCK_MONOTONIC) - wall_ns;
	uint64_t took_ns = clock_of(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	if (status) {
		printf("failed=%d\n", status);
		exit(1);
	}
	longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
	over_1ms += took_ns > 1000000;
	note_wall(wall_ns, took_ns, &waited_ns);
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
	printf("launched=%llu longest_us=%.1f over_1ms=%llu wall_p50_us=%.2f wall_p999_us=%.1f "
	       "wall_p9999_us=%.1f wall_longest_us=%.1f wall_over_1ms=%llu blocked_over_1ms=%llu "
	       "blocked_longest_us=%.1f\n",
	       (unsigned long long)launched, (double)longest_ns / 1e3, (unsigned long long)over_1ms,
	       percentile_us(launched, 0.5), percentile_us(launched, 0.999),
	       percentile_us(launched, 0.9999), (double)wall_longest_ns / 1e3,
	       (unsigned long long)wall_over_1ms, (unsigned long long)blocked_over_1ms,
	       (double)blocked_longest_ns / 1e3);
	return 0;
}
