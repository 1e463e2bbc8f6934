/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_collector COLLECTOR [SECONDS [RINGS [RATE]]]: one producer writes launch records at a fixed
 * rate into a ring of 4 MiB, or in turn into several, as so many threads would; prints records lost
 * and CPU time of the collector program for several rates, or for that one.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record.h"
#include "session_fixture.h"

#define RING_BYTES (4u << 20)
#define BURST	   100u /* records between two looks at the clock */
#define RINGS_MOST 64u

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t produce(struct session_ring *rings, uint32_t ring_count, double rate,
			double seconds, uint64_t *lost)
{
	struct record_launch launch = {
		.call = {.head = {.kind = RECORD_KIND_launch, .size_bytes = sizeof(launch)}},
		.stream = 0x5500,
		.grid = {108, 1, 1},
		.block = {256, 1, 1},
	};
	double begin = now_s();
	uint64_t count = 0;

	while ((double)count < rate * seconds) {
		double due = begin + (double)count / rate;
		struct session_ring *ring = &rings[count / BURST % ring_count];

		while (now_s() < due)
			;
		for (uint32_t i = 0; i < BURST; i++, count++) {
			launch.call.begin_ticks += 400 + (count * 2654435761u >> 8) % 200;
			launch.call.end_ticks = launch.call.begin_ticks + 200 + count * 40503u % 64;
			launch.call.call_id++;
			launch.call.correlation++;
			launch.call.site = 1 + count % 700;
			launch.kernel = 0x1000 + count % 60;
			if (!session_ring_put(ring, &launch)) {
				session_ring_drop(ring, RECORD_KIND_launch);
				(*lost)++;
			}
		}
	}
	return count;
}

static void run(const char *program, uint32_t ring_count, double rate, double seconds)
{
	const char *dir = session_make_dir();
	struct session_fixture session;
	static struct session_ring rings[RINGS_MOST];
	struct rusage usage;
	uint64_t lost = 0, count;
	double cpu_s;
	pid_t collector;

	session_fixture_init(&session, ring_count, RING_BYTES);
	collector = session_start_collector(&session, program, getpid(), dir, "bench");
	if (!session_wait_state(&session, RING_COLLECTOR_READY)) {
		fprintf(stderr, "bench_collector: %s does not answer\n", program);
		exit(1);
	}
	for (uint32_t i = 0; i < ring_count; i++) {
		session_ring_claim(&session, &rings[i], i, (uint32_t)getpid() + i, 1);
		/* The pages are there, as the shim makes sure. */
		memset(rings[i].data, 0, RING_BYTES);
	}
	count = produce(rings, ring_count, rate, seconds, &lost);
	atomic_store(&session.control->session_ended, 1);
	session_wait_state(&session, RING_COLLECTOR_DONE);
	wait4(collector, NULL, 0, &usage);
	cpu_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6 +
		(double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec * 1e-6;
	printf("%6.2f M records/s: %8llu of %9llu lost, collector %5.1f %% of a core, %5.0f "
	       "ns/record\n",
	       rate * 1e-6, (unsigned long long)lost, (unsigned long long)count,
	       100 * cpu_s / seconds, cpu_s / (double)count * 1e9);
	session_remove_dir(dir);
	session_fixture_fini(&session);
}

int main(int argc, char **argv)
{
	static const double rates[] = {0.1e6, 0.5e6, 1e6, 2e6, 4e6, 6e6, 8e6};
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 3;
	uint32_t ring_count = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1;

	if (argc < 2 || ring_count == 0 || ring_count > RINGS_MOST) {
		fputs("usage: bench_collector COLLECTOR [SECONDS [RINGS [RATE]]]\n", stderr);
		return 2;
	}
	if (argc > 4) {
		run(argv[1], ring_count, strtod(argv[4], NULL), seconds);
		return 0;
	}
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		run(argv[1], ring_count, rates[i], seconds);
	return 0;
}
