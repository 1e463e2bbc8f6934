/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores and loads file heads and chunk headers. A header is believed only when its magic numbers,
 * its checksum and its sizes agree, since readers look for headers at every 8th byte of a damaged
 * file.
 */
#include "trace_chunk.h"

#include <string.h>

#include "bytes.h"
#include "crc32c.h"

void trace_head_store(uint8_t bytes[TRACE_HEAD_BYTES], const struct trace_head *head)
{
	memset(bytes, 0, TRACE_HEAD_BYTES);
	bytes_store32(bytes, TRACE_FRAME_HEAD);
	bytes_store32(bytes + 4, TRACE_HEAD_BYTES - 8);
	memcpy(bytes + 8, TRACE_HEAD_MAGIC, 8);
	bytes_store16(bytes + 16, head->version_major);
	bytes_store16(bytes + 18, head->version_minor);
	bytes_store32(bytes + 20, head->feature_bits);
	bytes_store64(bytes + 24, head->start_realtime_ns);
	memcpy(bytes + 32, head->session_id, sizeof(head->session_id));
	bytes_store32(bytes + 48, head->clock_kind);
	bytes_store32(bytes + 60, crc32c(bytes, 60));
}

bool trace_head_load(const uint8_t bytes[TRACE_HEAD_BYTES], struct trace_head *head)
{
	if (bytes_load32(bytes) != TRACE_FRAME_HEAD ||
	    bytes_load32(bytes + 4) != TRACE_HEAD_BYTES - 8)
		return false;
	if (memcmp(bytes + 8, TRACE_HEAD_MAGIC, 8) != 0)
		return false;
	if (bytes_load32(bytes + 60) != crc32c(bytes, 60))
		return false;
	head->version_major = bytes_load16(bytes + 16);
	head->version_minor = bytes_load16(bytes + 18);
	head->feature_bits = bytes_load32(bytes + 20);
	head->start_realtime_ns = bytes_load64(bytes + 24);
	memcpy(head->session_id, bytes + 32, sizeof(head->session_id));
	head->clock_kind = bytes_load32(bytes + 48);
	return true;
}

void chunk_header_store(uint8_t bytes[CHUNK_HEADER_BYTES], const struct chunk_header *header)
{
	bytes_store32(bytes, TRACE_FRAME_CHUNK);
	bytes_store32(bytes + 4, CHUNK_HEADER_BYTES - 8);
	bytes_store32(bytes + 8, CHUNK_MAGIC);
	bytes_store16(bytes + 12, header->type);
	bytes_store16(bytes + 14, header->kind);
	bytes_store64(bytes + 16, header->sequence);
	bytes_store64(bytes + 24, header->covers_sequence);
	bytes_store64(bytes + 32, header->first_time);
	bytes_store64(bytes + 40, header->last_time);
	bytes_store32(bytes + 48, header->row_count);
	bytes_store32(bytes + 52, header->thread);
	bytes_store32(bytes + 56, header->flags);
	bytes_store32(bytes + 60, header->payload_bytes);
	bytes_store32(bytes + 64, header->decoded_bytes);
	bytes_store32(bytes + 68, header->payload_crc);
	bytes_store32(bytes + 72, header->segment);
	bytes_store64(bytes + 76, header->complete_ticks);
	bytes_store32(bytes + 84, crc32c(bytes, 84));
}

bool chunk_header_load(const uint8_t bytes[CHUNK_HEADER_BYTES], struct chunk_header *header)
{
	if (bytes_load32(bytes) != TRACE_FRAME_CHUNK || bytes_load32(bytes + 8) != CHUNK_MAGIC ||
	    bytes_load32(bytes + 4) != CHUNK_HEADER_BYTES - 8)
		return false;
	if (bytes_load32(bytes + 84) != crc32c(bytes, 84))
		return false;
	header->type = bytes_load16(bytes + 12);
	header->kind = bytes_load16(bytes + 14);
	header->sequence = bytes_load64(bytes + 16);
	header->covers_sequence = bytes_load64(bytes + 24);
	header->first_time = bytes_load64(bytes + 32);
	header->last_time = bytes_load64(bytes + 40);
	header->row_count = bytes_load32(bytes + 48);
	header->thread = bytes_load32(bytes + 52);
	header->flags = bytes_load32(bytes + 56);
	header->payload_bytes = bytes_load32(bytes + 60);
	header->decoded_bytes = bytes_load32(bytes + 64);
	header->payload_crc = bytes_load32(bytes + 68);
	header->segment = bytes_load32(bytes + 72);
	header->complete_ticks = bytes_load64(bytes + 76);
	/* A compressed payload is never much larger than the plain one; with this bound no sum of
	 * sizes can overflow. */
	return header->decoded_bytes <= CHUNK_MAX_PAYLOAD &&
	       header->payload_bytes <= CHUNK_MAX_PAYLOAD + CHUNK_MAX_PAYLOAD / 128 + 1024;
}

uint32_t chunk_padding_bytes(uint32_t payload_bytes)
{
	uint32_t missing = (8 - payload_bytes % 8) % 8;

	return missing ? 8 + missing : 0;
}

uint64_t chunk_disk_bytes(const struct chunk_header *header)
{
	return (uint64_t)CHUNK_HEADER_BYTES + header->payload_bytes +
	       chunk_padding_bytes(header->payload_bytes);
}
