/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins host copies and sets with what the GPU did for them: recordings give the bytes, direction
 * and kinds of memory with the GPU's event only. Either side may come first.
 */
#ifndef GPUTRACE_IMPORT_JOIN_H
#define GPUTRACE_IMPORT_JOIN_H

#include <stdint.h>

#include "record.h"

struct import_sink;
struct import_join;

struct join_facts {
	uint64_t size_bytes;
	uint32_t device;
	uint32_t peer_device;
	uint8_t direction, source_kind, destination_kind;
};

struct import_join *import_join_new(struct import_sink *sink);
void import_join_free(struct import_join *join);
/* Takes a record_copy or record_set whose call has a correlation; it goes to the sink when its
 * facts are known, or at import_join_flush() without them. */
void import_join_call(struct import_join *join, uint32_t thread, const void *record);
void import_join_gpu(struct import_join *join, uint32_t correlation,
		     const struct join_facts *facts);
void import_join_flush(struct import_join *join);

#endif
