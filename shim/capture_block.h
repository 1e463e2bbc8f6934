/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a framework's caching allocator tells its profiler, as block records. These run under that
 * allocator's mutex: they never wait, never take a lock that anybody else holds, and never open a
 * session.
 */
#ifndef GPUTRACE_SHIM_CAPTURE_BLOCK_H
#define GPUTRACE_SHIM_CAPTURE_BLOCK_H

#include <stdint.h>

/* change: bytes, negative for a block given back. where: a c10::Device. frame: of the wrapper. */
void capture_block(const void *block, int64_t change, uint64_t allocated_bytes,
		   uint64_t reserved_bytes, uint64_t where, const void *frame);
/* From releases that do not tell the totals: only what was seen is added up. */
void capture_block_alone(const void *block, int64_t change, uint64_t where, const void *frame);
void capture_out_of_memory(int64_t wanted, uint64_t allocated_bytes, uint64_t reserved_bytes,
			   uint64_t where, const void *frame);
void capture_block_after_fork(void);

/* Finds the real functions of a loaded libc10, so that the first report need not search. Takes the
 * loader's lock: at session start, and when a library registers kernels while a session is open. */
void wrap_c10_find(void);
/* fat_binary: of the library that registers kernels. */
void wrap_c10_library_came(const void *fat_binary);

#endif
