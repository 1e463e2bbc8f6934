/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_corrupt GOOD.gtrace DIR: writes the corrupt and odd files of tests/traces/corrupt. Each is a
 * small change to a good trace; checksums are right where the change is meant to be found later.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "chunk_build.h"
#include "crc32c.h"
#include "record.h"
#include "trace_chunk.h"

#define MAX_BYTES (1u << 20)

static uint8_t good[MAX_BYTES];
static size_t good_bytes;
static const char *directory;

static void write_file(const char *name, const void *data, size_t bytes)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.gtrace", directory, name);
	file = fopen(path, "wb");
	if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0) {
		fprintf(stderr, "make_corrupt: cannot write %s\n", path);
		exit(1);
	}
}

/* The n-th chunk of a type, from 0. */
static size_t find_chunk(uint16_t type, unsigned int n)
{
	struct chunk_header header;

	for (size_t at = TRACE_HEAD_BYTES; at + CHUNK_HEADER_BYTES <= good_bytes;
	     at += (size_t)chunk_disk_bytes(&header)) {
		if (!chunk_header_load(good + at, &header))
			break;
		if (header.type == type && n-- == 0)
			return at;
	}
	fprintf(stderr, "make_corrupt: the good trace has no chunk of type %u\n", type);
	exit(1);
}

static void change(const char *name, size_t at, uint8_t with)
{
	static uint8_t copy[MAX_BYTES];

	memcpy(copy, good, good_bytes);
	copy[at] ^= with;
	write_file(name, copy, good_bytes);
}

static void change_version(const char *name, uint16_t major, uint16_t minor)
{
	static uint8_t copy[MAX_BYTES];

	memcpy(copy, good, good_bytes);
	bytes_store16(copy + 16, major);
	bytes_store16(copy + 18, minor);
	bytes_store32(copy + 60, crc32c(copy, 60));
	write_file(name, copy, good_bytes);
}

/* Changes one field of a header and makes its checksum right. */
static void change_header(const char *name, size_t chunk, size_t offset, uint32_t value)
{
	static uint8_t copy[MAX_BYTES];

	memcpy(copy, good, good_bytes);
	bytes_store32(copy + chunk + offset, value);
	bytes_store32(copy + chunk + 84, crc32c(copy + chunk, 84));
	/* Without its index, so that the walk meets the header. */
	write_file(name, copy, find_chunk(CHUNK_INDEX, 0));
}

static void append_chunk(const char *name, const struct chunk_header *header, const void *payload,
			 size_t bytes)
{
	struct chunk_builder *builder = chunk_builder_new(1);
	struct chunk_header made = *header;
	struct byte_buffer out = {0};

	if (!builder || byte_buffer_append(&out, good, find_chunk(CHUNK_INDEX, 0)) < 0 ||
	    chunk_build(builder, &made, payload, bytes, NULL, &out) < 0)
		exit(1);
	write_file(name, out.data, out.used);
	byte_buffer_free(&out);
	chunk_builder_free(builder);
}

static void make_headers(void)
{
	size_t columns = find_chunk(CHUNK_COLUMNS, 1);

	write_file("empty", "", 0);
	write_file("text",
		   "this is a log file, not a trace, and longer than the head of a trace is\n", 72);
	write_file("short_head", good, 30);
	write_file("head_only", good, TRACE_HEAD_BYTES);
	change("damaged_head", 40, 0x10);
	change_version("newer_major", 3, 0);
	change_version("newer_minor", 2, 9);
	write_file("cut_in_chunk", good, columns + 200);
	change("payload_flipped", columns + CHUNK_HEADER_BYTES + 20, 0x40);
	change_header("row_count", columns, 48, UINT32_MAX);
	change_header("decoded_bytes", columns, 64, CHUNK_MAX_PAYLOAD);
	change_header("payload_bytes", columns, 60, CHUNK_MAX_PAYLOAD);
	change_header("unknown_chunk_type", columns, 12, 99);
}

static void make_chunks(void)
{
	static uint8_t zeros[32u << 20], entry[CHUNK_INDEX_ENTRY_BYTES];
	struct chunk_header header = {.sequence = 100000, .segment = 1};
	uint8_t columns[8 + 16 + 4] = {0};

	header.type = CHUNK_ROWS;
	header.row_count = 1;
	append_chunk("zeros_as_records", &header, zeros, sizeof(zeros)); /* compresses to nothing */
	header.type = CHUNK_COLUMNS;
	header.kind = RECORD_KIND_call;
	header.row_count = 5;
	append_chunk("columns_of_zeros", &header, zeros, 8); /* no column at all: five zero calls */
	bytes_store16(columns, 1);
	bytes_store16(columns + 8, 4);
	columns[10] = 4;
	columns[11] = 200; /* an encoding that nobody knows */
	bytes_store32(columns + 12, 4);
	append_chunk("unknown_encoding", &header, columns, sizeof(columns));
	header.kind = 55;
	append_chunk("unknown_kind", &header, zeros, 100);
	header.kind = 0;
	header.type = CHUNK_INDEX;
	header.row_count = 1;
	memcpy(entry + 8, good + find_chunk(CHUNK_COLUMNS, 0), CHUNK_HEADER_BYTES);
	bytes_store64(entry, 1ull << 60);
	append_chunk("index_beyond_the_file", &header, entry, sizeof(entry));
	bytes_store64(entry, 64);
	append_chunk("index_points_elsewhere", &header, entry, sizeof(entry));
}

int main(int argc, char **argv)
{
	FILE *file;

	if (argc != 3) {
		fputs("usage: make_corrupt GOOD.gtrace DIRECTORY\n", stderr);
		return 2;
	}
	file = fopen(argv[1], "rb");
	if (!file) {
		fprintf(stderr, "make_corrupt: cannot open %s\n", argv[1]);
		return 1;
	}
	good_bytes = fread(good, 1, sizeof(good), file);
	fclose(file);
	directory = argv[2];
	make_headers();
	make_chunks();
	return 0;
}
