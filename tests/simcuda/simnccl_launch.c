/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One kernel of the simulated NCCL, from the launch to the bytes. A collective has one slot of its
 * communicator, a message one slot of its pair of ranks. The kernel begins when its own stream is
 * ready and ends when the last rank's kernel has begun and the transfer is over.
 */
#include "simnccl_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct part {
	struct simnccl_op op;
	struct simnccl_slot *slot;
	unsigned int index; /* of the slot */
	int own;	    /* our entry in it */
	int entries;	    /* that must have come */
};

struct flight {
	struct ncclComm *comm;
	size_t part_count;
	int64_t clock_offset, delay_ns;
	struct simcuda_transfer out[SIMNCCL_PARTS_MAX];
	struct part parts[SIMNCCL_PARTS_MAX];
};

static bool is_message(const struct simnccl_op *op)
{
	return op->kind == SIMNCCL_SEND || op->kind == SIMNCCL_RECEIVE;
}

/* What `rank` gives to the others. */
static size_t bytes_given(const struct simnccl_op *op, int rank)
{
	size_t bytes = op->count * simnccl_type_bytes(op->type);

	switch (op->kind) {
	case SIMNCCL_BROADCAST:
		return rank == op->root ? bytes : 0;
	case SIMNCCL_SCATTER:
		return rank == op->root ? bytes * (size_t)op->comm->ranks : 0;
	case SIMNCCL_REDUCE_SCATTER:
	case SIMNCCL_ALL_TO_ALL:
		return bytes * (size_t)op->comm->ranks;
	case SIMNCCL_RECEIVE:
		return 0;
	default:
		return bytes;
	}
}

/* What nccl-tests call the size of the operation. */
static uint64_t payload_bytes(const struct simnccl_op *op)
{
	uint64_t bytes = op->count * simnccl_type_bytes(op->type);

	switch (op->kind) {
	case SIMNCCL_ALL_REDUCE:
	case SIMNCCL_BROADCAST:
	case SIMNCCL_REDUCE:
	case SIMNCCL_SEND:
	case SIMNCCL_RECEIVE:
		return bytes;
	default:
		return bytes * (uint64_t)op->comm->ranks;
	}
}

static void give_up(struct ncclComm *comm)
{
	atomic_store(&comm->own_error, ncclRemoteError);
	atomic_store(&comm->shared->error, ncclRemoteError);
}

/* Takes the next slot once all ranks are through with its last use. */
static bool take_slot(struct part *part, struct ncclComm *comm)
{
	const struct simnccl_op *op = &part->op;
	unsigned int looks = 0;
	uint64_t number;

	if (!is_message(op)) {
		number = comm->collectives++;
		part->slot = &comm->shared->slot[number % SIMNCCL_SLOTS];
		part->own = comm->rank;
		part->entries = comm->ranks;
	} else if (op->kind == SIMNCCL_SEND) {
		number = comm->sent[op->root]++;
		part->slot = &comm->shared->pair[comm->rank][op->root].slot[number % SIMNCCL_SLOTS];
		part->own = 0;
		part->entries = 2;
	} else {
		number = comm->received[op->root]++;
		part->slot = &comm->shared->pair[op->root][comm->rank].slot[number % SIMNCCL_SLOTS];
		part->own = 1;
		part->entries = 2;
	}
	part->index = (unsigned int)(number % SIMNCCL_SLOTS);
	while (atomic_load(&part->slot->turn) != (uint32_t)(number / SIMNCCL_SLOTS)) {
		if (atomic_load(&comm->shared->error))
			return false;
		simnccl_node_pause(&looks);
	}
	return true;
}

static void *mail_of(struct part *part, int rank, size_t bytes)
{
	struct ncclComm *comm = part->op.comm;

	if (part->op.kind == SIMNCCL_SEND)
		return simnccl_node_mail(&comm->outbox[part->op.root][part->index], comm->id, "one",
					 comm->rank, part->op.root, part->index, bytes);
	if (part->op.kind == SIMNCCL_RECEIVE)
		return simnccl_node_mail(&comm->inbox[part->op.root][part->index], comm->id, "one",
					 part->op.root, comm->rank, part->index, bytes);
	return simnccl_node_mail(&comm->mail[rank][part->index], comm->id, "all", rank, 0,
				 part->index, bytes);
}

static bool prepare(struct flight *flight, const struct simnccl_op *op)
{
	struct part *part = &flight->parts[flight->part_count];
	struct simcuda_transfer *out = &flight->out[flight->part_count];

	part->op = *op;
	if (!take_slot(part, op->comm))
		return false;
	out->address = (uintptr_t)op->send;
	out->bytes = bytes_given(op, op->comm->rank);
	out->flag = &part->slot->rank[part->own].ready;
	if (out->bytes > 0) {
		out->memory = mail_of(part, op->comm->rank, out->bytes);
		if (!out->memory)
			return false;
	}
	flight->part_count++;
	return true;
}

static void arrive(void *data, uint64_t begin_ns)
{
	struct flight *flight = data;

	for (size_t i = 0; i < flight->part_count; i++) {
		struct part *part = &flight->parts[i];
		struct simnccl_rank_slot *own = &part->slot->rank[part->own];

		atomic_store(&own->bytes, payload_bytes(&part->op));
		atomic_store(&own->begin_ns,
			     (int64_t)begin_ns + flight->clock_offset + flight->delay_ns);
	}
}

static bool has_all(const struct part *part)
{
	for (int i = 0; i < part->entries; i++) {
		/* The receiver of a message has nothing to be ready with. */
		if (!atomic_load(&part->slot->rank[i].begin_ns) ||
		    !__atomic_load_n(&part->slot->rank[i].ready, __ATOMIC_ACQUIRE))
			return false;
	}
	return true;
}

static void reduce_into(struct part *part, void *result, size_t bytes, size_t offset)
{
	const struct simnccl_op *op = &part->op;
	const void *inputs[SIMNCCL_RANKS_MAX] = {NULL};
	double scalar = 1.0;

	if (op->reduction > ncclAvg && op->reduction < SIMNCCL_OPS_MAX)
		scalar = op->comm->operators[op->reduction].scalar;
	for (int i = 0; i < op->comm->ranks; i++) {
		const char *mail = mail_of(part, i, bytes_given(op, i));

		if (!mail)
			return;
		inputs[i] = mail + offset;
	}
	simnccl_reduce(result, inputs, op->comm->ranks, bytes / simnccl_type_bytes(op->type),
		       op->type, op->reduction, scalar);
}

/* The bytes that this rank gets, in memory of their own; NULL: none. */
static void *make_result(struct part *part, size_t *bytes_out)
{
	const struct simnccl_op *op = &part->op;
	const struct ncclComm *comm = op->comm;
	size_t bytes = op->count * simnccl_type_bytes(op->type), rank = (size_t)comm->rank;
	bool is_root = comm->rank == op->root, gathers = false;
	size_t pieces = 1;
	char *result;

	if (op->kind == SIMNCCL_ALL_GATHER || op->kind == SIMNCCL_ALL_TO_ALL ||
	    op->kind == SIMNCCL_GATHER) {
		gathers = true;
		pieces = (size_t)comm->ranks;
	}
	*bytes_out = bytes * pieces;
	if (bytes == 0 || op->kind == SIMNCCL_SEND ||
	    (!is_root && (op->kind == SIMNCCL_REDUCE || op->kind == SIMNCCL_GATHER)))
		return NULL;
	result = calloc(pieces, bytes);
	if (!result)
		return NULL;
	for (size_t i = 0; i < pieces && gathers; i++) {
		const char *mail = mail_of(part, (int)i, bytes_given(op, (int)i));
		size_t offset = op->kind == SIMNCCL_ALL_TO_ALL ? rank * bytes : 0;

		if (mail)
			memcpy(result + i * bytes, mail + offset, bytes);
	}
	if (gathers)
		return result;
	if (op->kind == SIMNCCL_ALL_REDUCE || op->kind == SIMNCCL_REDUCE) {
		reduce_into(part, result, bytes, 0);
	} else if (op->kind == SIMNCCL_REDUCE_SCATTER) {
		reduce_into(part, result, bytes, rank * bytes);
	} else {
		const char *mail =
			mail_of(part, op->root,
				op->kind == SIMNCCL_RECEIVE ? bytes : bytes_given(op, op->root));
		size_t offset = op->kind == SIMNCCL_SCATTER ? rank * bytes : 0;

		if (mail)
			memcpy(result, mail + offset, bytes);
	}
	return result;
}

/* The last one to have read makes the slot ready for its next use. */
static void leave_slot(const struct part *part)
{
	struct simnccl_slot *slot = part->slot;

	if (atomic_fetch_add(&slot->done, 1) + 1 < (uint32_t)part->entries)
		return;
	for (int i = 0; i < part->entries; i++) {
		__atomic_store_n(&slot->rank[i].ready, 0, __ATOMIC_RELAXED);
		atomic_store(&slot->rank[i].begin_ns, 0);
	}
	atomic_store(&slot->done, 0);
	atomic_fetch_add(&slot->turn, 1);
}

static uint64_t end_of(struct flight *flight)
{
	uint64_t sent = 0, received = 0, transfer_ns;
	int64_t last = 0;

	for (size_t i = 0; i < flight->part_count; i++) {
		const struct part *part = &flight->parts[i];

		for (int k = 0; k < part->entries; k++) {
			int64_t begin = atomic_load(&part->slot->rank[k].begin_ns);

			last = begin > last ? begin : last;
		}
		if (part->op.kind == SIMNCCL_RECEIVE)
			received += payload_bytes(&part->op);
		else
			sent += payload_bytes(&part->op);
	}
	transfer_ns = simnccl_model_ns(flight->comm, flight->parts[0].op.kind,
				       sent > received ? sent : received);
	return (uint64_t)(last - flight->clock_offset) + transfer_ns;
}

static int finish(void *data, int may_wait, struct simcuda_arrivals *arrivals)
{
	struct flight *flight = data;
	struct ncclComm *comm = flight->comm;
	unsigned int looks = 0;

	if (!arrivals) {
		give_up(comm);
		atomic_fetch_sub(&comm->open_kernels, 1);
		free(flight);
		return 1;
	}
	for (size_t i = 0; i < flight->part_count; i++) {
		while (!has_all(&flight->parts[i])) {
			if (atomic_load(&comm->shared->error)) {
				arrivals->end_ns = comm->driver->gpu_clock_ns();
				atomic_fetch_sub(&comm->open_kernels, 1);
				free(flight);
				return 1;
			}
			if (!may_wait)
				return 0;
			simnccl_node_pause(&looks);
		}
	}
	arrivals->end_ns = end_of(flight);
	arrivals->in = calloc(flight->part_count, sizeof(*arrivals->in));
	for (size_t i = 0; i < flight->part_count; i++) {
		struct simcuda_transfer in = {.address = (uintptr_t)flight->parts[i].op.receive};

		in.memory = make_result(&flight->parts[i], &in.bytes);
		leave_slot(&flight->parts[i]);
		if (in.memory && arrivals->in)
			arrivals->in[arrivals->count++] = in;
		else
			free(in.memory);
	}
	atomic_fetch_sub(&comm->open_kernels, 1);
	free(flight);
	return 1;
}

static void apply_faults(struct flight *flight)
{
	struct ncclComm *comm = flight->comm;
	long delay_ms = simnccl_fault("SIMCUDA_NCCL_DELAY_MS", comm->rank);
	long at = (long)comm->collectives;

	if (delay_ms > 0)
		flight->delay_ns = delay_ms * 1000000;
	if (is_message(&flight->parts[0].op))
		return;
	if (simnccl_fault("SIMCUDA_NCCL_HANG", comm->rank) == at) {
		for (;;)
			pause();
	}
	if (simnccl_fault("SIMCUDA_NCCL_ASYNC_ERROR", comm->rank) == at)
		give_up(comm);
}

static ncclResult_t launch_kernel(const struct simnccl_op *op, uint64_t bytes,
				  const struct simcuda_meeting *meeting)
{
	struct ncclComm *comm = op->comm;
	const struct simnccl_driver *driver = comm->driver;
	struct simcuda_cost cost = {.fixed_ns = (double)simnccl_model_ns(comm, op->kind, bytes)};
	CUcontext before = NULL;
	void *kernel;
	char name[192];
	CUresult result;

	simnccl_model_name(op, bytes, name, sizeof(name));
	driver->CtxGetCurrent(&before);
	if (before != comm->context)
		driver->CtxSetCurrent(comm->context);
	kernel = driver->library_kernel(name, &cost);
	if (meeting)
		driver->next_launch_meets(kernel, meeting);
	result = driver->LaunchKernel(kernel, simnccl_model_channels(comm, bytes), 1, 1, 512, 1, 1,
				      0, op->stream, NULL, NULL);
	if (before != comm->context)
		driver->CtxSetCurrent(before);
	return result ? simnccl_comm_fail(comm, ncclUnhandledCudaError, "launch failed: %d",
					  (int)result)
		      : ncclSuccess;
}

static ncclResult_t launch_flight(struct flight *flight, uint64_t bytes)
{
	struct simcuda_meeting meeting = {.data = flight,
					  .out = flight->out,
					  .out_count = flight->part_count,
					  .arrive = arrive,
					  .finish = finish};

	apply_faults(flight);
	atomic_fetch_add(&flight->comm->open_kernels, 1);
	return launch_kernel(&flight->parts[0].op, bytes, &meeting);
}

ncclResult_t simnccl_launch(const struct simnccl_op *ops, size_t op_count)
{
	struct ncclComm *comm = ops[0].comm;
	CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
	struct flight *flight;
	uint64_t bytes = 0;

	if (atomic_load(&comm->shared->error) || op_count > SIMNCCL_PARTS_MAX)
		return simnccl_comm_fail(
			comm, op_count > SIMNCCL_PARTS_MAX ? ncclInvalidUsage : ncclRemoteError,
			"the communicator cannot go on");
	for (size_t i = 0; i < op_count; i++)
		bytes += payload_bytes(&ops[i]);
	/* A graph's node has a time, but its launches do not meet the other ranks'. */
	comm->driver->StreamIsCapturing(ops[0].stream, &capture);
	if (capture != CU_STREAM_CAPTURE_STATUS_NONE)
		return launch_kernel(&ops[0], bytes, NULL);
	flight = calloc(1, sizeof(*flight));
	if (!flight)
		return ncclSystemError;
	flight->comm = comm;
	flight->clock_offset = simnccl_node_clock_offset(comm->driver);
	for (size_t i = 0; i < op_count; i++) {
		if (!prepare(flight, &ops[i])) {
			free(flight);
			return simnccl_comm_fail(comm, ncclRemoteError, "another rank gave up");
		}
	}
	return launch_flight(flight, bytes);
}
