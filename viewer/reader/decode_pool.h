/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the COLUMNS chunks of a file on all cores and gives them back one after the other, in
 * their order. What is decoded ahead is bounded by the number of slots, so memory is.
 */
#ifndef GPUTRACE_DECODE_POOL_H
#define GPUTRACE_DECODE_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "chunk_load.h"

struct decode_pool;

/* Chunks list[jobs[0 .. job_count)] of a list of list_count; all three must outlive the pool. NULL
 * when there is no second core, too little to do, or no thread to be had: then the caller decodes
 * by itself. */
struct decode_pool *decode_pool_new(const struct trace_file *file, const struct trace_chunk *list,
				    size_t list_count, const size_t *jobs, size_t job_count,
				    bool wants_rows);
/* The next job's negative code, or 0: the loader has its batches. They are the caller's until
 * decode_pool_give(). */
int decode_pool_take(struct decode_pool *pool, struct chunk_loader **loader);
void decode_pool_give(struct decode_pool *pool);
/* Stops the threads wherever they are. */
void decode_pool_free(struct decode_pool *pool);

#endif
