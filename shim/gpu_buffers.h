/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffers that CUPTI fills for us: a bounded number, recycled. Requests and completions come on
 * the program's threads and on CUPTI's; they change one word each and take no lock.
 */
#ifndef GPUTRACE_SHIM_GPU_BUFFERS_H
#define GPUTRACE_SHIM_GPU_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Never NULL: CUPTI crashes on that. When all buffers are out, what lands is lost and counted. */
void gpu_buffers_request(uint8_t **bytes, size_t *size, size_t *max_records);
/* False: not a buffer of ours. */
bool gpu_buffers_complete(const uint8_t *bytes, size_t valid_size);
/* Keeps a few buffers ready, so that the program's threads need not wait for memory. */
void gpu_buffers_prepare(void);
/* Calls `read` with every full buffer, which is free again afterwards. */
void gpu_buffers_drain(void (*read)(void *context, uint8_t *bytes, size_t valid_size),
		       void *context);
/* About how many records lie in buffers that nobody has read yet. */
uint64_t gpu_buffers_unread(void);
/* In a forked child: the parent's CUPTI still owns what is out; the child never touches it. */
void gpu_buffers_forget(void);

#endif
