/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes on one simulated machine share: a mapped file DIR/state. Each process has a
 * slot with its memory per GPU; each GPU says until when it works, each port which copies go
 * through it. The driver writes it, NVML reads it.
 */
#ifndef GPUTRACE_SIM_SHARED_H
#define GPUTRACE_SIM_SHARED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim_machine.h"

enum { SIM_SHARED_PROCESSES = 64, SIM_SHARED_COPIES = 64 };

/* A copy through a port; `gpu` is an index of the description. Times are the driver's clock. */
struct sim_shared_copy {
	uint64_t begin_ns, end_ns, bytes;
	int gpu;
};

/* The newest copies in one direction, oldest overwritten first. */
struct sim_shared_lane {
	struct sim_shared_copy copies[SIM_SHARED_COPIES];
	uint32_t next;
};

struct sim_shared_process {
	_Atomic int pid;
	_Atomic uint64_t started; /* of the process, as /proc says: tells a reused pid */
	_Atomic uint64_t memory_bytes[SIM_MACHINE_GPUS_MAX];
	_Atomic uint32_t contexts[SIM_MACHINE_GPUS_MAX];
};

struct sim_shared_gpu {
	_Atomic uint64_t woke_ns;	  /* when it began to work after its last idle time */
	_Atomic uint64_t busy_until_ns;	  /* end of the last work that is known */
	_Atomic uint64_t kernel_ns;	  /* sums since the machine was made */
	_Atomic uint64_t copied_bytes[2]; /* to the device, from it */
	_Atomic int shown_generation;	  /* what its file in the tree says now */
};

struct sim_shared {
	uint32_t magic, size;
	pthread_mutex_t lock; /* of the lanes; robust, since its holder may be killed */
	struct sim_shared_gpu gpus[SIM_MACHINE_GPUS_MAX];
	struct sim_shared_process processes[SIM_SHARED_PROCESSES];
	struct sim_shared_lane lanes[SIM_MACHINE_PORTS_MAX][2];
};

/* Maps the state of the machine in `folder`, making it when this is the first process. NULL when
 * that cannot be. */
struct sim_shared *sim_shared_open(const char *folder);
void sim_shared_close(struct sim_shared *shared);
void sim_shared_lock(struct sim_shared *shared);
void sim_shared_unlock(struct sim_shared *shared);
/* This process's slot, taken at its first use; NULL when all are taken. */
struct sim_shared_process *sim_shared_self(struct sim_shared *shared);
bool sim_shared_is_alive(const struct sim_shared_process *process);
/* MiB that the file DIR/held says are taken on a GPU by somebody who is not simulated; rows of
 * "index <tab> MiB". */
uint64_t sim_shared_held_bytes(const char *folder, int gpu);
/* Memory of all other processes on a GPU, the held one included. */
uint64_t sim_shared_others_bytes(const struct sim_shared *shared, const char *folder, int gpu);

#endif
