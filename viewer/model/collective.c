/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links calls to NCCL with the kernels that they became. A collective launches its kernel inside
 * its own call; what was called in a group is launched by the call that ends the group, messages as
 * one kernel, collectives one by one or fused.
 */
#include "collective.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "array.h"
#include "array_len.h"
#include "big_array.h"
#include "event_time.h"
#include "map.h"
#include "model_internal.h"
#include "xmalloc.h"

const char *collective_name(enum collective_op kind)
{
	static const char *const names[] = {"communication", "all-reduce", "broadcast",
					    "reduce",	     "all-gather", "reduce-scatter",
					    "all-to-all",    "gather",	   "scatter",
					    "messages",	     "messages"};

	return (size_t)kind < ARRAY_LEN(names) ? names[kind] : names[0];
}

bool collective_is_message(uint8_t kind)
{
	return kind == COLLECTIVE_SEND || kind == COLLECTIVE_RECV;
}

struct comm_kernel comm_kernel_of(const char *name)
{
	/* What contains another comes first. */
	static const struct {
		const char *word;
		uint8_t kind;
	} kinds[] = {
		{"ReduceScatter", COLLECTIVE_REDUCE_SCATTER},
		{"AllReduce", COLLECTIVE_ALL_REDUCE},
		{"AllGather", COLLECTIVE_ALL_GATHER},
		{"SendRecv", COLLECTIVE_SEND},
		{"AlltoAll", COLLECTIVE_ALL_TO_ALL},
		{"Broadcast", COLLECTIVE_BROADCAST},
		{"Reduce", COLLECTIVE_REDUCE},
	};
	static const char *const algorithms[] = {"COLLNET", "NVLS", "RING", "TREE", "PAT"};
	static const char *const protocols[] = {"LL128", "SIMPLE", "LL"};
	struct comm_kernel kernel = {0, NULL, NULL};
	const char *at = strstr(name, "nccl");

	if (!at)
		return kernel;
	for (size_t i = 0; i < ARRAY_LEN(kinds) && !kernel.kind; i++) {
		if (strstr(at, kinds[i].word))
			kernel.kind = kinds[i].kind;
	}
	for (size_t i = 0; i < ARRAY_LEN(algorithms) && !kernel.algorithm; i++) {
		if (strstr(at, algorithms[i]))
			kernel.algorithm = algorithms[i];
	}
	for (size_t i = 0; i < ARRAY_LEN(protocols) && !kernel.protocol; i++) {
		if (strstr(at, protocols[i]))
			kernel.protocol = protocols[i];
	}
	return kernel;
}

const struct model_communicator *communicator_largest(const struct model *model)
{
	const struct model_communicator *largest = NULL;

	for (size_t i = 0; i < model->communicator_count; i++) {
		const struct model_communicator *one = &model->communicators[i];

		if (one->rank != COLLECTIVE_NO_RANK &&
		    (!largest || one->rank_count > largest->rank_count))
			largest = one;
	}
	return largest;
}

/* ---- collecting ---- */

static void collect_communicator(struct model_builder *builder,
				 const struct record_communicator *record, uint32_t call)
{
	struct model *model = builder->model;
	const struct host_call *of = &model->calls[call];
	bool begins = record->op == COMMUNICATOR_INIT || record->op == COMMUNICATOR_SPLIT;

	if (of->status || !record->handle)
		return;
	/* Handles come back soon; a file of a million communicators is not read a million times. */
	for (size_t i = model->communicator_count, looked = 0; i-- > 0 && looked < 1024; looked++) {
		struct model_communicator *known = &model->communicators[i];

		if (known->handle != record->handle || known->end_ns != INT64_MAX)
			continue;
		if (!begins) {
			known->end_ns = of->begin_ns;
			return;
		}
		/* A split inside a group tells its rank later. */
		if (known->hash == record->hash && known->rank == COLLECTIVE_NO_RANK) {
			known->rank = record->rank;
			known->rank_count = record->rank_count;
			return;
		}
		break;
	}
	if (!begins)
		return;
	if (model->communicator_count == builder->communicator_capacity)
		model->communicators =
			array_grow(model->communicators, &builder->communicator_capacity,
				   sizeof(*model->communicators));
	model->communicators[model->communicator_count++] = (struct model_communicator){
		.handle = record->handle,
		.hash = record->hash,
		.parent = record->parent,
		.rank = record->rank,
		.rank_count = record->rank_count,
		.begin_ns = of->end_ns,
		.end_ns = INT64_MAX,
	};
}

static void collect_collective(struct model_builder *builder,
			       const struct record_collective *record, uint32_t call)
{
	struct model *model = builder->model;

	if (model->collective_count == builder->collective_capacity)
		model->collectives =
			big_array_grow(model->collectives, &builder->collective_capacity,
				       sizeof(*model->collectives));
	model->calls[call].detail = (uint32_t)model->collective_count;
	model->collectives[model->collective_count++] = (struct model_collective){
		.hash = record->hash,
		.size_bytes = record->size_bytes,
		.count = record->count,
		.receive = record->receive,
		.call = call,
		.op = MODEL_NONE,
		.sequence = record->sequence,
		.group = record->group,
		.peer = record->peer,
		.kind = record->op,
		.element = record->element,
		.reduction = record->reduction,
		.is_captured = (record->call.flags & CALL_CAPTURED) != 0,
	};
}

void collect_communication(struct model_builder *builder, const void *record,
			   struct host_call *call)
{
	struct model *model = builder->model;
	uint32_t index = (uint32_t)(call - model->calls);

	if (call->kind == RECORD_KIND_communicator)
		collect_communicator(builder, record, index);
	else if (call->kind == RECORD_KIND_collective)
		collect_collective(builder, record, index);
	else if (call->kind == RECORD_KIND_call && !strcmp(model->apis[call->api], "ncclGroupEnd"))
		call->detail = (uint32_t)((const struct record_call *)record)->object;
}

/* ---- linking ---- */

void collectives_sort(struct model *model)
{
	struct map sizes = {0}; /* of communicators, by hash */
	struct model_collective *sorted;
	size_t count = 0;

	if (!model->collective_count)
		return;
	sorted = big_array_new(model->collective_count, sizeof(*sorted));
	for (size_t i = 0; i < model->call_count; i++) {
		struct host_call *call = &model->calls[i];

		if (call->kind != RECORD_KIND_collective)
			continue;
		sorted[count] = model->collectives[call->detail];
		sorted[count].call = (uint32_t)i;
		call->detail = (uint32_t)count++;
	}
	big_array_free(model->collectives);
	model->collectives = sorted;
	for (size_t i = 0; i < model->communicator_count; i++)
		*map_slot(&sizes, model->communicators[i].hash, NULL) =
			model->communicators[i].rank_count;
	for (size_t i = 0; i < count; i++) {
		const uint64_t *size = sorted[i].hash ? map_find(&sizes, sorted[i].hash) : NULL;

		sorted[i].rank_count = size ? (uint32_t)*size : 0;
	}
	map_fini(&sizes);
}

/* The call that launched the operation for NCCL: a collective, or the end of a group. */
static uint32_t launching_call(const struct model *model, const struct gpu_op *op)
{
	uint32_t call = op->call;

	while (call != MODEL_NONE && model->calls[call].kind != RECORD_KIND_collective &&
	       !(model->calls[call].kind == RECORD_KIND_call && model->calls[call].detail))
		call = model->calls[call].parent;
	return call;
}

static uint64_t group_key(uint16_t thread, uint32_t group)
{
	return (uint64_t)thread << 32 | group;
}

/* The next collective of the group gets the kernel; what is left over shares the last one. */
static void link_group(struct model *model, uint64_t *cursor, uint64_t key, uint32_t op)
{
	struct model_collective *all = model->collectives;
	size_t at = (size_t)*cursor;
	bool is_message;

	if (at >= model->collective_count ||
	    group_key(model->calls[all[at].call].thread, all[at].group) != key)
		return;
	is_message = collective_is_message(all[at].kind);
	do {
		all[at++].op = op;
	} while (is_message && at < model->collective_count &&
		 group_key(model->calls[all[at].call].thread, all[at].group) == key &&
		 collective_is_message(all[at].kind));
	*cursor = at;
}

static void share_fused(struct model *model)
{
	for (size_t i = 1; i < model->collective_count; i++) {
		struct model_collective *one = &model->collectives[i], *before = one - 1;

		if (one->op == MODEL_NONE && one->group && one->group == before->group &&
		    model->calls[one->call].thread == model->calls[before->call].thread &&
		    one->hash == before->hash)
			one->op = before->op;
	}
}

void collectives_link(struct model *model)
{
	struct map groups = {0};

	if (!model->collective_count)
		return;
	for (size_t i = 0; i < model->collective_count; i++) {
		const struct model_collective *one = &model->collectives[i];
		bool is_new;
		uint64_t *slot;

		if (!one->group)
			continue;
		slot = map_slot(&groups, group_key(model->calls[one->call].thread, one->group),
				&is_new);
		if (is_new)
			*slot = i;
	}
	for (size_t i = 0; i < model->op_count; i++) {
		uint32_t call = model->ops[i].kernel_class == KERNEL_COMMUNICATION
					? launching_call(model, &model->ops[i])
					: MODEL_NONE;
		uint64_t key, *cursor;

		if (call == MODEL_NONE)
			continue;
		if (model->calls[call].kind == RECORD_KIND_collective) {
			struct model_collective *one =
				&model->collectives[model->calls[call].detail];

			if (one->op == MODEL_NONE)
				one->op = (uint32_t)i;
			continue;
		}
		key = group_key(model->calls[call].thread, model->calls[call].detail);
		cursor = (uint64_t *)(uintptr_t)map_find(&groups, key);
		if (cursor)
			link_group(model, cursor, key, (uint32_t)i);
	}
	share_fused(model);
	map_fini(&groups);
}

void collectives_free(struct model *model)
{
	free(model->communicators);
	big_array_free(model->collectives);
}
