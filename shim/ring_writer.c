/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow parts of writing a ring: wrapping with a pad record, looking at the collector's tail,
 * counting drops. The limit moves in steps of a quarter ring, so that a filling ring is noticed
 * (and a larger one claimed) before it is full.
 */
#include "ring_writer.h"

#include "../collector/format/record.h"

void ring_writer_attach(struct ring_writer *writer, struct ring_header *header, uint32_t data_bytes,
			uint32_t slot, uint64_t head)
{
	writer->header = header;
	writer->data = (unsigned char *)header + RING_HEADER_BYTES;
	writer->data_bytes = data_bytes;
	writer->slot = slot;
	writer->head = head;
	writer->limit = head;
}

uint64_t ring_writer_used(const struct ring_writer *writer)
{
	/* Pairs with the collector's release store: what it has read may be overwritten. */
	uint64_t tail = atomic_load_explicit(&writer->header->tail, memory_order_acquire);
	bool believable = tail <= writer->head && writer->head - tail <= writer->data_bytes;
	return believable ? writer->head - tail : writer->data_bytes;
}

void *ring_writer_reserve_slow(struct ring_writer *writer, size_t size_bytes)
{
	uint64_t offset = writer->head & (uint64_t)(writer->data_bytes - 1);
	uint64_t pad = offset + size_bytes > writer->data_bytes ? writer->data_bytes - offset : 0;
	uint64_t room = writer->data_bytes - ring_writer_used(writer);

	if (pad + size_bytes > room)
		return NULL;
	uint64_t step = writer->data_bytes / 4;
	if (step < pad + size_bytes)
		step = pad + size_bytes;
	writer->limit = writer->head + (room < step ? room : step);
	if (pad) {
		/* Seen by the collector only together with the record after it. */
		struct record_head *head = (struct record_head *)(void *)(writer->data + offset);
		head->kind = RECORD_PAD;
		head->size_bytes = (uint16_t)pad;
		head->reserved = 0;
		writer->head += pad;
		offset = 0;
	}
	return writer->data + offset;
}

void ring_writer_drop(struct ring_writer *writer, unsigned int kind)
{
	_Atomic uint64_t *count = &writer->header->dropped[kind % RING_DROP_KINDS];
	/* The only writer is this thread: no read-modify-write needed. */
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}
