/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators of the simulated NCCL: made from an id by all ranks of a node, split, shrunk,
 * ended, and what can be asked of them.
 */
#include "simnccl_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define COMM_MAGIC     0x6d6d6f636c63636eu
#define CONFIG_MAGIC   0xcafebeefu
#define NOT_CONFIGURED INT32_MIN

static _Thread_local char last_error[160];

static uint64_t hash_bytes(const void *data, size_t bytes, uint64_t hash)
{
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
	return hash;
}

bool simnccl_comm_is_valid(const struct ncclComm *comm)
{
	return comm && comm->magic == COMM_MAGIC;
}

ncclResult_t simnccl_comm_fail(struct ncclComm *comm, ncclResult_t result, const char *format, ...)
{
	char *text = comm ? comm->last_error : last_error;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(last_error), format, arguments);
	va_end(arguments);
	if (comm)
		memcpy(last_error, comm->last_error, sizeof(last_error));
	return result;
}

/* The communicator belongs to the current context; without one, to the primary one of device 0. */
static bool bind_context(struct ncclComm *comm)
{
	const struct simnccl_driver *driver = comm->driver;
	CUdevice device = 0;

	if (driver->Init(0))
		return false;
	if (driver->CtxGetCurrent(&comm->context) || !comm->context) {
		if (driver->DeviceGet(&device, 0) ||
		    driver->DevicePrimaryCtxRetain(&comm->context, device) ||
		    driver->CtxSetCurrent(comm->context))
			return false;
	}
	if (driver->CtxGetDevice(&device))
		return false;
	comm->device = device;
	return true;
}

ncclResult_t simnccl_comm_open(struct ncclComm **out, uint64_t id, int ranks, int rank)
{
	const struct simnccl_driver *driver = simnccl_driver_get();
	struct ncclComm *comm;

	if (!out || ranks < 1 || rank < 0 || rank >= ranks)
		return simnccl_comm_fail(NULL, ncclInvalidArgument, "rank %d of %d", rank, ranks);
	if (ranks > SIMNCCL_RANKS_MAX)
		return simnccl_comm_fail(NULL, ncclInvalidUsage, "the simulated node has %d ranks",
					 SIMNCCL_RANKS_MAX);
	if (!driver)
		return simnccl_comm_fail(NULL, ncclUnhandledCudaError, "no simulated driver");
	comm = calloc(1, sizeof(*comm));
	if (!comm)
		return ncclSystemError;
	*comm = (struct ncclComm){
		.driver = driver, .id = id, .ranks = ranks, .rank = rank, .magic = COMM_MAGIC};
	if (!bind_context(comm)) {
		free(comm);
		return simnccl_comm_fail(NULL, ncclUnhandledCudaError, "no context");
	}
	comm->shared = simnccl_node_open(id);
	if (!comm->shared) {
		free(comm);
		return simnccl_comm_fail(NULL, ncclSystemError, "no shared memory");
	}
	simnccl_model_read(comm);
	atomic_store(&comm->shared->member[rank].pid, (uint32_t)getpid());
	atomic_fetch_add(&comm->shared->joined, 1);
	*out = comm;
	return ncclSuccess;
}

ncclResult_t simnccl_comm_wait(struct ncclComm *comm)
{
	unsigned int looks = 0;

	while (atomic_load(&comm->shared->joined) < (uint32_t)comm->ranks) {
		if (atomic_load(&comm->shared->error))
			return ncclRemoteError;
		simnccl_node_pause(&looks);
	}
	simnccl_node_forget(comm->id);
	return ncclSuccess;
}

/* The last rank removes the files, since only then nobody has still to open one. */
void simnccl_comm_close(struct ncclComm *comm)
{
	uint32_t left = atomic_fetch_add(&comm->shared->left, 1) + 1;
	bool is_last = left == (uint32_t)comm->ranks;

	for (int i = 0; i < comm->ranks; i++) {
		for (unsigned int slot = 0; slot < SIMNCCL_SLOTS; slot++) {
			simnccl_node_drop_mail(&comm->mail[i][slot]);
			simnccl_node_drop_mail(&comm->outbox[i][slot]);
			simnccl_node_drop_mail(&comm->inbox[i][slot]);
			if (!is_last)
				continue;
			simnccl_node_remove_mail(comm->id, "all", i, 0, slot);
			for (int to = 0; to < comm->ranks; to++)
				simnccl_node_remove_mail(comm->id, "one", i, to, slot);
		}
	}
	simnccl_node_close(comm->shared);
	comm->magic = 0;
	free(comm);
}

static void log_comm(const struct ncclComm *comm, const char *function, ncclResult_t result)
{
	comm->driver->log(
		"nccl", function, (int)result, "comm=0x%llx\trank=%d\tranks=%d\tdevice=%d",
		(unsigned long long)(uintptr_t)comm, comm->rank, comm->ranks, comm->device);
}

static ncclResult_t join(struct ncclComm **out, const char *function, uint64_t id, int ranks,
			 int rank)
{
	ncclResult_t result = simnccl_comm_open(out, id, ranks, rank);

	if (result)
		return result;
	result = simnccl_group_is_open() ? simnccl_group_add_comm(*out) : simnccl_comm_wait(*out);
	log_comm(*out, function, result);
	return result;
}

static bool config_is_valid(const ncclConfig_t *config)
{
	return !config || config->magic == CONFIG_MAGIC;
}

ncclResult_t ncclGetVersion(int *version)
{
	if (!version)
		return ncclInvalidArgument;
	*version = SIMNCCL_VERSION;
	return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	if (!id)
		return ncclInvalidArgument;
	memset(id, 0, sizeof(*id));
	if (getrandom(id->internal, 32, 0) != 32)
		return ncclSystemError;
	return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
	return join(comm, "ncclCommInitRank", hash_bytes(&id, sizeof(id), 14695981039346656037u),
		    ranks, rank);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
				    ncclConfig_t *config)
{
	if (!config_is_valid(config))
		return simnccl_comm_fail(NULL, ncclInvalidArgument, "config not initialised");
	return join(comm, "ncclCommInitRankConfig",
		    hash_bytes(&id, sizeof(id), 14695981039346656037u), ranks, rank);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int ranks, int rank, int id_count,
				      ncclUniqueId *ids, ncclConfig_t *config)
{
	if (id_count < 1 || id_count > ranks || !ids || !config_is_valid(config))
		return simnccl_comm_fail(NULL, ncclInvalidArgument, "%d ids", id_count);
	return join(comm, "ncclCommInitRankScalable",
		    hash_bytes(ids, sizeof(*ids), 14695981039346656037u), ranks, rank);
}

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int count, const int *devices)
{
	const struct simnccl_driver *driver = simnccl_driver_get();
	CUcontext before = NULL, context;
	ncclResult_t result = ncclSuccess;
	ncclUniqueId id;
	CUdevice device;
	int made = 0;

	if (!comms || count < 1 || !driver || driver->Init(0))
		return ncclInvalidArgument;
	driver->CtxGetCurrent(&before);
	result = ncclGetUniqueId(&id);
	for (; made < count && !result; made++) {
		if (driver->DeviceGet(&device, devices ? devices[made] : made) ||
		    driver->DevicePrimaryCtxRetain(&context, device) ||
		    driver->CtxSetCurrent(context))
			result = ncclUnhandledCudaError;
		else
			result = simnccl_comm_open(&comms[made],
						   hash_bytes(&id, sizeof(id), 1469598103u), count,
						   made);
	}
	driver->CtxSetCurrent(before);
	if (!result)
		result = simnccl_comm_wait(comms[0]);
	for (int i = 0; i < made && !result; i++)
		log_comm(comms[i], "ncclCommInitAll", result);
	return result;
}

/* The members of one color in the order of their keys; ranks with equal keys keep their order. */
static int place_in_color(const struct ncclComm *comm, int color, int key, unsigned int turn,
			  int *members)
{
	int before = 0;

	*members = 0;
	for (int i = 0; i < comm->ranks; i++) {
		const struct simnccl_member *member = &comm->shared->member[i];
		int other = atomic_load(&member->key[turn]);

		if (atomic_load(&member->color[turn]) != color)
			continue;
		++*members;
		before += other < key || (other == key && i < comm->rank);
	}
	return before;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *made,
			   ncclConfig_t *config)
{
	struct simnccl_member *own;
	unsigned int looks = 0, turn;
	int rank, ranks;
	uint64_t id;

	if (!simnccl_comm_is_valid(comm) || !made || !config_is_valid(config) ||
	    (color < 0 && color != SIMNCCL_NO_COLOR))
		return ncclInvalidArgument;
	own = &comm->shared->member[comm->rank];
	turn = ++comm->splits % 2;
	atomic_store(&own->color[turn], color);
	atomic_store(&own->key[turn], key);
	atomic_store(&own->split_count, comm->splits);
	for (int i = 0; i < comm->ranks; i++) {
		while (atomic_load(&comm->shared->member[i].split_count) < comm->splits) {
			if (atomic_load(&comm->shared->error))
				return ncclRemoteError;
			simnccl_node_pause(&looks);
		}
	}
	*made = NULL;
	if (color == SIMNCCL_NO_COLOR)
		return ncclSuccess;
	rank = place_in_color(comm, color, key, turn, &ranks);
	id = hash_bytes(&comm->splits, sizeof(comm->splits), comm->id);
	id = hash_bytes(&color, sizeof(color), id);
	return join(made, "ncclCommSplit", id, ranks, rank);
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int *excluded, int excluded_count, ncclComm_t *made,
			    ncclConfig_t *config, int flags)
{
	int rank = 0, ranks = 0;
	uint64_t id;

	if (!simnccl_comm_is_valid(comm) || !made || !excluded || excluded_count < 1 ||
	    !config_is_valid(config) || (flags & ~SIMNCCL_SHRINK_ABORT))
		return ncclInvalidArgument;
	for (int i = 0; i < comm->ranks; i++) {
		bool is_out = false;

		for (int k = 0; k < excluded_count; k++)
			is_out |= excluded[k] == i;
		if (is_out && i == comm->rank)
			return simnccl_comm_fail(comm, ncclInvalidUsage, "rank %d is excluded", i);
		rank += !is_out && i < comm->rank;
		ranks += !is_out;
	}
	comm->splits++;
	id = hash_bytes(&comm->splits, sizeof(comm->splits), comm->id);
	id = hash_bytes("shrink", 6, id);
	return join(made, "ncclCommShrink", id, ranks, rank);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
	if (!simnccl_comm_is_valid(comm))
		return ncclInvalidArgument;
	comm->is_finalized = true;
	log_comm(comm, "ncclCommFinalize", ncclSuccess);
	return ncclSuccess;
}

/* As the real one, which returns once its work is done. */
static void wait_for_kernels(struct ncclComm *comm)
{
	CUcontext before = NULL;

	if (!atomic_load(&comm->open_kernels))
		return;
	comm->driver->CtxGetCurrent(&before);
	comm->driver->CtxSetCurrent(comm->context);
	comm->driver->CtxSynchronize();
	comm->driver->CtxSetCurrent(before);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
	if (!comm)
		return ncclSuccess;
	if (!simnccl_comm_is_valid(comm))
		return ncclInvalidArgument;
	wait_for_kernels(comm);
	log_comm(comm, "ncclCommDestroy", ncclSuccess);
	simnccl_comm_close(comm);
	return ncclSuccess;
}

/* Whoever waits for the communicator stops; the memory stays, since a thread may be looking. */
static ncclResult_t stop(ncclComm_t comm, const char *function)
{
	if (!simnccl_comm_is_valid(comm))
		return comm ? ncclInvalidArgument : ncclSuccess;
	atomic_store(&comm->shared->error, ncclRemoteError);
	log_comm(comm, function, ncclSuccess);
	return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
	ncclResult_t result = stop(comm, "ncclCommAbort");

	if (comm && !result)
		comm->magic = 0;
	return result;
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags)
{
	return flags ? ncclInvalidArgument : stop(comm, "ncclCommRevoke");
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
	int own;

	if (!simnccl_comm_is_valid(comm) || !error)
		return ncclInvalidArgument;
	own = atomic_load(&comm->own_error);
	*error = own ? (ncclResult_t)own : (ncclResult_t)atomic_load(&comm->shared->error);
	return ncclSuccess;
}

#define GETTER(name, field)                                                                        \
	ncclResult_t name(const ncclComm_t comm, int *out)                                         \
	{                                                                                          \
		if (!simnccl_comm_is_valid(comm) || !out)                                          \
			return ncclInvalidArgument;                                                \
		*out = comm->field;                                                                \
		return ncclSuccess;                                                                \
	}
GETTER(ncclCommCount, ranks)
GETTER(ncclCommCuDevice, device)
GETTER(ncclCommUserRank, rank)

const char *ncclGetLastError(ncclComm_t comm)
{
	return simnccl_comm_is_valid(comm) ? comm->last_error : last_error;
}

void ncclResetDebugInit(void)
{
}

const char *ncclGetErrorString(ncclResult_t result)
{
	static const char *const sentences[] = {"success",
						"a CUDA call failed",
						"a system call failed",
						"internal error",
						"an argument is invalid",
						"the usage is invalid",
						"a remote process ended or met an error",
						"the operation is in progress",
						"the operation took too long"};

	return (unsigned int)result < sizeof(sentences) / sizeof(sentences[0]) ? sentences[result]
									       : "unknown result";
}
