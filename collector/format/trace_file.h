/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace file: how chunks stand on disk. FORMAT.md specifies it for other programs; this header
 * is the same in C. Numbers are little-endian and read through bytes.h, never by a cast.
 *
 *   file   = file head, segment...
 *   segment = SEGMENT chunk, then ROWS and COLUMNS chunks in any order, PATTERNS before EVENTS
 *   last   = END chunk, then INDEX chunk (both missing when the writer was killed)
 *
 * Every chunk is one zstd skippable frame (its header) followed by its payload: zstd frames, or,
 * where CHUNK_STORED is set, a second skippable frame. So `zstd -t` verifies a file and a reader
 * that knows only zstd skips what it does not know.
 *
 * How the 50 ms tail works. Committed host records are appended as ROWS chunks with CHUNK_TAIL.
 * Later the same records are written as COLUMNS chunks whose covers_sequence says which tail chunks
 * they replace: first appended behind the tail, then copied over it, then the file is cut. Killed
 * at any point, the file holds every record in at least one valid chunk: the reader drops tail
 * chunks with sequence <= the largest covers_sequence seen in the file, drops chunks whose sequence
 * number it has already read, and where a header is not valid searches on, 8 bytes at a time, for
 * the next one. For that every chunk starts at a multiple of 8 and payloads are padded.
 */
#ifndef GPUTRACE_FORMAT_TRACE_FILE_H
#define GPUTRACE_FORMAT_TRACE_FILE_H

#include <stdint.h>

#define TRACE_VERSION_MAJOR 2 /* a reader refuses a newer major */
#define TRACE_VERSION_MINOR 1 /* a reader skips what a newer minor added */

/* zstd's skippable frame magics are 0x184D2A50 .. 5F; 8 bytes of frame header precede our bytes. */
#define TRACE_FRAME_HEAD    0x184D2A50u /* the file head */
#define TRACE_FRAME_CHUNK   0x184D2A51u /* a chunk header */
#define TRACE_FRAME_STORED  0x184D2A52u /* an uncompressed payload */
#define TRACE_FRAME_PADDING 0x184D2A53u /* fills up to a multiple of 8 (at least 8 bytes) */

#define TRACE_HEAD_MAGIC "gputrace" /* 8 bytes at offset 8 of the file */

/* File head: 64 bytes.
 *   0 u32 TRACE_FRAME_HEAD   4 u32 56            8 char[8] TRACE_HEAD_MAGIC
 *  16 u16 major             18 u16 minor        20 u32 feature bits (0; unknown ones are ignored)
 *  24 u64 session start, CLOCK_REALTIME ns      32 u8[16] session id (random)
 *  48 u32 clock kind (ring.h enum ring_clock). 0 for imports: one tick is one ns, and the CLOCK
 *         record says which tick is the session's start (and its calendar time, if it is known;
 *         it then goes before byte 24, which an importer cannot know when it writes the head)
 *  52 u32 reserved          56 u32 reserved     60 u32 crc32c of bytes 0..59
 */
#define TRACE_HEAD_BYTES 64

enum chunk_type {
	CHUNK_SEGMENT = 1, /* starts a segment: dictionaries start anew; no payload */
	CHUNK_ROWS = 2,	   /* records as in record.h, back to back, of one thread */
	CHUNK_COLUMNS = 3, /* records of one fixed-size kind, column by column */
	CHUNK_END = 4,	   /* normal end: payload is empty; header says how the session ended */
	CHUNK_INDEX = 5, /* one entry per chunk that counts: u64 file offset, its 88-byte header */
	CHUNK_PATTERNS = 6, /* what repeats of the segment's events, written before them */
	CHUNK_EVENTS = 7    /* calls of all kinds, or GPU work of all kinds, in drained order */
};

enum chunk_flag {
	CHUNK_STORED = 1, /* payload is not compressed */
	CHUNK_TAIL = 2	  /* ROWS of the 50 ms tail, to be replaced by columns */
};

/* In the END chunk's `kind`. */
enum session_end {
	SESSION_EXITED = 1, /* the process ended normally and the shim said so */
	SESSION_KILLED = 2, /* the process vanished; everything committed is in the file */
	SESSION_EXECED = 3, /* replaced itself by exec */
	SESSION_IMPORTED = 4
};

/* Chunk header: 88 bytes.
 *   0 u32 TRACE_FRAME_CHUNK  4 u32 80
 *   8 u32 CHUNK_MAGIC       12 u16 chunk_type   14 u16 record kind (COLUMNS), session_end (END)
 *  16 u64 sequence (unique in the file, grows with creation, starts at 1)
 *  24 u64 covers_sequence (last chunk of a group: everything up to here was settled before the
 *     group began, tail chunks up to here are replaced by it; 0 in all other chunks)
 *  32 u64 first time        40 u64 last time   (ticks for host kinds, gpu_ns for GPU kinds)
 *  48 u32 row count         52 u32 thread (ROWS; COLUMNS have a thread column)
 *  56 u32 flags             60 u32 payload bytes on disk, with its frame header, without padding
 *  64 u32 payload bytes decoded
 *  68 u32 crc32c of the payload bytes on disk   72 u32 segment number, from 1
 *  76 u64 complete ticks: host records committed before this tick are in the file up to here
 *     (0 unknown; in the END chunk: the last drain)            84 u32 crc32c of bytes 0..83
 *
 * A group of COLUMNS/ROWS chunks is complete only when its last chunk is there: only that one
 * carries covers_sequence. So a ROWS or COLUMNS chunk without CHUNK_TAIL whose sequence is larger
 * than that of a tail chunk that nobody covers belongs to a group that was cut short: its records
 * are in the tail too, and the reader takes the tail's.
 */
#define CHUNK_MAGIC	   0x4b434754u /* "TGCK" */
#define CHUNK_HEADER_BYTES 88
#define CHUNK_MAX_PAYLOAD  (64u * 1024 * 1024) /* decoded; larger is refused as damage */
#define CHUNK_MAX_ROWS	   65536u

/*
 * COLUMNS payload: u16 column count, u16 reserved, u32 reserved, then a directory of entries:
 *
 *   u16 column id (record_schema.h; 0 is the thread column), u8 width in bytes, u8 encoding,
 *   u32 encoded bytes, u64 base value
 *
 * then the encoded columns in directory order. A column that is not there reads as zeros; an
 * unknown encoding makes its column absent.
 *
 * Most encodings store differences, as zigzag numbers that wrap in 64 bits, in one of two forms:
 *
 *   VARINT  LEB128, row after row
 *   PLANES  u8 n (0 .. 8), then n planes: the lowest byte of every row, the next byte, ...
 *
 * "Other" is the column of the same chunk whose id is the base value; one that is an OFFSET or
 * DRIFT itself is none.
 */
enum column_encoding {
	/* width bytes per row */
	COLUMN_PLAIN = 1,
	/* every row has the base value; no bytes */
	COLUMN_CONSTANT = 2,
	/* difference to the row before; row 0: to base */
	COLUMN_DELTA_VARINT = 3,
	/* u32 n, n values of width bytes, then u8 (n <= 256) or u16 per row */
	COLUMN_DICTIONARY = 4,
	/* difference to the other column in the same row, e.g. end_ticks against begin_ticks */
	COLUMN_OFFSET_VARINT = 5,
	COLUMN_DELTA_PLANES = 6,
	COLUMN_OFFSET_PLANES = 7,
	/* difference to the other column in the row before, e.g. begin_ticks against the previous
	 * end_ticks; the other column is an OFFSET against this one. Row 0: difference to the u64
	 * that stands before the planes */
	COLUMN_GAP_PLANES = 8,
	/* like OFFSET, but the change of the difference since the row before (row 0: since 0), e.g.
	 * correlation against call_id */
	COLUMN_DRIFT_PLANES = 9,
	/* a GAP and an OFFSET, less what time_predict.h guesses; base: the other column, and in
	 * bits 16..31 the column of the keys */
	COLUMN_GAP_PREDICTED = 10,
	COLUMN_OFFSET_PREDICTED = 11
};

/*
 * PATTERNS payload: u32 first number, u32 count, then for each pattern the guesses to start a chunk
 * from, and the record: what of it is no part of the pattern is 0.
 *   i32 gap, i32 duration, u32 correlation step, u32 call step, u32 parent back, u16 flags, u16
 * chain
 *
 * EVENTS payload: the head
 *   u32 lanes, u32 runs, u32 kinds, u32 bytes of extras, u32 rows, u32[3] reserved
 * then per lane u32 thread; per run of rows u32 lane, u32 rows; per kind u32 kind, u32 rows; then
 * one byte per row in each of: control, gap low, gap high, duration low, duration high; then
 * extras.
 *
 * Both say in the header's kind whose they are: 16 (calls) or 32 (GPU work). The header's thread
 * field of an EVENTS chunk has a bit for each kind that is in it, counted from kind 16.
 */
#define PATTERNS_HEAD_BYTES 8
#define PATTERN_HEAD_BYTES  24
#define EVENTS_HEAD_BYTES   32
#define EVENTS_LANE_BYTES   4
#define EVENTS_RUN_BYTES    8
#define EVENTS_KIND_BYTES   8
#define EVENTS_PLANES	    5 /* bytes per row that stand in planes */
#define EVENTS_FIRST_KIND   16u
#define EVENTS_KIND_COUNT   32u

#define SEGMENT_MAX_BYTES   (64u * 1024 * 1024)
#define SEGMENT_MAX_SECONDS 60

#endif
