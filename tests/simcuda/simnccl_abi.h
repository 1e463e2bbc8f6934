/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public ABI of NCCL 2.30 as far as the simulated library and its tests use it: types, numbers
 * and prototypes in our own words. No nccl.h comes with the CUDA toolkit.
 */
#ifndef GPUTRACE_SIMNCCL_ABI_H
#define GPUTRACE_SIMNCCL_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct CUstream_st *nccl_stream;
typedef struct ncclComm *ncclComm_t;
typedef struct ncclWindow *ncclWindow_t;
typedef struct {
	char internal[128];
} ncclUniqueId;

typedef enum {
	ncclSuccess = 0,
	ncclUnhandledCudaError = 1,
	ncclSystemError = 2,
	ncclInternalError = 3,
	ncclInvalidArgument = 4,
	ncclInvalidUsage = 5,
	ncclRemoteError = 6,
	ncclInProgress = 7,
	ncclTimeout = 8
} ncclResult_t;

typedef enum { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4 } ncclRedOp_t;

typedef enum {
	ncclInt8 = 0,
	ncclUint8 = 1,
	ncclInt32 = 2,
	ncclUint32 = 3,
	ncclInt64 = 4,
	ncclUint64 = 5,
	ncclFloat16 = 6,
	ncclFloat32 = 7,
	ncclFloat64 = 8,
	ncclBfloat16 = 9,
	ncclFloat8e4m3 = 10,
	ncclFloat8e5m2 = 11,
	ncclNumTypes = 12
} ncclDataType_t;

typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

/* The start of ncclConfig_t and ncclSimInfo_t: all that is looked at here. */
typedef struct {
	size_t size;
	unsigned int magic;
	unsigned int version;
	int blocking;
} ncclConfig_t;
typedef struct {
	size_t size;
	unsigned int magic;
	unsigned int version;
	float estimatedTime;
} ncclSimInfo_t;

#define SIMNCCL_VERSION	     23007
#define SIMNCCL_NO_COLOR     (-1)
#define SIMNCCL_SHRINK_ABORT 1

/* Rows: result type, name, parameters. */
#define SIMNCCL_FUNCTIONS(ROW)                                                                     \
	ROW(ncclGetVersion, (int *version))                                                        \
	ROW(ncclGetUniqueId, (ncclUniqueId * id))                                                  \
	ROW(ncclMemAlloc, (void **address, size_t bytes))                                          \
	ROW(ncclMemFree, (void *address))                                                          \
	ROW(ncclCommInitRank, (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank))           \
	ROW(ncclCommInitRankConfig,                                                                \
	    (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config))       \
	ROW(ncclCommInitRankScalable, (ncclComm_t * comm, int ranks, int rank, int id_count,       \
				       ncclUniqueId *ids, ncclConfig_t *config))                   \
	ROW(ncclCommInitAll, (ncclComm_t * comms, int count, const int *devices))                  \
	ROW(ncclCommSplit,                                                                         \
	    (ncclComm_t comm, int color, int key, ncclComm_t *made, ncclConfig_t *config))         \
	ROW(ncclCommShrink, (ncclComm_t comm, int *excluded, int excluded_count, ncclComm_t *made, \
			     ncclConfig_t *config, int flags))                                     \
	ROW(ncclCommFinalize, (ncclComm_t comm))                                                   \
	ROW(ncclCommDestroy, (ncclComm_t comm))                                                    \
	ROW(ncclCommAbort, (ncclComm_t comm))                                                      \
	ROW(ncclCommRevoke, (ncclComm_t comm, int flags))                                          \
	ROW(ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t * error))                        \
	ROW(ncclCommCount, (const ncclComm_t comm, int *count))                                    \
	ROW(ncclCommCuDevice, (const ncclComm_t comm, int *device))                                \
	ROW(ncclCommUserRank, (const ncclComm_t comm, int *rank))                                  \
	ROW(ncclCommRegister, (const ncclComm_t comm, void *address, size_t bytes, void **handle)) \
	ROW(ncclCommDeregister, (const ncclComm_t comm, void *handle))                             \
	ROW(ncclCommWindowRegister,                                                                \
	    (ncclComm_t comm, void *address, size_t bytes, ncclWindow_t *window, int flags))       \
	ROW(ncclCommWindowDeregister, (ncclComm_t comm, ncclWindow_t window))                      \
	ROW(ncclRedOpCreatePreMulSum, (ncclRedOp_t * op, void *scalar, ncclDataType_t type,        \
				       ncclScalarResidence_t residence, ncclComm_t comm))          \
	ROW(ncclRedOpDestroy, (ncclRedOp_t op, ncclComm_t comm))                                   \
	ROW(ncclGroupStart, (void))                                                                \
	ROW(ncclGroupEnd, (void))                                                                  \
	ROW(ncclGroupSimulateEnd, (ncclSimInfo_t * info))                                          \
	ROW(ncclAllReduce, (const void *send, void *receive, size_t count, ncclDataType_t type,    \
			    ncclRedOp_t op, ncclComm_t comm, nccl_stream stream))                  \
	ROW(ncclReduce, (const void *send, void *receive, size_t count, ncclDataType_t type,       \
			 ncclRedOp_t op, int root, ncclComm_t comm, nccl_stream stream))           \
	ROW(ncclReduceScatter,                                                                     \
	    (const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,   \
	     ncclComm_t comm, nccl_stream stream))                                                 \
	ROW(ncclBroadcast, (const void *send, void *receive, size_t count, ncclDataType_t type,    \
			    int root, ncclComm_t comm, nccl_stream stream))                        \
	ROW(ncclBcast, (void *buffer, size_t count, ncclDataType_t type, int root,                 \
			ncclComm_t comm, nccl_stream stream))                                      \
	ROW(ncclAllGather, (const void *send, void *receive, size_t count, ncclDataType_t type,    \
			    ncclComm_t comm, nccl_stream stream))                                  \
	ROW(ncclAlltoAll, (const void *send, void *receive, size_t count, ncclDataType_t type,     \
			   ncclComm_t comm, nccl_stream stream))                                   \
	ROW(ncclGather, (const void *send, void *receive, size_t count, ncclDataType_t type,       \
			 int root, ncclComm_t comm, nccl_stream stream))                           \
	ROW(ncclScatter, (const void *send, void *receive, size_t count, ncclDataType_t type,      \
			  int root, ncclComm_t comm, nccl_stream stream))                          \
	ROW(ncclSend, (const void *send, size_t count, ncclDataType_t type, int peer,              \
		       ncclComm_t comm, nccl_stream stream))                                       \
	ROW(ncclRecv, (void *receive, size_t count, ncclDataType_t type, int peer,                 \
		       ncclComm_t comm, nccl_stream stream))

#pragma GCC visibility push(default)
#define SIMNCCL_DECLARE(name, parameters) ncclResult_t name parameters;
SIMNCCL_FUNCTIONS(SIMNCCL_DECLARE)
#undef SIMNCCL_DECLARE
const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetLastError(ncclComm_t comm);
void ncclResetDebugInit(void);
#pragma GCC visibility pop

#endif
