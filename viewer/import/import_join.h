/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins host copies and sets with what the GPU did for them: recordings give the bytes, direction
 * and kinds of memory with the GPU's event only. Either side may come first.
 */
#ifndef GPUTRACE_IMPORT_JOIN_H
#define GPUTRACE_IMPORT_JOIN_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"

struct import_sink;
struct import_sites;
struct import_join;

struct join_facts {
	uint64_t size_bytes;
	uint32_t device;
	uint32_t peer_device;
	uint8_t direction, source_kind, destination_kind;
};

struct import_join *import_join_new(struct import_sink *sink, struct import_sites *sites);
void import_join_free(struct import_join *join);
/* Takes a record_copy or record_set whose call has a correlation; it goes to the sink when its
 * facts are known, or at import_join_flush() without them. */
void import_join_call(struct import_join *join, uint32_t thread, const void *record);
void import_join_gpu(struct import_join *join, uint32_t correlation,
		     const struct join_facts *facts);
/*
 * Holds a GEMM whose operands' layout is not known until the name of its kernel tells it
 * ("..._128x64_tn_align8"): product -> launch inside it -> kernel of that launch.
 */
void import_join_gemm(struct import_join *join, uint32_t thread, const struct record_gemm *gemm);
void import_join_launch(struct import_join *join, uint32_t thread, uint32_t gemm_call_id,
			uint32_t correlation);
/* kernel: its NAME_KERNEL number, so that a name is looked at once. */
void import_join_kernel(struct import_join *join, uint32_t correlation, uint64_t kernel,
			const char *name, size_t name_length);
void import_join_flush(struct import_join *join);

#endif
