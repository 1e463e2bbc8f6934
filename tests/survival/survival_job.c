/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job to be killed, starved and stopped: it makes memsets that can be told apart, so that a trace
 * can be held against what really happened, and it keeps count in a mapped file
 *(survival_ledger.h).
 *
 *	survival_job LEDGER [--threads N] [--calls N] [--pace NS] [--rounds N] [--forks N]
 *		[--fsize BYTES] [--oom] [--subreaper]
 *
 * Call number i of a thread sets 1 + i / 4096 bytes at offset i % 4096 of the thread's buffer.
 * --calls 0 goes on until it is killed. --rounds N starts all threads N times over, one batch after
 * the other. --forks N forks N children meanwhile, which use no GPU. --fsize limits what
 * can be written from then on. --oom ends in an allocation that
 * fails and, 5 ms later, abort(). The last line says how many calls gave which results.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "survival_ledger.h"

#define WINDOW	     4096u
#define STACK_BYTES  (64u * 1024)
#define OOM_PAUSE_NS 5000000
#define HUGE_BYTES   ((size_t)1 << 46)

static struct {
	unsigned long threads, calls, pace_ns, rounds, forks, file_bytes;
	int oom, subreaper;
} options = {.threads = 1, .calls = 1000, .rounds = 1};

static struct ledger *ledger;
static _Atomic uint64_t failures, changed_errno;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void note_moment(struct ledger_thread *thread, uint64_t when_ns, uint64_t calls)
{
	uint64_t at = atomic_load_explicit(&thread->moments, memory_order_relaxed);
	thread->moment[at % LEDGER_MOMENTS] = (struct ledger_moment){when_ns, calls};
	atomic_store_explicit(&thread->moments, at + 1, memory_order_release);
}

static void pause_until(uint64_t until_ns)
{
	while (now_ns() < until_ns) {
		uint64_t left_ns = until_ns - now_ns();
		struct timespec pause = {0, (long)left_ns};
		/* A sleep takes at least 50 us: shorter pauses are spun. */
		if (left_ns > 100000 && left_ns < 1000000000u)
			nanosleep(&pause, NULL);
	}
}

static void make_calls(struct ledger_thread *own, char *buffer, unsigned long calls)
{
	uint64_t next_moment_ns = 0;

	for (uint64_t i = 0; calls == 0 || i < calls; i++) {
		uint64_t begin_ns = now_ns();
		errno = 1234;
		if (cudaMemset(buffer + i % WINDOW, (int)i, 1 + i / WINDOW) != cudaSuccess)
			atomic_fetch_add(&failures, 1);
		if (errno != 1234)
			atomic_fetch_add(&changed_errno, 1);
		uint64_t end_ns = now_ns();
		if (!own) {
			atomic_fetch_add(&ledger->total_calls, 1);
			continue;
		}
		atomic_store_explicit(&own->calls, i + 1, memory_order_release);
		if (end_ns - begin_ns >
		    atomic_load_explicit(&own->longest_ns, memory_order_relaxed))
			atomic_store_explicit(&own->longest_ns, end_ns - begin_ns,
					      memory_order_relaxed);
		if (end_ns >= next_moment_ns) {
			note_moment(own, end_ns, i + 1);
			next_moment_ns = end_ns + MOMENT_NS;
		}
		if (options.pace_ns)
			pause_until(begin_ns + options.pace_ns);
	}
	if (own)
		note_moment(own, now_ns(), calls);
}

static void *run_thread(void *argument)
{
	uintptr_t number = (uintptr_t)argument;
	struct ledger_thread *own = options.rounds == 1 ? &ledger->thread[number] : NULL;
	void *buffer = NULL;

	if (cudaMalloc(&buffer, (size_t)64 * WINDOW) != cudaSuccess) {
		atomic_fetch_add(&failures, 1);
		return NULL;
	}
	if (own)
		own->buffer = (uint64_t)(uintptr_t)buffer;
	atomic_store(&ledger->process_id, (uint64_t)getpid());
	make_calls(own, buffer, options.calls);
	if (cudaFree(buffer) != cudaSuccess)
		atomic_fetch_add(&failures, 1);
	return NULL;
}

/* Children that use no GPU: they leave nothing and take nothing with them. */
static unsigned long fork_children(void)
{
	unsigned long reaped = 0;
	int status;

	for (unsigned long i = 0; i < options.forks; i++) {
		pid_t child = fork();
		if (child == 0)
			_exit(7);
		if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
		    WEXITSTATUS(status) == 7)
			reaped++;
	}
	return reaped;
}

static int start_thread(pthread_t *thread, unsigned long number)
{
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	int rc = pthread_create(thread, &attributes, run_thread, (void *)(uintptr_t)number);
	pthread_attr_destroy(&attributes);
	return rc;
}

static void run_round(void)
{
	static pthread_t threads[LEDGER_THREADS];
	unsigned long started = 0;

	while (started < options.threads && !start_thread(&threads[started], started))
		started++;
	if (started < options.threads)
		printf("only %lu threads could be started\n", started);
	for (unsigned long i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

static void run_out_of_memory(void)
{
	struct timespec pause = {0, OOM_PAUSE_NS};
	void *huge;
	int status = (int)cudaMalloc(&huge, HUGE_BYTES);

	atomic_store(&ledger->failed_ns, now_ns());
	printf("cudaMalloc = %d\n", status);
	fflush(stdout);
	nanosleep(&pause, NULL);
	abort();
}

static int parse(int argc, char **argv)
{
	const struct {
		const char *name;
		unsigned long *value;
	} numbers[] = {{"--threads", &options.threads}, {"--calls", &options.calls},
		       {"--pace", &options.pace_ns},	{"--rounds", &options.rounds},
		       {"--forks", &options.forks},	{"--fsize", &options.file_bytes}};

	for (int i = 2; i < argc; i++) {
		size_t match = 0;
		if (!strcmp(argv[i], "--oom")) {
			options.oom = 1;
			continue;
		}
		if (!strcmp(argv[i], "--subreaper")) {
			options.subreaper = 1;
			continue;
		}
		while (match < sizeof(numbers) / sizeof(numbers[0]) &&
		       strcmp(argv[i], numbers[match].name) != 0)
			match++;
		if (match == sizeof(numbers) / sizeof(numbers[0]) || i + 1 == argc)
			return -1;
		*numbers[match].value = strtoul(argv[++i], NULL, 10);
	}
	return argc < 2 || options.threads > LEDGER_THREADS ? -1 : 0;
}

static int open_ledger(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*ledger)))
		return -1;
	ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (ledger == MAP_FAILED)
		return -1;
	ledger->magic = LEDGER_MAGIC;
	return 0;
}

int main(int argc, char **argv)
{
	if (parse(argc, argv)) {
		fprintf(stderr, "usage: see the head of survival_job.c\n");
		return 2;
	}
	if (open_ledger(argv[1])) {
		perror(argv[1]);
		return 2;
	}
	if (options.file_bytes) {
		const struct rlimit limit = {options.file_bytes, options.file_bytes};
		setrlimit(RLIMIT_FSIZE, &limit);
	}
	if (options.subreaper)
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	for (unsigned long i = 0; i < options.rounds; i++)
		run_round();
	if (options.forks)
		printf("children reaped: %lu\n", fork_children());
	if (options.subreaper)
		printf("waitpid(-1) = %d\n", (int)waitpid(-1, NULL, WNOHANG));
	printf("failures %llu, errno changed %llu\n", (unsigned long long)failures,
	       (unsigned long long)changed_errno);
	fflush(stdout);
	if (options.oom)
		run_out_of_memory();
	return 3;
}
