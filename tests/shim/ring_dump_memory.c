/* SPDX-License-Identifier: Apache-2.0 */
/* Prints addresses of pools as numbers from 1 in the order of their appearance: they stay the same
 * from run to run. */
#include "ring_dump_memory.h"

#include <inttypes.h>

#define POOLS 64

static unsigned int pool_number(uint64_t pool)
{
	static uint64_t pools[POOLS];
	static unsigned int count;

	for (unsigned int i = 0; i < count; i++) {
		if (pools[i] == pool)
			return i + 1;
	}
	if (!pool || count == POOLS)
		return 0;
	pools[count++] = pool;
	return count;
}

const char *ring_dump_memory_kind(const struct record_head *head)
{
	return head->kind == RECORD_KIND_gpu_pool     ? "gpu_pool"
	       : head->kind == RECORD_KIND_gpu_memory ? "gpu_memory"
						      : "gpu_graph";
}

void ring_dump_memory(FILE *out, const struct record_head *head)
{
	static const char *const kinds[] = {"unknown",	"pageable", "pinned", "device",
					    "array",	"managed",  "pool",   "phys",
					    "reserved", "imported"};

	if (head->kind == RECORD_KIND_gpu_pool) {
		const struct record_gpu_pool *r = (const void *)head;

		fprintf(out, "\tpool=%u\top=%u\treserved=%" PRIu64 "\tused=%" PRIu64,
			pool_number(r->pool), r->op, r->reserved_bytes, r->used_bytes);
		fprintf(out, "\tthreshold=%" PRIu64, r->threshold_bytes);
		return;
	}
	if (head->kind != RECORD_KIND_gpu_memory)
		return;
	const struct record_gpu_memory *r = (const void *)head;
	fprintf(out, "\top=%s\tkind=%s\tbytes=%" PRIu64 "\taddress=0x%" PRIx64,
		r->op == MEMORY_ALLOC ? "alloc" : "free", kinds[r->memory_kind % 10], r->size_bytes,
		r->address);
	fprintf(out, "\tasync=%u\tpool=%u\treserved=%" PRIu64 "\tused=%" PRIu64, r->is_async,
		pool_number(r->pool), r->pool_reserved_bytes, r->pool_used_bytes);
}
