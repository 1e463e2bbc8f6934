/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes records into one ring as ring.h lays it out: reserve, fill, commit. One thread owns a
 * writer; the collector's only influence is the tail, which is checked before it is believed.
 */
#ifndef GPUTRACE_SHIM_RING_WRITER_H
#define GPUTRACE_SHIM_RING_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../collector/format/ring.h"

struct ring_writer {
	unsigned char *data;
	struct ring_header *header;
	uint64_t head;	/* end of what is written; the shared head follows at commit */
	uint64_t limit; /* writing beyond this needs a look at the tail */
	uint32_t data_bytes;
	uint32_t slot;
};

/* Starts at position `head`, which the ring's previous owner left. */
void ring_writer_attach(struct ring_writer *writer, struct ring_header *header, uint32_t data_bytes,
			uint32_t slot, uint64_t head);
/* Pads to the ring's end, looks at the tail; NULL when there is no room. */
void *ring_writer_reserve_slow(struct ring_writer *writer, size_t size_bytes);
/* Bytes that the collector has not consumed; data_bytes when the tail is not believable. */
uint64_t ring_writer_used(const struct ring_writer *writer);
/* Counts a record that was lost. */
void ring_writer_drop(struct ring_writer *writer, unsigned int kind);

/* Room for size_bytes (a multiple of 8, at most 65528), contiguous; NULL when the ring is full. The
 * quick one gives up where the tail has to be looked at. */
static inline void *ring_writer_reserve_quick(const struct ring_writer *writer, size_t size_bytes)
{
	uint64_t offset = writer->head & (uint64_t)(writer->data_bytes - 1);
	if (__builtin_expect(writer->head + size_bytes <= writer->limit &&
				     offset + size_bytes <= writer->data_bytes,
			     1))
		return writer->data + offset;
	return NULL;
}

static inline void *ring_writer_reserve(struct ring_writer *writer, size_t size_bytes)
{
	void *room = ring_writer_reserve_quick(writer, size_bytes);
	return __builtin_expect(room != NULL, 1) ? room
						 : ring_writer_reserve_slow(writer, size_bytes);
}

/* Publishes the record just reserved. Pairs with the collector's acquire load of head. */
static inline void ring_writer_commit(struct ring_writer *writer, size_t size_bytes)
{
	writer->head += size_bytes;
	atomic_store_explicit(&writer->header->head, writer->head, memory_order_release);
}

#endif
