/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child writes into shared memory under a sequence number that is odd while it writes. It ends
 * with its parent, whatever way that ends.
 */
#define _GNU_SOURCE
#include "nvml_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define PERIOD_S	   1
#define HIGHEST_DESCRIPTOR 1024

struct nvml_shared {
	_Atomic uint64_t sequence; /* odd: being written */
	struct nvml_state state;
};

static uint64_t own_cpu_us(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) < 0)
		return 0;
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void publish(struct nvml_shared *shared, const struct nvml_state *state)
{
	uint64_t sequence = atomic_load_explicit(&shared->sequence, memory_order_relaxed);

	atomic_store_explicit(&shared->sequence, sequence + 1, memory_order_relaxed);
	/* Pairs with the fence in nvml_watch_take(): whoever reads new bytes sees the odd number.
	 */
	atomic_thread_fence(memory_order_release);
	memcpy(&shared->state, state, sizeof(*state));
	atomic_store_explicit(&shared->sequence, sequence + 2, memory_order_release);
}

static void child_main(struct nvml_shared *shared, const char *library, uint32_t watched_pid)
{
	static struct nvml_state state;
	struct nvml *nvml = nvml_open(library, watched_pid, &state);

	while (nvml) {
		const struct timespec pause = {PERIOD_S, 0};

		nvml_read(nvml, &state);
		state.cpu_us = own_cpu_us();
		publish(shared, &state);
		nanosleep(&pause, NULL);
	}
	if (!state.reason[0])
		memcpy(state.reason, "NVML ended", sizeof("NVML ended"));
	publish(shared, &state);
}

/* The owner's files and locks must not outlive it in a child that hangs. */
static void close_descriptors(void)
{
	if (syscall(SYS_close_range, 3, ~0u, 0) == 0)
		return;
	for (int fd = 3; fd < HIGHEST_DESCRIPTOR; fd++)
		close(fd);
}

bool nvml_watch_start(struct nvml_watch *watch, const char *library, uint32_t watched_pid,
		      const char **reason)
{
	pid_t parent = getpid();
	struct nvml_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	memset(watch, 0, sizeof(*watch));
	if (shared == MAP_FAILED) {
		*reason = "no memory for NVML's answers";
		return false;
	}
	watch->child = fork();
	if (watch->child < 0) {
		munmap(shared, sizeof(*shared));
		watch->child = 0;
		*reason = "no process for NVML could be started";
		return false;
	}
	if (watch->child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close_descriptors();
		if (getppid() == parent)
			child_main(shared, library, watched_pid);
		_exit(0);
	}
	watch->shared = shared;
	return true;
}

bool nvml_watch_take(struct nvml_watch *watch, struct nvml_state *state)
{
	struct nvml_shared *shared = watch->shared;
	uint64_t before;

	if (!shared)
		return false;
	/* Pairs with the release store in publish(). */
	before = atomic_load_explicit(&shared->sequence, memory_order_acquire);
	if (before == watch->seen || before & 1)
		return false;
	memcpy(state, &shared->state, sizeof(*state));
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&shared->sequence, memory_order_relaxed) != before)
		return false;
	watch->seen = before;
	/* The child runs a foreign library: its texts need not end. */
	state->reason[sizeof(state->reason) - 1] = '\0';
	state->driver[sizeof(state->driver) - 1] = '\0';
	state->version[sizeof(state->version) - 1] = '\0';
	if (state->gpu_count > NVML_MAX_GPUS)
		state->gpu_count = NVML_MAX_GPUS;
	for (uint32_t i = 0; i < state->gpu_count; i++) {
		struct nvml_gpu *gpu = &state->gpus[i];

		gpu->address[sizeof(gpu->address) - 1] = '\0';
		gpu->name[sizeof(gpu->name) - 1] = '\0';
		gpu->uuid[sizeof(gpu->uuid) - 1] = '\0';
		if (gpu->process_count > NVML_MAX_PROCESSES)
			gpu->process_count = NVML_MAX_PROCESSES;
	}
	return true;
}

bool nvml_watch_is_alive(struct nvml_watch *watch)
{
	if (watch->child > 0 && waitpid(watch->child, NULL, WNOHANG) != 0)
		watch->child = 0;
	return watch->child > 0;
}

void nvml_watch_stop(struct nvml_watch *watch)
{
	if (watch->child > 0) {
		kill(watch->child, SIGKILL);
		/* A child inside a driver call that hangs cannot die now; init will reap it. */
		for (int tries = 0; tries < 20 && nvml_watch_is_alive(watch); tries++) {
			const struct timespec pause = {0, 1000000};

			nanosleep(&pause, NULL);
		}
	}
	if (watch->shared)
		munmap(watch->shared, sizeof(*watch->shared));
	memset(watch, 0, sizeof(*watch));
}
