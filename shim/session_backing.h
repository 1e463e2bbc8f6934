/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a session's memory comes from: a sealed memfd; else, where that is refused (seccomp, old
 * kernels), a nameless file in /dev/shm; else memory of the process itself, which only a thread of
 * the process can drain. Used by session_memory.c only.
 */
#ifndef GPUTRACE_SHIM_SESSION_BACKING_H
#define GPUTRACE_SHIM_SESSION_BACKING_H

#include <stdint.h>

struct session_backing {
	int fd;		     /* close-on-exec and above the numbers that programs use; -1: none */
	unsigned char *base; /* the whole memory is mapped here; NULL: it is mapped by parts */
	uint64_t size_bytes;
	const char *kind; /* for the trace: what it is instead of a memfd; NULL: it is one */
};

/* Room for size_bytes, or less where limits say so; the first least_bytes are backed by pages. 0 or
 * -errno. */
int session_backing_open(uint64_t size_bytes, uint64_t least_bytes,
			 struct session_backing *backing);
/* Backs a range by pages before it is touched. 0 or -errno. */
int session_backing_populate(const struct session_backing *backing, uint64_t offset,
			     uint64_t size_bytes);

#endif
