/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each buffer goes from free to out to full to busy and back. A buffer that is out belongs to CUPTI
 * and is never freed; the memory of all of them is bounded by BUFFERS.
 */
#include "gpu_buffers.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "gpu_records.h"

#define BUFFER_BYTES  (1024u * 1024)
#define BUFFERS	      256u
#define SPARE_BUFFERS 2u
#define RECORD_BYTES  224u /* to estimate how many records a lost buffer held */

enum buffer_state { BUFFER_NONE, BUFFER_FREE, BUFFER_OUT, BUFFER_FULL, BUFFER_BUSY };
static struct {
	_Atomic uint32_t state;
	uint8_t *bytes;
	size_t valid_size;
} buffers[BUFFERS];
/* Handed out when all buffers are out. */
static _Alignas(8) uint8_t scratch[64 * 1024];

static uint8_t *new_bytes(void)
{
	void *bytes = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	return bytes == MAP_FAILED ? NULL : bytes;
}

/* Takes a buffer from one state to another; BUFFERS when there is none. */
static uint32_t take(uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < BUFFERS; i++) {
		uint32_t expected = from;
		if (atomic_load_explicit(&buffers[i].state, memory_order_relaxed) == from &&
		    atomic_compare_exchange_strong(&buffers[i].state, &expected, to))
			return i;
	}
	return BUFFERS;
}

/* Gives a place its memory and the state; false when there is none to be had. */
static bool fill(uint32_t at, uint32_t state)
{
	buffers[at].bytes = new_bytes();
	atomic_store(&buffers[at].state, buffers[at].bytes ? state : BUFFER_NONE);
	return buffers[at].bytes != NULL;
}

void gpu_buffers_prepare(void)
{
	uint32_t free_count = 0;
	for (uint32_t i = 0; i < BUFFERS; i++)
		free_count += atomic_load(&buffers[i].state) == BUFFER_FREE;
	while (free_count++ < SPARE_BUFFERS) {
		uint32_t at = take(BUFFER_NONE, BUFFER_BUSY);
		if (at == BUFFERS || !fill(at, BUFFER_FREE))
			return;
	}
}

void gpu_buffers_request(uint8_t **bytes, size_t *size, size_t *max_records)
{
	int saved_errno = errno;
	uint32_t at = take(BUFFER_FREE, BUFFER_OUT);
	if (at == BUFFERS) {
		at = take(BUFFER_NONE, BUFFER_BUSY);
		if (at < BUFFERS && !fill(at, BUFFER_OUT))
			at = BUFFERS;
	}
	*bytes = at < BUFFERS ? buffers[at].bytes : scratch;
	*size = at < BUFFERS ? BUFFER_BYTES : sizeof(scratch);
	*max_records = 0;
	errno = saved_errno;
}

bool gpu_buffers_complete(const uint8_t *bytes, size_t valid_size)
{
	for (uint32_t i = 0; bytes && i < BUFFERS; i++) {
		if (atomic_load(&buffers[i].state) == BUFFER_OUT && buffers[i].bytes == bytes) {
			buffers[i].valid_size =
				valid_size < BUFFER_BYTES ? valid_size : BUFFER_BYTES;
			/* Pairs with gpu_buffers_drain(). */
			atomic_store_explicit(&buffers[i].state, BUFFER_FULL, memory_order_release);
			return true;
		}
	}
	if (bytes != scratch)
		return false;
	gpu_records_count_dropped((valid_size + RECORD_BYTES - 1) / RECORD_BYTES);
	return true;
}

void gpu_buffers_drain(void (*read)(void *context, uint8_t *bytes, size_t valid_size),
		       void *context)
{
	for (uint32_t i = 0; i < BUFFERS; i++) {
		uint32_t expected = BUFFER_FULL;
		if (!atomic_compare_exchange_strong_explicit(&buffers[i].state, &expected,
							     BUFFER_BUSY, memory_order_acquire,
							     memory_order_relaxed))
			continue;
		read(context, buffers[i].bytes, buffers[i].valid_size);
		/* We promised CUPTI zeroed buffers. */
		memset(buffers[i].bytes, 0, buffers[i].valid_size);
		atomic_store_explicit(&buffers[i].state, BUFFER_FREE, memory_order_release);
	}
}

uint64_t gpu_buffers_unread(void)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < BUFFERS; i++) {
		uint32_t state = atomic_load(&buffers[i].state);
		if (state == BUFFER_FULL || state == BUFFER_BUSY)
			bytes += buffers[i].valid_size;
	}
	return (bytes + RECORD_BYTES - 1) / RECORD_BYTES;
}

void gpu_buffers_forget(void)
{
	for (uint32_t i = 0; i < BUFFERS; i++) {
		atomic_store(&buffers[i].state, BUFFER_NONE);
		buffers[i].bytes = NULL;
	}
}
