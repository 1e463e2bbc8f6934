/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifies every byte of a trace file that has a checksum, whatever its index says: the head, each
 * chunk's header and payload, and that what is inside can be decoded.
 */
#ifndef GPUTRACE_TRACE_CHECK_H
#define GPUTRACE_TRACE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace_walk.h"

struct error;

enum chunk_verdict {
	CHUNK_WHOLE = 1,
	CHUNK_DAMAGED,	  /* its checksum is wrong, or it cannot be decompressed or decoded */
	CHUNK_UNREADABLE, /* undamaged, of a kind that only a newer version knows */
	CHUNK_GAP	  /* bytes where no chunk stands */
};

struct checked_chunk {
	enum chunk_verdict verdict;
	bool is_spare; /* damaged, but the same records stand elsewhere in the file, whole */
	uint64_t offset, bytes;
	struct chunk_header header; /* zeros in a gap */
};

struct trace_check {
	uint64_t file_bytes;
	bool head_is_whole;
	struct checked_chunk *chunks; /* in file order; owned */
	size_t count, capacity;
	uint32_t whole, damaged, spare, unreadable;
	uint64_t gap_bytes;	   /* without those that follow */
	uint64_t unfinished_bytes; /* at the end of a file that was cut short: part of a chunk */
	uint64_t rows;		   /* in whole chunks that count */
	uint64_t damaged_rows;	   /* as the headers of damaged chunks say */
	uint16_t session_end;	   /* enum session_end, 0: no END chunk */
	bool has_index;		   /* an INDEX chunk ends the file */
	bool index_is_right;	   /* and its entries are what stands in the file */
};

/* 0, or a negative code with the reason in *err when the file is not a trace at all or cannot be
 * read; damage is no error. trace_check_fini() in either case. */
int trace_check(const char *path, struct trace_check *check, struct error *err);
void trace_check_fini(struct trace_check *check);
/* Nothing is missing and nothing is wrong. A file without an end can be that. */
bool trace_check_is_clean(const struct trace_check *check);

#endif
