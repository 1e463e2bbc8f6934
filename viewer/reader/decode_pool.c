/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job n uses slot n modulo the number of slots. A worker takes the lowest job that nobody has and
 * waits until the consumer is done with the slot's previous job, so jobs cannot overtake each other
 * by more than the slots and the consumer never waits for a job that cannot start.
 */
#define _GNU_SOURCE
#include "decode_pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#define MAX_WORKERS 4 /* a slot holds up to 10 MiB of rows */
#define MAX_SLOTS   (MAX_WORKERS + 2)
#define LEAST_JOBS  4

struct decode_slot {
	struct chunk_loader loader;
	int rc;
	size_t job; /* that the slot is for now */
	bool is_done;
};

struct decode_pool {
	const struct trace_file *file;
	const struct trace_chunk *list;
	size_t list_count;
	const size_t *jobs;
	size_t job_count;

	pthread_mutex_t lock; /* of all that follows, but not of a slot that is being filled */
	pthread_cond_t job_done, slot_free;
	size_t next_job; /* that nobody has taken */
	size_t consumed; /* jobs that the consumer has given back */
	bool is_over;

	struct decode_slot slots[MAX_SLOTS];
	size_t slot_count;
	pthread_t workers[MAX_WORKERS];
	size_t worker_count;
};

/* The slot of the next job, SIZE_MAX when there is none left. */
static size_t take_job(struct decode_pool *pool)
{
	size_t job = SIZE_MAX;

	pthread_mutex_lock(&pool->lock);
	while (!pool->is_over && pool->next_job < pool->job_count &&
	       pool->next_job >= pool->consumed + pool->slot_count)
		pthread_cond_wait(&pool->slot_free, &pool->lock);
	if (!pool->is_over && pool->next_job < pool->job_count)
		job = pool->next_job++;
	pthread_mutex_unlock(&pool->lock);
	return job;
}

static void *work(void *context)
{
	struct decode_pool *pool = context;
	size_t job;

	while ((job = take_job(pool)) != SIZE_MAX) {
		struct decode_slot *slot = &pool->slots[job % pool->slot_count];

		slot->rc = chunk_load_listed(&slot->loader, pool->file, pool->list,
					     pool->list_count, pool->jobs[job]);
		pthread_mutex_lock(&pool->lock);
		slot->job = job;
		slot->is_done = true;
		pthread_cond_broadcast(&pool->job_done);
		pthread_mutex_unlock(&pool->lock);
	}
	return NULL;
}

static size_t core_count(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	return sched_getaffinity(0, sizeof(cpus), &cpus) < 0 ? 1 : (size_t)CPU_COUNT(&cpus);
}

struct decode_pool *decode_pool_new(const struct trace_file *file, const struct trace_chunk *list,
				    size_t list_count, const size_t *jobs, size_t job_count,
				    bool wants_rows)
{
	size_t cores = core_count();
	size_t workers = cores > MAX_WORKERS ? MAX_WORKERS : cores;
	struct decode_pool *pool;

	if (cores < 2 || job_count < LEAST_JOBS)
		return NULL;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return NULL;
	pool->file = file;
	pool->list = list;
	pool->list_count = list_count;
	pool->jobs = jobs;
	pool->job_count = job_count;
	pool->slot_count = workers + 2;
	for (size_t i = 0; i < pool->slot_count; i++)
		pool->slots[i].loader.wants_rows = wants_rows;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->job_done, NULL);
	pthread_cond_init(&pool->slot_free, NULL);
	while (pool->worker_count < workers &&
	       pthread_create(&pool->workers[pool->worker_count], NULL, work, pool) == 0)
		pool->worker_count++;
	if (pool->worker_count > 0)
		return pool;
	decode_pool_free(pool);
	return NULL;
}

int decode_pool_take(struct decode_pool *pool, struct chunk_loader **loader)
{
	struct decode_slot *slot = &pool->slots[pool->consumed % pool->slot_count];

	pthread_mutex_lock(&pool->lock);
	while (!slot->is_done || slot->job != pool->consumed)
		pthread_cond_wait(&pool->job_done, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
	*loader = &slot->loader;
	return slot->rc;
}

void decode_pool_give(struct decode_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->slots[pool->consumed % pool->slot_count].is_done = false;
	pool->consumed++;
	pthread_cond_broadcast(&pool->slot_free);
	pthread_mutex_unlock(&pool->lock);
}

void decode_pool_free(struct decode_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->is_over = true;
	pthread_cond_broadcast(&pool->slot_free);
	pthread_mutex_unlock(&pool->lock);
	for (size_t i = 0; i < pool->worker_count; i++)
		pthread_join(pool->workers[i], NULL);
	for (size_t i = 0; i < pool->slot_count; i++)
		chunk_loader_fini(&pool->slots[i].loader);
	pthread_cond_destroy(&pool->slot_free);
	pthread_cond_destroy(&pool->job_done);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}
