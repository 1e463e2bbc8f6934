/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing a tail: the new bytes go behind it, are then copied over it, and the file is cut. A
 * kill during the first step leaves the tail, during the second the copy behind the tail, before
 * the cut both copies. That needs the two places not to overlap, so new bytes that are longer than
 * the tail stay behind it and the tail stays as dead bytes (readers know by covers_sequence).
 */
#define _GNU_SOURCE
#include "trace_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "error.h"

ssize_t (*trace_output_pwrite)(int fd, const void *data, size_t bytes, off_t offset) = pwrite;

static int write_all(const struct trace_output *output, const void *data, size_t bytes,
		     uint64_t offset, struct error *err)
{
	const char *at = data;

	while (bytes > 0) {
		ssize_t done = trace_output_pwrite(output->fd, at, bytes, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			int code = done < 0 ? errno : EIO;

			return error_set(err, -code, "cannot write %zu bytes at %llu: %s", bytes,
					 (unsigned long long)offset, strerror(code));
		}
		at += done;
		bytes -= (size_t)done;
		offset += (uint64_t)done;
	}
	return 0;
}

/* A cut that fails leaves bytes that no valid chunk header announces; readers skip them. */
static void cut_file(const struct trace_output *output, uint64_t end)
{
	int rc;

	do {
		rc = ftruncate(output->fd, (off_t)end);
	} while (rc < 0 && errno == EINTR);
}

int trace_output_create(struct trace_output *output, int dir_fd, const char *name,
			struct error *err)
{
	int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0) {
		int code = errno;

		return error_set(err, -code, "cannot create %s: %s", name, strerror(code));
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		close(fd);
		return error_set(err, -EWOULDBLOCK, "%s is locked by another program", name);
	}
	*output = (struct trace_output){.fd = fd};
	/* Only a plain name can be given to another file later. */
	output->dir_fd = strchr(name, '/') ? -1 : fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	snprintf(output->name, sizeof(output->name), "%s", name);
	return 0;
}

int trace_output_add_tail(struct trace_output *output, const void *data, size_t bytes,
			  struct error *err)
{
	int rc = write_all(output, data, bytes, output->tail_end, err);

	if (rc < 0)
		cut_file(output, output->tail_end);
	else
		output->tail_end += bytes;
	return rc;
}

int trace_output_replace_tail(struct trace_output *output, const void *data, size_t bytes,
			      uint64_t *offset, struct error *err)
{
	uint64_t tail_bytes = output->tail_end - output->end;
	uint64_t final = output->tail_end;
	int rc = write_all(output, data, bytes, output->tail_end, err);

	if (rc < 0) {
		cut_file(output, output->tail_end);
		if (tail_bytes == 0 || bytes > tail_bytes)
			return rc;
		/* No room for both. Overwriting the tail is not safe against a kill right now, but
		 * it makes the file smaller, and a full disk loses everything that follows. */
		rc = write_all(output, data, bytes, output->end, err);
		if (rc < 0)
			return rc;
		final = output->end;
	} else if (tail_bytes > 0 && bytes <= tail_bytes &&
		   write_all(output, data, bytes, output->end, NULL) == 0) {
		final = output->end;
	}
	output->end = final + bytes;
	if (final + bytes < output->tail_end + bytes)
		cut_file(output, output->end);
	output->tail_end = output->end;
	*offset = final;
	return 0;
}

/* ---- dropping the beginning ---- */

#define COPY_BYTES 65536

int trace_output_copy(const struct trace_output *from, uint64_t begin, uint64_t end,
		      struct trace_output *to, struct error *err)
{
	char buffer[COPY_BYTES];

	while (begin < end) {
		size_t bytes =
			end - begin < sizeof(buffer) ? (size_t)(end - begin) : sizeof(buffer);
		ssize_t done = pread(from->fd, buffer, bytes, (off_t)begin);
		int rc;

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return error_set(err, done < 0 ? -errno : -EIO, "cannot read %s again: %s",
					 from->name,
					 done < 0 ? strerror(errno) : "it is shorter than written");
		rc = write_all(to, buffer, (size_t)done, to->end, err);
		if (rc < 0)
			return rc;
		begin += (uint64_t)done;
		to->end += (uint64_t)done;
	}
	return 0;
}

static void spare_name(const struct trace_output *output, char *name, size_t bytes)
{
	snprintf(name, bytes, ".%s.rotating", output->name);
}

int trace_output_open_spare(const struct trace_output *output, struct trace_output *spare,
			    struct error *err)
{
	char name[sizeof(output->name) + 16];

	*spare = (struct trace_output){.fd = -1, .dir_fd = -1};
	if (output->dir_fd < 0)
		return error_set(err, -EBADF, "the directory of %s is not open", output->name);
	/* Without a name a killed writer leaves nothing behind. */
	spare->fd = openat(output->dir_fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (spare->fd < 0) {
		spare_name(output, name, sizeof(name));
		spare->fd = openat(output->dir_fd, name,
				   O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
		snprintf(spare->name, sizeof(spare->name), "%.*s", (int)sizeof(spare->name) - 1,
			 name);
	}
	if (spare->fd < 0)
		return error_set(err, -errno, "cannot create a second file beside %s: %s",
				 output->name, strerror(errno));
	flock(spare->fd, LOCK_EX | LOCK_NB);
	return 0;
}

int trace_output_take_spare(struct trace_output *output, struct trace_output *spare,
			    struct error *err)
{
	char name[sizeof(output->name) + 16], link[64];

	spare_name(output, name, sizeof(name));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", spare->fd);
	if (!spare->name[0]) {
		unlinkat(output->dir_fd, name, 0);
		if (linkat(AT_FDCWD, link, output->dir_fd, name, AT_SYMLINK_FOLLOW) < 0)
			return error_set(err, -errno, "cannot name the second file: %s",
					 strerror(errno));
	}
	if (renameat(output->dir_fd, name, output->dir_fd, output->name) < 0) {
		int code = errno;

		unlinkat(output->dir_fd, name, 0);
		return error_set(err, -code, "cannot rename the second file: %s", strerror(code));
	}
	flock(output->fd, LOCK_UN);
	close(output->fd);
	output->fd = spare->fd;
	output->end = spare->end;
	output->tail_end = spare->end;
	spare->fd = -1;
	return 0;
}

void trace_output_drop_spare(const struct trace_output *output, struct trace_output *spare)
{
	if (spare->fd < 0)
		return;
	if (spare->name[0])
		unlinkat(output->dir_fd, spare->name, 0);
	close(spare->fd);
	spare->fd = -1;
}

void trace_output_cut(struct trace_output *output, uint64_t end)
{
	output->end = end;
	output->tail_end = end;
	cut_file(output, end);
}

void trace_output_close(struct trace_output *output)
{
	if (output->fd < 0)
		return;
	/* Explicitly, because a forked child of the job may hold a copy of the descriptor. */
	flock(output->fd, LOCK_UN);
	close(output->fd);
	output->fd = -1;
	if (output->dir_fd >= 0)
		close(output->dir_fd);
	output->dir_fd = -1;
}
