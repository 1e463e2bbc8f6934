/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_call [THREADS | malloc | graph]: nanoseconds per clock read, per copy and per wait of a
 * runtime that does nothing (or per malloc() and free(); or per cudaGraphLaunch() and per copy into
 * an open capture), measured in the process itself. run.sh runs it
 * with and without the shim and other tracers and compares. Calls come in bursts with pauses, as in
 * a real program, so that consumers keep up.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

#define ROUNDS	    61
#define CALLS	    20000
#define MAX_THREADS 8
#define LIVE_BLOCKS 1024

int cudaMalloc(void **pointer, size_t size);
int cudaMemcpyAsync(void *dst, const void *src, size_t count, int kind, void *stream);
int cudaSetDevice(int device);
int cudaStreamSynchronize(void *stream);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);
int cudaGraphInstantiate(void **executable, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *executable, void *stream);

/* One thread's figures, a number per round. */
struct lane {
	double clock_ns[ROUNDS], first_ns[ROUNDS], second_ns[ROUNDS];
	void *device, *host;
	uint64_t sink;
};

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void pause_ms(long ms)
{
	struct timespec pause = {0, ms * 1000000};
	nanosleep(&pause, NULL);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Median of the lower half: the machine is shared. */
static double typical(double *ns)
{
	qsort(ns, ROUNDS, sizeof(double), ascending);
	return ns[ROUNDS / 4];
}

static void *measure_calls(void *context)
{
	struct lane *lane = context;
	volatile uint64_t sink = 0;

	cudaSetDevice(0); /* there is no driver to ask */
	for (int round = 0; round < ROUNDS; round++) {
		double begin;

		pause_ms(5);
		begin = now_ns();
		for (int i = 0; i < CALLS; i++)
			sink = sink + READ_CLOCK();
		lane->clock_ns[round] = (now_ns() - begin) / CALLS;
		begin = now_ns();
		for (int i = 0; i < CALLS; i++)
			cudaMemcpyAsync(lane->device, lane->host, 64, 1, NULL);
		lane->first_ns[round] = (now_ns() - begin) / CALLS;
		pause_ms(5);
		begin = now_ns();
		for (int i = 0; i < CALLS; i++)
			cudaStreamSynchronize(NULL);
		lane->second_ns[round] = (now_ns() - begin) / CALLS;
	}
	lane->sink = sink;
	return NULL;
}

/* Blocks of 16 to 1039 bytes, 1024 of them alive: what a tracer of allocations is made for. Both
 * figures are per event, a malloc() or a free(). */
static void measure_malloc(struct lane *lane)
{
	static void *volatile blocks[LIVE_BLOCKS];
	uint32_t random = 1;

	for (int round = 0; round < ROUNDS; round++) {
		double begin = now_ns();

		for (int i = 0; i < CALLS; i++) {
			random = random * 1664525u + 1013904223u;
			free(blocks[i % LIVE_BLOCKS]);
			blocks[i % LIVE_BLOCKS] = malloc(16 + (random >> 22));
		}
		lane->first_ns[round] = (now_ns() - begin) / (2 * CALLS);
		lane->clock_ns[round] = lane->second_ns[round] = 0;
		pause_ms(5);
	}
}

/* A graph is captured and launched anew in every round. */
static void measure_graphs(struct lane *lane)
{
	void *graph = NULL, *executable = NULL;
	static char stream[8];

	cudaSetDevice(0);
	for (int round = 0; round < ROUNDS; round++) {
		double begin;

		pause_ms(5);
		cudaStreamBeginCapture(stream, 0);
		begin = now_ns();
		for (int i = 0; i < CALLS; i++)
			cudaMemcpyAsync(lane->device, lane->host, 64, 1, stream);
		lane->second_ns[round] = (now_ns() - begin) / CALLS;
		cudaStreamEndCapture(stream, &graph);
		cudaGraphInstantiate(&executable, graph, 0);
		pause_ms(5);
		begin = now_ns();
		for (int i = 0; i < CALLS; i++)
			cudaGraphLaunch(executable, stream);
		lane->first_ns[round] = (now_ns() - begin) / CALLS;
		lane->clock_ns[round] = 0;
	}
}

int main(int argc, char **argv)
{
	static struct lane lanes[MAX_THREADS];
	double clock_ns = 0, first_ns = 0, second_ns = 0;
	pthread_t threads[MAX_THREADS];
	int count = argc > 1 ? atoi(argv[1]) : 1;

	if (argc > 1 && strcmp(argv[1], "malloc") == 0) {
		measure_malloc(&lanes[0]);
		count = 1;
	} else if (argc > 1 && strcmp(argv[1], "graph") == 0) {
		cudaMalloc(&lanes[0].device, 64);
		lanes[0].host = malloc(64);
		measure_graphs(&lanes[0]);
		count = 1;
	} else if (count < 1 || count > MAX_THREADS) {
		fputs("usage: bench_call [THREADS | malloc | graph], 1 to 8 threads\n", stderr);
		return 2;
	} else {
		for (int i = 0; i < count; i++) {
			cudaMalloc(&lanes[i].device, 64);
			lanes[i].host = malloc(64);
		}
		for (int i = 1; i < count; i++) {
			if (pthread_create(&threads[i], NULL, measure_calls, &lanes[i]) != 0)
				return 1;
		}
		measure_calls(&lanes[0]);
		for (int i = 1; i < count; i++)
			pthread_join(threads[i], NULL);
	}
	for (int i = 0; i < count; i++) {
		clock_ns += typical(lanes[i].clock_ns) / count;
		first_ns += typical(lanes[i].first_ns) / count;
		second_ns += typical(lanes[i].second_ns) / count;
		free(lanes[i].host);
	}
	printf("%.2f %.2f %.2f\n", clock_ns, first_ns, second_ns);
	return 0;
}
