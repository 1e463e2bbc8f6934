/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A collector holds a lock on the file that it writes and finishes soon after its job; waiting for
 * it makes `train.py && gputrace gate` work.
 */
#include "trace_file_open.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "error.h"
#include "trace_walk.h"

#define LOCK_WAIT_MS 10000
#define LOCK_POLL_MS 10

/* After the wait the file is read as it is: the job goes on. */
static void wait_for_writer(int fd)
{
	const struct timespec pause = {.tv_nsec = LOCK_POLL_MS * 1000000L};

	for (int waited_ms = 0; waited_ms < LOCK_WAIT_MS; waited_ms += LOCK_POLL_MS) {
		if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
			flock(fd, LOCK_UN);
			return;
		}
		if (errno != EWOULDBLOCK && errno != EINTR)
			return;
		nanosleep(&pause, NULL);
	}
}

int trace_file_open(struct trace_file *file, const char *path, bool waits, struct error *err)
{
	struct stat status;

	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0)
		return error_set(err, -errno, "%s", strerror(errno));
	if (fstat(file->fd, &status) < 0)
		return error_set(err, -errno, "%s", strerror(errno));
	if (S_ISDIR(status.st_mode))
		return error_set(err, -EISDIR, "it is a directory");
	if (!S_ISREG(status.st_mode))
		return error_set(err, -EINVAL, "it is not a regular file");
	if (waits)
		wait_for_writer(file->fd);
	if (fstat(file->fd, &status) < 0)
		return error_set(err, -errno, "%s", strerror(errno));
	file->bytes = (uint64_t)status.st_size;
	return 0;
}

int trace_file_read_head(const struct trace_file *file, struct trace_head *head, struct error *err)
{
	uint8_t bytes[TRACE_HEAD_BYTES];

	if (file->bytes == 0)
		return error_set(err, -EINVAL, "the file is empty");
	if (!trace_file_read(file, 0, bytes, sizeof(bytes)))
		return error_set(err, -EINVAL,
				 "not a gputrace trace: it has %llu bytes, a trace at least %d",
				 (unsigned long long)file->bytes, TRACE_HEAD_BYTES);
	if (memcmp(bytes + 8, TRACE_HEAD_MAGIC, 8) != 0)
		return error_set(err, -EINVAL, "not a gputrace trace: it does not begin as one");
	if (!trace_head_load(bytes, head))
		return error_set(err, -EINVAL, "the head of the trace is damaged");
	if (head->version_major > TRACE_VERSION_MAJOR)
		return error_set(
			err, -EINVAL,
			"the trace has format version %u.%u; this program reads up to %d.x",
			head->version_major, head->version_minor, TRACE_VERSION_MAJOR);
	return 0;
}
