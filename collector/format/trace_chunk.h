/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File heads and chunk headers between their bytes (trace_file.h has the tables) and C structs.
 * Shared by the writer and the reader, so that the two cannot disagree.
 */
#ifndef GPUTRACE_FORMAT_TRACE_CHUNK_H
#define GPUTRACE_FORMAT_TRACE_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "trace_file.h"

struct trace_head {
	uint16_t version_major;
	uint16_t version_minor;
	uint32_t feature_bits;
	uint64_t start_realtime_ns;
	uint8_t session_id[16];
	uint32_t clock_kind;
};

struct chunk_header {
	uint16_t type; /* enum chunk_type */
	uint16_t kind;
	uint64_t sequence;
	uint64_t covers_sequence;
	uint64_t first_time;
	uint64_t last_time;
	uint32_t row_count;
	uint32_t thread;
	uint32_t flags; /* enum chunk_flag */
	uint32_t payload_bytes;
	uint32_t decoded_bytes;
	uint32_t payload_crc;
	uint32_t segment;
	uint64_t complete_ticks;
};

/* Its row count is one of records. */
static inline bool chunk_has_records(const struct chunk_header *header)
{
	return header->type == CHUNK_ROWS || header->type == CHUNK_COLUMNS ||
	       header->type == CHUNK_EVENTS;
}

/* The kinds of fixed-size records in a COLUMNS or EVENTS chunk, a bit each. */
static inline uint64_t chunk_kinds(const struct chunk_header *header)
{
	if (header->type == CHUNK_EVENTS)
		return (uint64_t)header->thread << EVENTS_FIRST_KIND;
	return header->type == CHUNK_COLUMNS && header->kind < 64 ? 1ull << header->kind : 0;
}

/* One entry of an INDEX payload. */
#define CHUNK_INDEX_ENTRY_BYTES (8 + CHUNK_HEADER_BYTES)

void trace_head_store(uint8_t bytes[TRACE_HEAD_BYTES], const struct trace_head *head);
/* False when these are not the bytes of an undamaged head; versions are the caller's to judge. */
bool trace_head_load(const uint8_t bytes[TRACE_HEAD_BYTES], struct trace_head *head);

void chunk_header_store(uint8_t bytes[CHUNK_HEADER_BYTES], const struct chunk_header *header);
/* False when these are not the bytes of a possible header: magic, checksum, sizes. */
bool chunk_header_load(const uint8_t bytes[CHUNK_HEADER_BYTES], struct chunk_header *header);

/* What stands between a payload of this size and the next chunk: 0 or 8..15 bytes. */
uint32_t chunk_padding_bytes(uint32_t payload_bytes);
/* Whole chunk on disk. */
uint64_t chunk_disk_bytes(const struct chunk_header *header);

#endif
