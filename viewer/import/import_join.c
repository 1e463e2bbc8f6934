/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two maps by correlation: calls that wait for their facts, and facts that wait for their call. In
 * recordings that are ordered by kind all of them wait, so they lie in big arrays, which both sides
 * walk in order. Their number is bounded: beyond that a call goes on without facts, which the model
 * finds through the correlation anyway.
 */
#define _GNU_SOURCE /* memmem */
#include "import_join.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "big_array.h"
#include "import_sink.h"
#include "import_sites.h"
#include "map.h"
#include "number_map.h"
#include "xmalloc.h"

#define MAX_WAITING 16000000u /* of each kind: 2 GB of files for calls, 3 for products */

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
	struct number_map gemm_map;   /* thread and call_id -> index + 1 */
	struct number_map launch_map; /* correlation -> index + 1 of its GEMM */
	struct number_map layout_map; /* correlation -> ops of its kernel */
	struct map kernel_map;	      /* kernel -> ops of its name */
	struct waiting_gemm *gemms;
	size_t gemm_count, gemm_capacity;
	struct number_map call_map, fact_map; /* correlation -> index + 1 */
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
	number_map_init(&join->call_map);
	number_map_init(&join->fact_map);
	number_map_init(&join->gemm_map);
	number_map_init(&join->launch_map);
	number_map_init(&join->layout_map);
	map_init(&join->kernel_map);
	return join;
}

void import_join_free(struct import_join *join)
{
	if (!join)
		return;
	number_map_fini(&join->call_map);
	number_map_fini(&join->fact_map);
	number_map_fini(&join->gemm_map);
	number_map_fini(&join->launch_map);
	number_map_fini(&join->layout_map);
	map_fini(&join->kernel_map);
	big_array_free(join->gemms);
	big_array_free(join->calls);
	big_array_free(join->facts);
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
	uint32_t fact = number_map_get(&join->fact_map, correlation), before;
	if (fact) {
		emit(join, &call, &join->facts[fact - 1]);
		return;
	}
	if (!correlation || join->call_count == MAX_WAITING) {
		emit(join, &call, NULL);
		return;
	}
	before = number_map_get(&join->call_map, correlation);
	if (before && !join->calls[before - 1].is_done)
		emit(join, &join->calls[before - 1], NULL); /* the number came twice */
	if (join->call_count == join->call_capacity)
		join->calls =
			big_array_grow(join->calls, &join->call_capacity, sizeof(*join->calls));
	join->calls[join->call_count++] = call;
	number_map_set(&join->call_map, correlation, (uint32_t)join->call_count);
}

void import_join_gpu(struct import_join *join, uint32_t correlation, const struct join_facts *facts)
{
	if (!correlation)
		return;
	uint32_t call = number_map_get(&join->call_map, correlation);
	if (call) {
		if (!join->calls[call - 1].is_done)
			emit(join, &join->calls[call - 1], facts);
		return;
	}
	/* Of a call that made several GPU operations the first one describes it. */
	if (join->fact_count == MAX_WAITING || number_map_get(&join->fact_map, correlation))
		return;
	if (join->fact_count == join->fact_capacity)
		join->facts =
			big_array_grow(join->facts, &join->fact_capacity, sizeof(*join->facts));
	join->facts[join->fact_count++] = *facts;
	number_map_set(&join->fact_map, correlation, (uint32_t)join->fact_count);
}

void import_join_gemm(struct import_join *join, uint32_t thread, const struct record_gemm *gemm)
{
	if (join->gemm_count == MAX_WAITING) {
		import_sink_add(join->sink, thread, gemm);
		return;
	}
	if (join->gemm_count == join->gemm_capacity)
		join->gemms =
			big_array_grow(join->gemms, &join->gemm_capacity, sizeof(*join->gemms));
	join->gemms[join->gemm_count++] = (struct waiting_gemm){thread, *gemm};
	number_map_set(&join->gemm_map, (uint64_t)thread << 32 | gemm->call.call_id,
		       (uint32_t)join->gemm_count);
}

/* What a kernel's name tells: the ops of A and B in two bytes, above them whether it is TF32. */
#define NAME_TF32 0x10000u

static void set_layout(struct import_join *join, uint32_t gemm, uint64_t told)
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
	uint32_t gemm = number_map_get(&join->gemm_map, (uint64_t)thread << 32 | gemm_call_id);
	if (!gemm || !correlation)
		return;
	uint32_t ops = number_map_get(&join->layout_map, correlation);
	if (ops)
		set_layout(join, gemm, ops);
	else
		number_map_set(&join->launch_map, correlation, gemm);
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
	uint32_t gemm = number_map_get(&join->launch_map, correlation);
	if (gemm)
		set_layout(join, gemm, ops);
	else if (join->layout_map.count + join->layout_map.strays.count < MAX_WAITING)
		number_map_set(&join->layout_map, correlation, (uint32_t)ops);
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
