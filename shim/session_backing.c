/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing here may harm the traced process: the file size limit is looked at before a file grows
 * (else SIGXFSZ), every page is allocated before it is touched (else SIGBUS when memory is short),
 * and of /dev/shm, which programs need for themselves, at most a quarter of what is free is used. A
 * file on a disk is no choice: a thread that writes to its pages can wait for the disk.
 */
#include "session_backing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "shim_log.h"
#include "ticks.h"

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC	  1u
#define MFD_ALLOW_SEALING 2u
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS   1033
#define F_SEAL_SEAL   1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW   4
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define FIRST_DESCRIPTOR 1000
#define SHM_FOLDER	 "/dev/shm"
#define SHM_SHARE	 4u /* of what is free there */
#define TMPFS_NUMBER	 0x01021994
#define NAME_ATTEMPTS	 8
#define PAGE_LARGEST	 65536u
#define PAGE_SMALLEST	 4096u

static int move_up(int fd)
{
	for (int lowest = FIRST_DESCRIPTOR; lowest > 3; lowest /= 2) {
		int high = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
		if (high >= 0) {
			close(fd);
			return high;
		}
	}
	return fd;
}

/* Sizes the file and backs its beginning; closes it when that fails. */
static int fill_file(int fd, uint64_t least_bytes, bool is_memfd, struct session_backing *backing)
{
	fd = move_up(fd);
	if (ftruncate(fd, (off_t)backing->size_bytes) || fallocate(fd, 0, 0, (off_t)least_bytes) ||
	    (is_memfd && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))) {
		int rc = -errno;
		close(fd);
		return rc;
	}
	backing->fd = fd;
	return 0;
}

static int open_memfd(uint64_t least_bytes, struct session_backing *backing)
{
	int fd = (int)syscall(SYS_memfd_create, "gputrace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fill_file(fd, least_bytes, true, backing);
}

/* Its name tells `gputrace ps` what it is, and is gone at once. */
static int open_shm(uint64_t least_bytes, struct session_backing *backing)
{
	struct statfs space;
	char path[64];
	int fd = -1;

	if (statfs(SHM_FOLDER, &space))
		return -errno;
	if ((long)space.f_type != TMPFS_NUMBER)
		return -EOPNOTSUPP;
	uint64_t free_bytes = (uint64_t)space.f_bavail * (uint64_t)space.f_bsize / SHM_SHARE;
	if (space.f_blocks && free_bytes < backing->size_bytes)
		backing->size_bytes = free_bytes & ~(uint64_t)(PAGE_LARGEST - 1);
	if (backing->size_bytes < least_bytes + PAGE_LARGEST)
		return -ENOSPC;
	for (int attempt = 0; fd < 0 && attempt < NAME_ATTEMPTS; attempt++) {
		snprintf(path, sizeof(path), SHM_FOLDER "/gputrace.%d.%llx", (int)getpid(),
			 (unsigned long long)ticks_monotonic());
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		return -errno;
	unlink(path);
	return fill_file(fd, least_bytes, false, backing);
}

/* Shared, so that a fork does not make us pay for copies of its pages. */
static int open_own(uint64_t least_bytes, struct session_backing *backing)
{
	void *base = mmap(NULL, backing->size_bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return -errno;
	backing->base = base;
	int rc = session_backing_populate(backing, 0, least_bytes);
	if (rc) {
		munmap(base, backing->size_bytes);
		backing->base = NULL;
	}
	return rc;
}

int session_backing_open(uint64_t size_bytes, uint64_t least_bytes, struct session_backing *backing)
{
	struct rlimit limit;
	uint64_t file_bytes = size_bytes;
	int rc = -EFBIG;

	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	    limit.rlim_cur < size_bytes)
		file_bytes = limit.rlim_cur & ~(uint64_t)(PAGE_LARGEST - 1);
	/* A trace is a file too: where none can grow, memory is of no use. */
	if (file_bytes < least_bytes + PAGE_LARGEST)
		return rc;
	*backing = (struct session_backing){.fd = -1, .size_bytes = file_bytes};
	rc = open_memfd(least_bytes, backing);
	if (!rc)
		return 0;
	SHIM_LOG(WARN, "no memfd: %s", strerror(-rc));
	backing->kind = "a file in " SHM_FOLDER ", since memfd_create() is refused";
	rc = open_shm(least_bytes, backing);
	if (!rc)
		return 0;
	SHIM_LOG(WARN, "no file in " SHM_FOLDER ": %s", strerror(-rc));
	*backing = (struct session_backing){.fd = -1, .size_bytes = size_bytes};
	backing->kind = "memory of the process, since neither memfd_create() nor " SHM_FOLDER
			" can be used";
	return open_own(least_bytes, backing);
}

int session_backing_populate(const struct session_backing *backing, uint64_t offset,
			     uint64_t size_bytes)
{
	if (!backing->base)
		return fallocate(backing->fd, 0, (off_t)offset, (off_t)size_bytes) ? -errno : 0;
	if (!madvise(backing->base + offset, size_bytes, MADV_POPULATE_WRITE))
		return 0;
	if (errno != EINVAL)
		return -errno;
	/* Kernels before 5.14. */
	for (uint64_t at = 0; at < size_bytes; at += PAGE_SMALLEST)
		((volatile unsigned char *)backing->base)[offset + at] = 0;
	return 0;
}
