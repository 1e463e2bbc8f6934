/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and unwrapping. A gzip file may hold several members and a zstd file several frames (both
 * appear when recordings are concatenated or written by parallel tools); garbage or a cut inside
 * one is an error that says where.
 */
#define _GNU_SOURCE /* asprintf, mkostemp */
#include "import_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "error.h"

#define INPUT_BYTES (256u * 1024)
#define PEEK_BYTES  4096u

enum wrapping { WRAPPING_NONE, WRAPPING_GZIP, WRAPPING_ZSTD };

struct import_stream {
	int fd; /* -1: memory */
	enum wrapping wrapping;
	uint64_t file_bytes, file_offset;
	unsigned char *input; /* bytes of the file */
	size_t input_begin, input_end;
	bool file_ended, ended, inside; /* inside: a member or frame is open */
	z_stream gzip;
	ZSTD_DStream *zstd;
	unsigned char peek[PEEK_BYTES]; /* unwrapped bytes that were shown but not taken */
	size_t peek_begin, peek_end;
};

/* Makes sure that the input holds something, unless the file ended. */
static int fill_input(struct import_stream *s, struct error *err)
{
	if (s->input_begin < s->input_end || s->file_ended)
		return 0;
	if (s->fd < 0) {
		s->file_ended = true;
		return 0;
	}
	ssize_t got;
	do
		got = read(s->fd, s->input, INPUT_BYTES);
	while (got < 0 && errno == EINTR);
	if (got < 0) {
		int code = -errno;
		return error_set(err, code, "cannot read: %s", strerror(-code));
	}
	s->input_begin = 0;
	s->input_end = (size_t)got;
	s->file_offset += (uint64_t)got;
	if (got == 0)
		s->file_ended = true;
	return 0;
}

static ssize_t read_plain(struct import_stream *s, unsigned char *data, size_t capacity,
			  struct error *err)
{
	int rc = fill_input(s, err);
	if (rc)
		return rc;
	size_t n = s->input_end - s->input_begin;
	if (n > capacity)
		n = capacity;
	memcpy(data, s->input + s->input_begin, n);
	s->input_begin += n;
	return (ssize_t)n;
}

static int cut_short(const struct import_stream *s, const char *what, struct error *err)
{
	return error_set(err, -EINVAL, "the %s data is cut short after %llu bytes of the file",
			 what, (unsigned long long)s->file_offset);
}

static ssize_t read_gzip(struct import_stream *s, unsigned char *data, size_t capacity,
			 struct error *err)
{
	s->gzip.next_out = data;
	s->gzip.avail_out = (uInt)capacity;
	while (s->gzip.avail_out == (uInt)capacity) {
		int rc = fill_input(s, err);
		if (rc)
			return rc;
		size_t have = s->input_end - s->input_begin;
		if (have == 0) {
			if (s->inside)
				return cut_short(s, "gzip", err);
			break;
		}
		if (!s->inside) {
			/* Zero padding after the last member is legal (gzip's own manual). */
			if (s->input[s->input_begin] == 0) {
				s->input_begin++;
				continue;
			}
			if (inflateReset(&s->gzip) != Z_OK)
				return error_set(err, -EINVAL, "cannot start the next gzip member");
			s->inside = true;
		}
		s->gzip.next_in = s->input + s->input_begin;
		s->gzip.avail_in = (uInt)have;
		rc = inflate(&s->gzip, Z_NO_FLUSH);
		s->input_begin = s->input_end - s->gzip.avail_in;
		if (rc == Z_STREAM_END)
			s->inside = false;
		else if (rc != Z_OK && rc != Z_BUF_ERROR)
			return error_set(err, -EINVAL,
					 "the gzip data is damaged near byte %llu: %s",
					 (unsigned long long)(s->file_offset - s->gzip.avail_in),
					 s->gzip.msg ? s->gzip.msg : "no reason given");
	}
	return (ssize_t)(capacity - s->gzip.avail_out);
}

static ssize_t read_zstd(struct import_stream *s, unsigned char *data, size_t capacity,
			 struct error *err)
{
	ZSTD_outBuffer out = {data, capacity, 0};
	while (out.pos == 0) {
		int rc = fill_input(s, err);
		if (rc)
			return rc;
		if (s->input_begin == s->input_end) {
			if (s->inside)
				return cut_short(s, "zstd", err);
			break;
		}
		ZSTD_inBuffer in = {s->input, s->input_end, s->input_begin};
		size_t left = ZSTD_decompressStream(s->zstd, &out, &in);
		s->input_begin = in.pos;
		if (ZSTD_isError(left))
			return error_set(
				err, -EINVAL, "the zstd data is damaged near byte %llu: %s",
				(unsigned long long)(s->file_offset - s->input_end + in.pos),
				ZSTD_getErrorName(left));
		s->inside = left != 0;
	}
	return (ssize_t)out.pos;
}

static ssize_t read_unwrapped(struct import_stream *s, unsigned char *data, size_t capacity,
			      struct error *err)
{
	if (s->ended || capacity == 0)
		return 0;
	if (capacity > (1u << 30))
		capacity = 1u << 30; /* zlib counts in unsigned int */
	ssize_t got;
	switch (s->wrapping) {
	case WRAPPING_GZIP:
		got = read_gzip(s, data, capacity, err);
		break;
	case WRAPPING_ZSTD:
		got = read_zstd(s, data, capacity, err);
		break;
	default:
		got = read_plain(s, data, capacity, err);
		break;
	}
	if (got == 0)
		s->ended = true;
	return got;
}

static int choose_wrapping(struct import_stream *s, struct error *err)
{
	int rc = fill_input(s, err);
	if (rc)
		return rc;
	const unsigned char *p = s->input + s->input_begin;
	size_t have = s->input_end - s->input_begin;
	if (have >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8) {
		s->wrapping = WRAPPING_GZIP;
		/* 16: a gzip header is expected; 15: the largest window. */
		if (inflateInit2(&s->gzip, 16 + 15) != Z_OK)
			return error_set(err, -ENOMEM, "cannot start zlib");
		s->inside = true;
	} else if (have >= 4 && !memcmp(p, "\x28\xb5\x2f\xfd", 4)) {
		s->wrapping = WRAPPING_ZSTD;
		s->zstd = ZSTD_createDStream();
		if (!s->zstd)
			return error_set(err, -ENOMEM, "cannot start zstd");
		/* A larger window than 128 MiB would be a bomb, not a recording. */
		ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, 27);
	}
	return 0;
}

int import_stream_open(const char *path, struct import_stream **out, struct error *err)
{
	struct import_stream *s = calloc(1, sizeof(*s));
	struct stat st;
	int rc;

	if (!s)
		return error_set(err, -ENOMEM, "out of memory");
	s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (s->fd < 0) {
		rc = error_set(err, -errno, "cannot open: %s", strerror(errno));
		goto free_stream;
	}
	if (fstat(s->fd, &st)) {
		rc = error_set(err, -errno, "cannot look at it: %s", strerror(errno));
		goto close_fd;
	}
	if (S_ISDIR(st.st_mode)) {
		rc = error_set(err, -EISDIR, "is a directory, not a recording");
		goto close_fd;
	}
	s->file_bytes = st.st_size > 0 ? (uint64_t)st.st_size : 0;
	s->input = malloc(INPUT_BYTES);
	if (!s->input) {
		rc = error_set(err, -ENOMEM, "out of memory");
		goto close_fd;
	}
	rc = choose_wrapping(s, err);
	if (rc)
		goto free_input;
	*out = s;
	return 0;

free_input:
	free(s->input);
close_fd:
	close(s->fd);
free_stream:
	free(s);
	return rc;
}

int import_stream_open_memory(const void *data, size_t bytes, struct import_stream **out,
			      struct error *err)
{
	struct import_stream *s = calloc(1, sizeof(*s));
	if (!s)
		return error_set(err, -ENOMEM, "out of memory");
	s->fd = -1;
	s->input = malloc(bytes ? bytes : 1);
	if (!s->input) {
		free(s);
		return error_set(err, -ENOMEM, "out of memory");
	}
	if (bytes)
		memcpy(s->input, data, bytes);
	s->input_end = bytes;
	s->file_bytes = s->file_offset = bytes;
	int rc = choose_wrapping(s, err);
	if (rc) {
		import_stream_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

void import_stream_close(struct import_stream *s)
{
	if (!s)
		return;
	if (s->wrapping == WRAPPING_GZIP)
		inflateEnd(&s->gzip);
	if (s->zstd)
		ZSTD_freeDStream(s->zstd);
	if (s->fd >= 0)
		close(s->fd);
	free(s->input);
	free(s);
}

ssize_t import_stream_read(struct import_stream *s, void *data, size_t capacity, struct error *err)
{
	if (s->peek_begin < s->peek_end) {
		size_t n = s->peek_end - s->peek_begin;
		if (n > capacity)
			n = capacity;
		memcpy(data, s->peek + s->peek_begin, n);
		s->peek_begin += n;
		return (ssize_t)n;
	}
	return read_unwrapped(s, data, capacity, err);
}

ssize_t import_stream_peek(struct import_stream *s, const unsigned char **data, size_t bytes,
			   struct error *err)
{
	if (bytes > PEEK_BYTES)
		bytes = PEEK_BYTES;
	memmove(s->peek, s->peek + s->peek_begin, s->peek_end - s->peek_begin);
	s->peek_end -= s->peek_begin;
	s->peek_begin = 0;
	while (s->peek_end < bytes) {
		ssize_t got = read_unwrapped(s, s->peek + s->peek_end, bytes - s->peek_end, err);
		if (got < 0)
			return got;
		if (got == 0)
			break;
		s->peek_end += (size_t)got;
	}
	*data = s->peek;
	return (ssize_t)s->peek_end;
}

uint64_t import_stream_file_offset(const struct import_stream *s)
{
	return s->file_offset - (s->input_end - s->input_begin);
}

uint64_t import_stream_file_bytes(const struct import_stream *s)
{
	return s->file_bytes;
}

const char *import_stream_wrapping(const struct import_stream *s)
{
	return s->wrapping == WRAPPING_GZIP ? "gzip" : s->wrapping == WRAPPING_ZSTD ? "zstd" : "";
}

static int write_all(int fd, const unsigned char *data, size_t bytes, struct error *err)
{
	while (bytes) {
		ssize_t n = write(fd, data, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(err, -errno, "cannot unwrap it into a temporary file: %s",
					 strerror(errno));
		data += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int copy_unwrapped(struct import_stream *s, int fd, struct error *err)
{
	unsigned char *block = malloc(INPUT_BYTES);
	int rc = block ? 0 : error_set(err, -ENOMEM, "out of memory");
	while (!rc) {
		ssize_t got = import_stream_read(s, block, INPUT_BYTES, err);
		if (got <= 0) {
			rc = (int)got;
			break;
		}
		rc = write_all(fd, block, (size_t)got, err);
	}
	free(block);
	return rc;
}

int import_stream_unwrap(struct import_stream *s, const char *path, char **out, bool *is_copy,
			 struct error *err)
{
	*is_copy = s->wrapping != WRAPPING_NONE || s->fd < 0;
	if (!*is_copy) {
		*out = strdup(path);
		return *out ? 0 : error_set(err, -ENOMEM, "out of memory");
	}
	const char *folder = getenv("TMPDIR");
	if (!folder || !*folder)
		folder = "/tmp";
	if (asprintf(out, "%s/gputrace-import-XXXXXX", folder) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	int fd = mkostemp(*out, O_CLOEXEC);
	int rc;
	if (fd < 0) {
		rc = error_set(err, -errno, "cannot make a temporary file in %s: %s", folder,
			       strerror(errno));
		free(*out);
		return rc;
	}
	rc = copy_unwrapped(s, fd, err);
	close(fd);
	if (rc) {
		unlink(*out);
		free(*out);
	}
	return rc;
}
