/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that processes on one simulated machine share. Whoever opens it first makes it, under
 * a lock of the file; a process that dies leaves its slot, which is free again once nobody has its
 * pid and start time.
 */
#include "sim_shared.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAGIC = 0x53494d31 };

static void make(struct sim_shared *shared)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&shared->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	shared->size = sizeof(*shared);
	shared->magic = MAGIC;
}

struct sim_shared *sim_shared_open(const char *folder)
{
	struct sim_shared *shared = NULL;
	char path[PATH_MAX];
	void *mapped;
	int file;

	snprintf(path, sizeof(path), "%s/state", folder);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (file < 0)
		return NULL;
	if (flock(file, LOCK_EX) == 0 && ftruncate(file, sizeof(*shared)) == 0) {
		mapped = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		if (mapped != MAP_FAILED) {
			shared = mapped;
			if (shared->magic != MAGIC || shared->size != sizeof(*shared)) {
				memset(shared, 0, sizeof(*shared));
				make(shared);
			}
		}
	}
	/* Not by closing: the mapping keeps the file open. */
	flock(file, LOCK_UN);
	close(file);
	return shared;
}

void sim_shared_close(struct sim_shared *shared)
{
	munmap(shared, sizeof(*shared));
}

void sim_shared_lock(struct sim_shared *shared)
{
	/* A lane that its killed writer left half written holds one odd copy, which does no harm.
	 */
	if (pthread_mutex_lock(&shared->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&shared->lock);
}

void sim_shared_unlock(struct sim_shared *shared)
{
	pthread_mutex_unlock(&shared->lock);
}

/* Field 22 of /proc/PID/stat, 0 when there is no such process; the name before may hold anything.
 */
static uint64_t start_of(int pid)
{
	char path[64], text[1024];
	const char *at;
	size_t bytes;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	bytes = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[bytes] = '\0';
	at = strrchr(text, ')');
	/* A zombie is dead. */
	if (!at || at[1] == '\0' || at[2] == 'Z')
		return 0;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

bool sim_shared_is_alive(const struct sim_shared_process *process)
{
	int pid = atomic_load(&process->pid);

	return pid != 0 && start_of(pid) == atomic_load(&process->started);
}

struct sim_shared_process *sim_shared_self(struct sim_shared *shared)
{
	static struct sim_shared_process *own;
	int self = (int)getpid();

	if (own && atomic_load(&own->pid) == self)
		return own;
	own = NULL;
	sim_shared_lock(shared);
	for (int i = 0; i < SIM_SHARED_PROCESSES && !own; i++) {
		struct sim_shared_process *slot = &shared->processes[i];

		if (atomic_load(&slot->pid) != self && sim_shared_is_alive(slot))
			continue;
		own = slot;
		atomic_store(&slot->pid, 0);
		for (int gpu = 0; gpu < SIM_MACHINE_GPUS_MAX; gpu++) {
			atomic_store(&slot->memory_bytes[gpu], 0);
			atomic_store(&slot->contexts[gpu], 0);
		}
		atomic_store(&slot->started, start_of(self));
		atomic_store(&slot->pid, self);
	}
	sim_shared_unlock(shared);
	return own;
}

uint64_t sim_shared_held_bytes(const char *folder, int gpu)
{
	char path[PATH_MAX], line[128];
	uint64_t bytes = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/held", folder);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		unsigned long long mib;
		int index;

		if (sscanf(line, "%d %llu", &index, &mib) == 2 && index == gpu)
			bytes += (uint64_t)mib << 20;
	}
	fclose(file);
	return bytes;
}

uint64_t sim_shared_others_bytes(const struct sim_shared *shared, const char *folder, int gpu)
{
	uint64_t bytes = sim_shared_held_bytes(folder, gpu);
	int self = (int)getpid();

	for (int i = 0; i < SIM_SHARED_PROCESSES; i++) {
		const struct sim_shared_process *process = &shared->processes[i];
		uint64_t held = atomic_load(&process->memory_bytes[gpu]);

		/* Asking /proc costs, so only about those who have something. */
		if (held > 0 && atomic_load(&process->pid) != self && sim_shared_is_alive(process))
			bytes += held;
	}
	return bytes;
}
