/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a recording, whatever they are wrapped in: plain, gzip or zstd, told apart by their
 * first bytes. First stage of `gputrace import`; knows nothing about what the bytes mean.
 */
#ifndef GPUTRACE_IMPORT_STREAM_H
#define GPUTRACE_IMPORT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct import_stream;

int import_stream_open(const char *path, struct import_stream **out, struct error *err);
/* A plain, unwrapped view of memory that the caller keeps (tests, fuzzing). */
int import_stream_open_memory(const void *data, size_t bytes, struct import_stream **out,
			      struct error *err);
void import_stream_close(struct import_stream *stream);

/* Up to `capacity` bytes; 0 at the end; negative with the reason in *err. */
ssize_t import_stream_read(struct import_stream *stream, void *data, size_t capacity,
			   struct error *err);
/* Shows the first bytes without taking them; fewer only when the recording is shorter. */
ssize_t import_stream_peek(struct import_stream *stream, const unsigned char **data, size_t bytes,
			   struct error *err);

/* Bytes of the file taken so far and its size, for progress. */
uint64_t import_stream_file_offset(const struct import_stream *stream);
uint64_t import_stream_file_bytes(const struct import_stream *stream);
/* "", "gzip" or "zstd". */
const char *import_stream_wrapping(const struct import_stream *stream);

/*
 * A named file with the whole unwrapped content, for readers that must seek (SQLite): the recording
 * itself, or a copy in $TMPDIR, which the caller must unlink when *is_copy. The caller frees *out.
 */
int import_stream_unwrap(struct import_stream *stream, const char *path, char **out, bool *is_copy,
			 struct error *err);

#endif
