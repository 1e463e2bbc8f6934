/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of NCCL's calls. A communicator is named by a hash that all its ranks can make without
 * talking: of the ncclUniqueId, or of the parent's name, the number of splits before and the color.
 * Collectives are counted per communicator, messages per peer, so that the files of several ranks
 * can be laid side by side.
 */
#include "capture_comm.h"

#include <string.h>

#include "capture.h"
#include "comm_table.h"
#include "hash.h"
#include "session.h"
#include "streams.h"

/* Not a failure: a communicator that does not block. */
static void settle_status(struct call *call)
{
	if (call->status == ABI_NCCL_IN_PROGRESS)
		call->status = 0;
}

/* The job may be ended by its launcher any moment: what led here is written now. */
static void write_if_failed(const struct call *call)
{
	if (call->status && !call->parent)
		session_flush_wait();
}

static const void *returned(const struct call *call, const void *out)
{
	const void *handle = NULL;
	if (!call->status && out)
		memcpy(&handle, out, sizeof(handle));
	return handle;
}

static uint64_t hash_two(uint64_t a, uint64_t b)
{
	uint64_t hash = hash_mix(a ^ hash_mix(b + 0x9e3779b97f4a7c15ull));
	return hash ? hash : 1;
}

static void write_communicator(struct call *call, const void *handle, uint64_t hash,
			       uint64_t parent, uint32_t rank, uint32_t rank_count, unsigned int op)
{
	struct record_communicator *record =
		call_record(call, RECORD_KIND_communicator, sizeof(*record));
	if (!record)
		return;
	record->handle = (uintptr_t)handle;
	record->hash = hash;
	record->parent = parent;
	record->rank = rank;
	record->rank_count = rank_count;
	record->device = record->call.device;
	record->op = (uint8_t)op;
	record->reserved0 = 0;
	record->reserved1 = 0;
	call_commit(call);
}

void capture_comm_init(struct call *call, const void *out, const ncclUniqueId *ids, int id_count,
		       int ranks, int rank)
{
	settle_status(call);
	const void *handle = returned(call, out);
	uint64_t hash = 0;
	/* A call that failed may have failed because of where this points. */
	if (!call->status && ids && id_count > 0)
		hash = hash_bytes(ids->internal, sizeof(*ids) * (size_t)id_count);
	if (handle)
		comm_table_set(handle, hash, (uint32_t)rank, (uint32_t)ranks);
	write_communicator(call, handle, hash, 0, (uint32_t)rank, (uint32_t)ranks,
			   COMMUNICATOR_INIT);
	write_if_failed(call);
}

/* All ranks in one process: any number that is no other communicator's will do as a name. */
void capture_comm_init_all(struct call *call, const ncclComm_t *out, int count, const int *devices)
{
	settle_status(call);
	if (call->status || !out || count < 1) {
		write_communicator(call, NULL, 0, 0, 0, count > 0 ? (uint32_t)count : 0,
				   COMMUNICATOR_INIT);
		write_if_failed(call);
		return;
	}
	uint64_t hash = hash_two(call->begin_ticks, (uintptr_t)out[0]);
	uint32_t current = call->thread->device;
	for (int i = 0; i < count; i++) {
		comm_table_set(out[i], hash, (uint32_t)i, (uint32_t)count);
		call->thread->device = (uint32_t)(devices ? devices[i] : i);
		write_communicator(call, out[i], hash, 0, (uint32_t)i, (uint32_t)count,
				   COMMUNICATOR_INIT);
	}
	call->thread->device = current;
}

static bool ask(const void *handle, int (*question)(const void *, int *), uint32_t *answer)
{
	int value = -1;
	if (!question || question(handle, &value) || value < 0)
		return false;
	*answer = (uint32_t)value;
	return true;
}

/* The real functions read fields of the communicator and make no CUDA call. */
static bool ask_place(const void *handle, uint32_t *rank, uint32_t *count)
{
	return ask(handle, wrap_nccl_user_rank(), rank) && ask(handle, wrap_nccl_count(), count);
}

static void capture_made(struct call *call, const void *parent, uint64_t hash, const void *out)
{
	const void *handle = returned(call, out);
	struct comm_entry *from = comm_table_find(parent);
	uint64_t parent_hash = from ? atomic_load(&from->hash) : 0;
	uint32_t rank = COMM_RANK_UNKNOWN, count = 0;

	if (!parent_hash)
		hash = 0;
	/* Inside a group, or while it is being made, the communicator cannot answer. */
	if (handle && !call->thread->group_depth)
		ask_place(handle, &rank, &count);
	if (handle)
		comm_table_set(handle, hash, rank, count);
	write_communicator(call, handle, handle ? hash : 0, parent_hash, rank, count,
			   COMMUNICATOR_SPLIT);
	write_if_failed(call);
}

static uint32_t next_split(const void *parent)
{
	struct comm_entry *entry = comm_table_find(parent);
	return entry ? atomic_fetch_add(&entry->splits, 1) + 1 : 0;
}

static uint64_t hash_of(const void *comm)
{
	struct comm_entry *entry = comm_table_find(comm);
	return entry ? atomic_load(&entry->hash) : 0;
}

void capture_comm_split(struct call *call, const void *parent, int color, const void *out)
{
	settle_status(call);
	uint64_t hash = hash_two(hash_of(parent), next_split(parent));
	capture_made(call, parent, hash_two(hash, (uint64_t)(uint32_t)color), out);
}

void capture_comm_shrink(struct call *call, const void *parent, const int *excluded, int count,
			 const void *out)
{
	settle_status(call);
	uint64_t hash = hash_two(hash_of(parent), next_split(parent)), sum = 0;
	/* The same whatever the order of the list. */
	for (int i = 0; !call->status && excluded && i < count; i++)
		sum += hash_mix((uint64_t)(uint32_t)excluded[i] + 1);
	capture_made(call, parent, hash_two(hash, sum), out);
}

void capture_comm_end(struct call *call, const void *comm, unsigned int op)
{
	settle_status(call);
	struct comm_entry *entry = comm_table_find(comm);
	write_communicator(call, comm, entry ? atomic_load(&entry->hash) : 0, 0,
			   entry ? atomic_load(&entry->rank) : COMM_RANK_UNKNOWN,
			   entry ? atomic_load(&entry->rank_count) : 0, op);
	if (op == COMMUNICATOR_ABORT && !call->parent)
		session_flush_wait();
	write_if_failed(call);
}

void capture_comm_plain(struct call *call, const void *object)
{
	settle_status(call);
	capture_plain(call, object);
	write_if_failed(call);
}

void capture_comm_async_error(struct call *call, const void *comm, const int *error)
{
	if (call->status || !error || !*error || *error == ABI_NCCL_IN_PROGRESS)
		return;
	call->status = *error;
	capture_plain(call, comm);
	write_if_failed(call);
}

/* ---- groups ---- */

void capture_group_start(struct call *call)
{
	struct thread *thread = call->thread;
	if (!call->status && thread->group_depth++ == 0)
		thread->group_count++;
	/* No record: the end says all. */
}

/* The record's object is the group's number, which its collectives have too. */
void capture_group_end(struct call *call)
{
	struct thread *thread = call->thread;
	settle_status(call);
	if (thread->group_depth > 0)
		thread->group_depth--;
	if (thread->group_depth > 0 && !call->status)
		return;
	if (call->status)
		thread->group_depth = 0;
	capture_plain(call, (const void *)(uintptr_t)thread->group_count);
	write_if_failed(call);
}

/* ---- collectives ---- */

/* ncclDataType_t */
static uint32_t type_bytes(int type)
{
	static const uint8_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
	return type >= 0 && (size_t)type < sizeof(bytes) ? bytes[type] : 0;
}

/* The larger of what this rank gives and what it gets. */
static uint64_t payload_bytes(const struct comm_call *what, const struct comm_entry *entry)
{
	uint64_t bytes = (uint64_t)what->count * type_bytes(what->type);
	uint64_t ranks = entry ? atomic_load_explicit(&entry->rank_count, memory_order_relaxed) : 0;
	uint32_t rank = entry ? atomic_load_explicit(&entry->rank, memory_order_relaxed)
			      : COMM_RANK_UNKNOWN;

	switch (what->op) {
	case COLLECTIVE_ALL_GATHER:
	case COLLECTIVE_REDUCE_SCATTER:
	case COLLECTIVE_ALL_TO_ALL:
		return ranks ? bytes * ranks : bytes;
	case COLLECTIVE_GATHER:
	case COLLECTIVE_SCATTER:
		return ranks && rank == (uint32_t)what->peer ? bytes * ranks : bytes;
	default:
		return bytes;
	}
}

/* A communicator that was split inside a group could not say its rank then. */
static void learn_rank(struct call *call, const void *comm, struct comm_entry *entry)
{
	uint32_t rank = COMM_RANK_UNKNOWN, count = 0;
	if (call->thread->group_depth || !ask_place(comm, &rank, &count))
		return;
	atomic_store(&entry->rank, rank);
	atomic_store(&entry->rank_count, count);
	write_communicator(call, comm, atomic_load(&entry->hash), 0, rank, count,
			   COMMUNICATOR_SPLIT);
}

void capture_collective(struct call *call, const struct comm_call *what)
{
	struct thread *thread = call->thread;
	struct comm_entry *entry = comm_table_find(what->comm);
	bool is_message = what->op == COLLECTIVE_SEND || what->op == COLLECTIVE_RECV;
	uint32_t sequence = 0;

	settle_status(call);
	/* A call within a call, such as ncclBcast's ncclBroadcast, is the same operation. */
	if (entry && !call->status && !call->parent) {
		if (atomic_load_explicit(&entry->rank, memory_order_relaxed) == COMM_RANK_UNKNOWN)
			learn_rank(call, what->comm, entry);
		sequence = is_message ? comm_table_next_message(entry, what->op == COLLECTIVE_SEND,
								(uint32_t)what->peer)
				      : atomic_fetch_add_explicit(&entry->collectives, 1,
								  memory_order_relaxed) +
						1;
	}
	/* Its kernels are the nodes, and count when NCCL launches them. */
	call->flags |= CALL_ASYNC |
		       (streams_is_captured(stream_key(call, what->stream)) ? CALL_CAPTURED : 0);
	struct record_collective *record =
		call_record(call, RECORD_KIND_collective, sizeof(*record));
	if (!record)
		return;
	record->communicator = (uintptr_t)what->comm;
	record->hash = entry ? atomic_load_explicit(&entry->hash, memory_order_relaxed) : 0;
	record->send = (uintptr_t)what->send;
	record->receive = (uintptr_t)what->receive;
	record->count = what->count;
	record->size_bytes = payload_bytes(what, entry);
	record->stream = (uintptr_t)what->stream;
	record->sequence = sequence;
	record->group = thread->group_depth ? thread->group_count : 0;
	record->peer = what->peer < 0 ? MARK_NO_PEER : (uint32_t)what->peer;
	record->op = (uint8_t)what->op;
	record->element = (uint8_t)what->type;
	record->reduction = (uint8_t)what->reduction;
	record->flags = thread->group_depth ? COLLECTIVE_GROUPED : 0;
	call_commit(call);
	write_if_failed(call);
}

void capture_comm_after_fork(void)
{
	comm_table_forget();
}
