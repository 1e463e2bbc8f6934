/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of a data-parallel sample: a small launcher that forks one process per rank with RANK,
 * WORLD_SIZE and LOCAL_RANK in its environment and one GPU visible, as torchrun does, and the few
 * functions of NCCL that they call, found at run time so that the samples build without it.
 *
 *   rank_group_fork(&group, ranks)  before any CUDA call; returns in every rank, the parent never
 *   rank_group_join(&group)         after gpu_open(): the communicator
 *   gpu_all_reduce(&group, p, words, stream)  sums floats in place
 *   rank_group_leave(&group)
 */
#ifndef GPUTRACE_SAMPLES_RANK_GROUP_H
#define GPUTRACE_SAMPLES_RANK_GROUP_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu.h"

enum { RANKS_MAX = 16, NCCL_FLOAT = 7, NCCL_SUM = 0 };

struct nccl_id {
	char bytes[128];
};

struct rank_group {
	int rank, ranks;
	int id_in, id_out[RANKS_MAX]; /* pipes by which rank 0 gives the id to the others */
	void *communicator;
	int (*get_id)(struct nccl_id *);
	int (*init)(void **, int, struct nccl_id, int);
	int (*all_reduce)(const void *, void *, size_t, int, int, void *, gpu_stream);
	int (*finalize)(void *);
	int (*destroy)(void *);
};

static inline void rank_group_set(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

/* Waits for all ranks; the job's exit code is that of the first that failed. */
static inline void rank_group_wait(int ranks)
{
	int status, result = 0;

	for (int i = 0; i < ranks; i++) {
		if (wait(&status) < 0)
			break;
		if (result == 0 && status != 0)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	exit(result);
}

static inline void rank_group_fork(struct rank_group *group, int ranks)
{
	int ends[RANKS_MAX][2];

	memset(group, 0, sizeof(*group));
	group->ranks = ranks < RANKS_MAX ? ranks : RANKS_MAX;
	for (int i = 0; i < group->ranks; i++) {
		if (pipe(ends[i]))
			exit(1);
	}
	for (group->rank = 0; group->rank < group->ranks; group->rank++) {
		pid_t pid = fork();

		if (pid < 0)
			exit(1);
		if (pid > 0)
			continue;
		rank_group_set("RANK", group->rank);
		rank_group_set("LOCAL_RANK", group->rank);
		rank_group_set("WORLD_SIZE", group->ranks);
		rank_group_set("LOCAL_WORLD_SIZE", group->ranks);
		rank_group_set("CUDA_VISIBLE_DEVICES", group->rank);
		group->id_in = ends[group->rank][0];
		for (int i = 0; i < group->ranks; i++)
			group->id_out[i] = ends[i][1];
		return;
	}
	rank_group_wait(group->ranks);
}

static inline void *rank_group_find(void *library, const char *name)
{
	void *function = library ? dlsym(library, name) : NULL;

	if (!function) {
		fprintf(stderr, "cannot use libnccl.so.2: %s\n", dlerror());
		exit(1);
	}
	return function;
}

static inline void rank_group_join(struct rank_group *group)
{
	void *library = dlopen("libnccl.so.2", RTLD_NOW);
	struct nccl_id id;

	*(void **)&group->get_id = rank_group_find(library, "ncclGetUniqueId");
	*(void **)&group->init = rank_group_find(library, "ncclCommInitRank");
	*(void **)&group->all_reduce = rank_group_find(library, "ncclAllReduce");
	*(void **)&group->finalize = rank_group_find(library, "ncclCommFinalize");
	*(void **)&group->destroy = rank_group_find(library, "ncclCommDestroy");
	if (group->rank == 0) {
		GPU_TRY(group->get_id(&id));
		for (int i = 1; i < group->ranks; i++)
			GPU_TRY(write(group->id_out[i], &id, sizeof(id)) != (ssize_t)sizeof(id));
	} else {
		GPU_TRY(read(group->id_in, &id, sizeof(id)) != (ssize_t)sizeof(id));
	}
	GPU_TRY(group->init(&group->communicator, group->ranks, id, group->rank));
}

static inline void rank_group_leave(struct rank_group *group)
{
	GPU_TRY(group->finalize(group->communicator));
	GPU_TRY(group->destroy(group->communicator));
}

#define gpu_all_reduce(group, pointer, words, stream)                                              \
	(group)->all_reduce(pointer, pointer, words, NCCL_FLOAT, NCCL_SUM, (group)->communicator,  \
			    stream)

#endif
