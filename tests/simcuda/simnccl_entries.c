/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that move data, each as one struct simnccl_op, checked and logged; reduction operators,
 * registered memory.
 */
#include "simnccl_internal.h"

#include <string.h>

static bool reduces(enum simnccl_kind kind)
{
	return kind == SIMNCCL_ALL_REDUCE || kind == SIMNCCL_REDUCE ||
	       kind == SIMNCCL_REDUCE_SCATTER;
}

static ncclResult_t check(const struct simnccl_op *op)
{
	struct ncclComm *comm = op->comm;

	if (!simnccl_comm_is_valid(comm))
		return simnccl_comm_fail(NULL, ncclInvalidArgument, "no communicator");
	if (comm->is_finalized)
		return simnccl_comm_fail(comm, ncclInvalidUsage, "the communicator was finalized");
	if (simnccl_type_bytes(op->type) == 0)
		return simnccl_comm_fail(comm, ncclInvalidArgument, "type %d", (int)op->type);
	if (op->root < 0 || op->root >= comm->ranks)
		return simnccl_comm_fail(comm, ncclInvalidArgument, "rank %d of %d", op->root,
					 comm->ranks);
	if (reduces(op->kind) &&
	    (op->reduction < 0 || op->reduction >= SIMNCCL_OPS_MAX ||
	     (op->reduction > ncclAvg && !comm->operators[op->reduction].is_live)))
		return simnccl_comm_fail(comm, ncclInvalidArgument, "operator %d", op->reduction);
	return ncclSuccess;
}

static ncclResult_t run(const struct simnccl_op *op)
{
	const struct simnccl_driver *driver = simnccl_driver_get();
	ncclResult_t result = check(op);

	if (!result)
		result = simnccl_group_add(op);
	if (driver)
		driver->log("nccl", op->function, (int)result,
			    "comm=0x%llx\tsend=0x%llx\treceive=0x%llx\tcount=%zu\ttype=%d\t"
			    "reduction=%d\troot=%d\tstream=0x%llx",
			    (unsigned long long)(uintptr_t)op->comm,
			    (unsigned long long)(uintptr_t)op->send,
			    (unsigned long long)(uintptr_t)op->receive, op->count, (int)op->type,
			    op->reduction, op->root, (unsigned long long)(uintptr_t)op->stream);
	return result;
}

#define RUN(name, of, ...)                                                                         \
	return run(&(struct simnccl_op){.function = #name,                                         \
					.kind = SIMNCCL_##of,                                      \
					.count = count,                                            \
					.type = type,                                              \
					.comm = comm,                                              \
					.stream = (CUstream)stream,                                \
					__VA_ARGS__})

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type,
			   ncclRedOp_t op, ncclComm_t comm, nccl_stream stream)
{
	RUN(ncclAllReduce, ALL_REDUCE, .send = send, .receive = receive, .reduction = (int)op);
}

ncclResult_t ncclReduce(const void *send, void *receive, size_t count, ncclDataType_t type,
			ncclRedOp_t op, int root, ncclComm_t comm, nccl_stream stream)
{
	RUN(ncclReduce, REDUCE, .send = send, .receive = receive, .reduction = (int)op,
	    .root = root);
}

ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t count, ncclDataType_t type,
			       ncclRedOp_t op, ncclComm_t comm, nccl_stream stream)
{
	RUN(ncclReduceScatter, REDUCE_SCATTER, .send = send, .receive = receive,
	    .reduction = (int)op);
}

ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count, ncclDataType_t type,
			   int root, ncclComm_t comm, nccl_stream stream)
{
	RUN(ncclBroadcast, BROADCAST, .send = send, .receive = receive, .root = root);
}

ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
		       nccl_stream stream)
{
	RUN(ncclBcast, BROADCAST, .send = buffer, .receive = buffer, .root = root);
}

ncclResult_t ncclAllGather(const void *send, void *receive, size_t count, ncclDataType_t type,
			   ncclComm_t comm, nccl_stream stream)
{
	RUN(ncclAllGather, ALL_GATHER, .send = send, .receive = receive);
}

ncclResult_t ncclAlltoAll(const void *send, void *receive, size_t count, ncclDataType_t type,
			  ncclComm_t comm, nccl_stream stream)
{
	RUN(ncclAlltoAll, ALL_TO_ALL, .send = send, .receive = receive);
}

ncclResult_t ncclGather(const void *send, void *receive, size_t count, ncclDataType_t type,
			int root, ncclComm_t comm, nccl_stream stream)
{
	RUN(ncclGather, GATHER, .send = send, .receive = receive, .root = root);
}

ncclResult_t ncclScatter(const void *send, void *receive, size_t count, ncclDataType_t type,
			 int root, ncclComm_t comm, nccl_stream stream)
{
	RUN(ncclScatter, SCATTER, .send = send, .receive = receive, .root = root);
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer,
		      ncclComm_t comm, nccl_stream stream)
{
	RUN(ncclSend, SEND, .send = send, .root = peer);
}

ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
		      nccl_stream stream)
{
	RUN(ncclRecv, RECEIVE, .receive = receive, .root = peer);
}

/* ---- operators ---- */

static double scalar_of(const void *at, ncclDataType_t type)
{
	union {
		int8_t i8;
		uint8_t u8;
		int32_t i32;
		uint32_t u32;
		int64_t i64;
		uint64_t u64;
		float f32;
		double f64;
	} value = {0};

	memcpy(&value, at, simnccl_type_bytes(type));
	switch (type) {
	case ncclInt8:
		return value.i8;
	case ncclUint8:
		return value.u8;
	case ncclInt32:
		return value.i32;
	case ncclUint32:
		return value.u32;
	case ncclInt64:
		return (double)value.i64;
	case ncclUint64:
		return (double)value.u64;
	case ncclFloat32:
		return (double)value.f32;
	case ncclFloat64:
		return value.f64;
	default:
		return 1.0;
	}
}

/* Scalars of 16 and 8 bits are taken as one. */
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type,
				      ncclScalarResidence_t residence, ncclComm_t comm)
{
	unsigned char bytes[8];

	if (!simnccl_comm_is_valid(comm) || !op || !scalar || simnccl_type_bytes(type) == 0)
		return ncclInvalidArgument;
	if (residence == ncclScalarHostImmediate)
		memcpy(bytes, scalar, simnccl_type_bytes(type));
	else if (comm->driver->MemcpyDtoH(bytes, (CUdeviceptr)(uintptr_t)scalar,
					  simnccl_type_bytes(type)))
		return ncclUnhandledCudaError;
	for (int i = ncclAvg + 1; i < SIMNCCL_OPS_MAX; i++) {
		if (comm->operators[i].is_live)
			continue;
		comm->operators[i].is_live = true;
		comm->operators[i].scalar = scalar_of(bytes, type);
		*op = (ncclRedOp_t)i;
		return ncclSuccess;
	}
	return ncclInvalidUsage;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
	if (!simnccl_comm_is_valid(comm) || (int)op <= ncclAvg || (int)op >= SIMNCCL_OPS_MAX ||
	    !comm->operators[op].is_live)
		return ncclInvalidArgument;
	comm->operators[op].is_live = false;
	return ncclSuccess;
}

/* ---- memory ---- */

ncclResult_t ncclMemAlloc(void **address, size_t bytes)
{
	const struct simnccl_driver *driver = simnccl_driver_get();
	CUdeviceptr device = 0;

	if (!address || !driver)
		return ncclInvalidArgument;
	if (driver->MemAlloc(&device, bytes))
		return ncclUnhandledCudaError;
	*address = (void *)(uintptr_t)device;
	return ncclSuccess;
}

ncclResult_t ncclMemFree(void *address)
{
	const struct simnccl_driver *driver = simnccl_driver_get();

	if (!driver || driver->MemFree((CUdeviceptr)(uintptr_t)address))
		return ncclUnhandledCudaError;
	return ncclSuccess;
}

/* Registration changes nothing here: a handle is the address. */
static ncclResult_t register_memory(const struct ncclComm *comm, void *address, void **handle)
{
	if (!simnccl_comm_is_valid(comm) || !address || !handle)
		return ncclInvalidArgument;
	*handle = address;
	return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *address, size_t bytes, void **handle)
{
	(void)bytes;
	return register_memory(comm, address, handle);
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
	return simnccl_comm_is_valid(comm) && handle ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *address, size_t bytes,
				    ncclWindow_t *window, int flags)
{
	void *handle = NULL;
	ncclResult_t result = register_memory(comm, address, &handle);

	(void)bytes;
	(void)flags;
	if (!result && window)
		*window = handle;
	return window ? result : ncclInvalidArgument;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window)
{
	return simnccl_comm_is_valid(comm) && window ? ncclSuccess : ncclInvalidArgument;
}
