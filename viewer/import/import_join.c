/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two maps by correlation: calls that wait for their facts, and facts that wait for their call.
 * Each is bounded: beyond that a call goes on without facts, which the model finds through the
 * correlation anyway.
 */
#define _GNU_SOURCE /* memmem */
#include "import_join.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "import_sink.h"
#include "import_sites.h"
#include "map.h"
#include "xmalloc.h"

#define MAX_WAITING 262144u
#define MAX_GEMMS   131072u

struct waiting_call {
	uint32_t thread;
	bool is_done;
	union {
		struct record_copy copy;
		struct record_set set;
	} record;
};

struct waiting_gemm {
	uint32_t thread;
	struct record_gemm record;
};

struct import_join {
	struct import_sink *sink;
	struct import_sites *sites;
	struct map gemm_map;   /* thread and call_id -> index + 1 */
	struct map launch_map; /* correlation -> index + 1 of its GEMM */
	struct map layout_map; /* correlation -> ops of its kernel */
	struct map kernel_map; /* kernel -> ops of its name */
	struct waiting_gemm *gemms;
	size_t gemm_count, gemm_capacity;
	struct map call_map, fact_map; /* correlation -> index + 1 */
	struct waiting_call *calls;
	size_t call_count, call_capacity;
	struct join_facts *facts;
	size_t fact_count, fact_capacity;
};

struct import_join *import_join_new(struct import_sink *sink, struct import_sites *sites)
{
	struct import_join *join = xcalloc(1, sizeof(*join));
	join->sink = sink;
	join->sites = sites;
	map_init(&join->call_map);
	map_init(&join->fact_map);
	map_init(&join->gemm_map);
	map_init(&join->launch_map);
	map_init(&join->layout_map);
	map_init(&join->kernel_map);
	return join;
}

void import_join_free(struct import_join *join)
{
	if (!join)
		return;
	map_fini(&join->call_map);
	map_fini(&join->fact_map);
	map_fini(&join->gemm_map);
	map_fini(&join->launch_map);
	map_fini(&join->layout_map);
	map_fini(&join->kernel_map);
	free(join->gemms);
	free(join->calls);
	free(join->facts);
	free(join);
}

static void emit(struct import_join *join, struct waiting_call *call,
		 const struct join_facts *facts)
{
	if (call->record.copy.call.head.kind == RECORD_KIND_set) {
		struct record_set *set = &call->record.set;
		if (facts) {
			set->size_bytes = facts->size_bytes;
			set->call.device = facts->device;
		}
	} else if (facts) {
		struct record_copy *copy = &call->record.copy;
		copy->size_bytes = facts->size_bytes;
		copy->direction = facts->direction;
		copy->source_kind = facts->source_kind;
		copy->destination_kind = facts->destination_kind;
		copy->peer_device = facts->peer_device;
		copy->call.device = facts->device;
	}
	import_sink_add(join->sink, call->thread, &call->record);
	call->is_done = true;
}

void import_join_call(struct import_join *join, uint32_t thread, const void *record)
{
	const struct record_head *head = record;
	struct waiting_call call = {.thread = thread};
	memcpy(&call.record, record, head->size_bytes);
	uint32_t correlation = call.record.copy.call.correlation;
	const uint64_t *fact = map_find(&join->fact_map, correlation);
	if (fact) {
		emit(join, &call, &join->facts[*fact - 1]);
		return;
	}
	bool is_new;
	if (!correlation || join->call_count == MAX_WAITING) {
		emit(join, &call, NULL);
		return;
	}
	uint64_t *slot = map_slot(&join->call_map, correlation, &is_new);
	if (!is_new && !join->calls[*slot - 1].is_done)
		emit(join, &join->calls[*slot - 1], NULL); /* the number came twice */
	if (join->call_count == join->call_capacity)
		join->calls = array_grow(join->calls, &join->call_capacity, sizeof(*join->calls));
	join->calls[join->call_count++] = call;
	*slot = join->call_count;
}

void import_join_gpu(struct import_join *join, uint32_t correlation, const struct join_facts *facts)
{
	if (!correlation)
		return;
	const uint64_t *call = map_find(&join->call_map, correlation);
	if (call) {
		if (!join->calls[*call - 1].is_done)
			emit(join, &join->calls[*call - 1], facts);
		return;
	}
	if (join->fact_count == MAX_WAITING)
		return;
	bool is_new;
	uint64_t *slot = map_slot(&join->fact_map, correlation, &is_new);
	if (!is_new)
		return; /* a call that made several GPU operations: the first one describes it */
	if (join->fact_count == join->fact_capacity)
		join->facts = array_grow(join->facts, &join->fact_capacity, sizeof(*join->facts));
	join->facts[join->fact_count++] = *facts;
	*slot = join->fact_count;
}

void import_join_gemm(struct import_join *join, uint32_t thread, const struct record_gemm *gemm)
{
	bool is_new;
	if (join->gemm_count == MAX_GEMMS) {
		import_sink_add(join->sink, thread, gemm);
		return;
	}
	if (join->gemm_count == join->gemm_capacity)
		join->gemms = array_grow(join->gemms, &join->gemm_capacity, sizeof(*join->gemms));
	join->gemms[join->gemm_count++] = (struct waiting_gemm){thread, *gemm};
	*map_slot(&join->gemm_map, (uint64_t)thread << 32 | gemm->call.call_id, &is_new) =
		join->gemm_count;
}

/* What a kernel's name tells: the ops of A and B in two bytes, above them whether it is TF32. */
#define NAME_TF32 0x10000u

static void set_layout(struct import_join *join, uint64_t gemm, uint64_t told)
{
	struct record_gemm *record = &join->gemms[gemm - 1].record;
	if (!record->op_a)
		record->op_a = (uint8_t)(told >> 8);
	if (!record->op_b)
		record->op_b = (uint8_t)told;
	if (told & NAME_TF32 && record->type_a == ELEMENT_F32) {
		record->type_compute = ELEMENT_TF32;
		record->math_flags |= 1;
	}
}

void import_join_launch(struct import_join *join, uint32_t thread, uint32_t gemm_call_id,
			uint32_t correlation)
{
	const uint64_t *gemm = map_find(&join->gemm_map, (uint64_t)thread << 32 | gemm_call_id);
	if (!gemm || !correlation)
		return;
	const uint64_t *ops = map_find(&join->layout_map, correlation);
	bool is_new;
	if (ops)
		set_layout(join, *gemm, *ops);
	else
		*map_slot(&join->launch_map, correlation, &is_new) = *gemm;
}

/*
 * "tn" between underscores behind the word gemm: how the kernel reads A and B, as cuBLAS counts
 * them. 0: the name does not say.
 */
static uint64_t ops_of_name(const char *name, size_t length)
{
	const char *end = name + length, *at = memmem(name, length, "gemm", 4);
	for (; at && end - at >= 3; at = memchr(at + 1, '_', (size_t)(end - at - 1))) {
		if (at[0] != '_' || !strchr("nt", at[1]) || !strchr("nt", at[2]) || !at[1] ||
		    !at[2])
			continue;
		if (end - at > 3 && !strchr("_>(E", at[3]))
			continue;
		return (uint64_t)(at[1] == 'n' ? 'N' : 'T') << 8 | (at[2] == 'n' ? 'N' : 'T');
	}
	return 0;
}

static uint64_t told_by_name(const char *name, size_t length)
{
	uint64_t told = ops_of_name(name, length);
	/* The Tensor Core instruction of single precision is m16n8k8: "s1688gemm". */
	if (told && (memmem(name, length, "_s1688gemm", 10) || memmem(name, length, "tf32", 4)))
		told |= NAME_TF32;
	return told;
}

void import_join_kernel(struct import_join *join, uint32_t correlation, uint64_t kernel,
			const char *name, size_t name_length)
{
	bool is_new;
	uint64_t *slot = map_slot(&join->kernel_map, kernel, &is_new);
	if (is_new)
		*slot = told_by_name(name, name_length);
	uint64_t ops = *slot;
	if (!ops || !correlation)
		return;
	const uint64_t *gemm = map_find(&join->launch_map, correlation);
	if (gemm)
		set_layout(join, *gemm, ops);
	else if (join->layout_map.count < MAX_WAITING)
		*map_slot(&join->layout_map, correlation, &is_new) = ops;
}

void import_join_flush(struct import_join *join)
{
	for (size_t i = 0; i < join->call_count; i++) {
		if (!join->calls[i].is_done)
			emit(join, &join->calls[i], NULL);
	}
	join->call_count = 0;
	for (size_t i = 0; i < join->gemm_count; i++) {
		struct waiting_gemm *gemm = &join->gemms[i];
		/* Only now are all Python functions around it known. */
		int64_t begin = (int64_t)(gemm->record.call.begin_ticks - 1);
		struct import_caller caller = import_sites_find(join->sites, gemm->thread, begin,
								gemm->record.call.call_id);
		gemm->record.call.site = caller.site;
		gemm->record.call.parent_id = caller.call_id;
		import_sink_add(join->sink, gemm->thread, &gemm->record);
	}
	join->gemm_count = 0;
}
