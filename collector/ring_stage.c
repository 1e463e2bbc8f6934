/* SPDX-License-Identifier: Apache-2.0 */
/* A piece never goes round the end of the memory: a reader gets it as it is. */
#define _GNU_SOURCE
#include "ring_stage.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define HEAD_BYTES sizeof(struct ring_piece)
#define KEEP_BYTES (1u << 20) /* are never given back */

static_assert(HEAD_BYTES == 64, "a head is one cache line");

int ring_stage_open(struct ring_stage *stage, uint64_t size_bytes)
{
	void *memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -ENOMEM;
	memset(stage, 0, sizeof(*stage));
	stage->memory = memory;
	stage->size_bytes = size_bytes;
	return 0;
}

void ring_stage_close(struct ring_stage *stage)
{
	if (stage->memory)
		munmap(stage->memory, stage->size_bytes);
	stage->memory = NULL;
}

static uint64_t place_of(const struct ring_stage *stage, uint64_t position)
{
	return position & (stage->size_bytes - 1);
}

static uint64_t padded(uint64_t bytes)
{
	return (bytes + HEAD_BYTES - 1) / HEAD_BYTES * HEAD_BYTES;
}

uint64_t ring_stage_free(const struct ring_stage *stage)
{
	/* Pairs with the release store of ring_stage_pop(): the bytes may be written again. */
	return stage->size_bytes -
	       (stage->write - atomic_load_explicit(&stage->read, memory_order_acquire));
}

uint64_t ring_stage_room(struct ring_stage *stage, uint64_t wanted)
{
	uint64_t left = ring_stage_free(stage);
	uint64_t before_end = stage->size_bytes - place_of(stage, stage->write);
	uint64_t needed = HEAD_BYTES + padded(wanted);

	/* The rest at the end is given up where the beginning has more room. */
	if (before_end < needed && left > before_end && left - before_end > before_end) {
		struct ring_piece none = {.bytes = before_end - HEAD_BYTES};

		ring_stage_put(stage, &none);
		left -= before_end;
		before_end = stage->size_bytes;
	}
	if (left > before_end)
		left = before_end;
	if (left < HEAD_BYTES)
		return 0;
	return left < needed ? left - HEAD_BYTES : wanted;
}

void *ring_stage_put(struct ring_stage *stage, const struct ring_piece *piece)
{
	uint8_t *at = stage->memory + place_of(stage, stage->write);
	uint64_t end = place_of(stage, stage->write) + HEAD_BYTES + padded(piece->bytes);

	memcpy(at, piece, HEAD_BYTES);
	stage->write += HEAD_BYTES + padded(piece->bytes);
	if (piece->what != RING_PIECE_NONE && end > stage->highest)
		stage->highest = end;
	if (stage->size_bytes - ring_stage_free(stage) > stage->most_bytes)
		stage->most_bytes = stage->size_bytes - ring_stage_free(stage);
	return at + HEAD_BYTES;
}

void ring_stage_rewind(struct ring_stage *stage)
{
	if (stage->write != atomic_load_explicit(&stage->read, memory_order_acquire))
		return;
	stage->write = 0;
	atomic_store_explicit(&stage->read, 0, memory_order_relaxed);
}

void ring_stage_trim(struct ring_stage *stage)
{
	uint64_t used = padded(stage->highest) + 4096 * 16 - 1;

	used -= used % (4096 * 16); /* whole pages, whatever their size */
	if (used < KEEP_BYTES)
		used = KEEP_BYTES;
	if (stage->write == atomic_load_explicit(&stage->read, memory_order_acquire) &&
	    used < stage->size_bytes)
		madvise(stage->memory + used, stage->size_bytes - used, MADV_DONTNEED);
	stage->highest = 0;
}

const struct ring_piece *ring_stage_next(struct ring_stage *stage, uint64_t end)
{
	uint64_t read = atomic_load_explicit(&stage->read, memory_order_relaxed);

	if (read == end)
		return NULL;
	return (const struct ring_piece *)(stage->memory + place_of(stage, read));
}

void ring_stage_pop(struct ring_stage *stage, const struct ring_piece *piece)
{
	uint64_t read = atomic_load_explicit(&stage->read, memory_order_relaxed);

	/* Pairs with the acquire load of ring_stage_free(): nobody reads the bytes any more. */
	atomic_store_explicit(&stage->read, read + HEAD_BYTES + padded(piece->bytes),
			      memory_order_release);
}
