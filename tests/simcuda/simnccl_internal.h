/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the simulated NCCL (libnccl.so.2): a communicator of one rank, the memory that the
 * ranks of a node share, one operation on its way. An entry point makes a struct simnccl_op; the
 * group collects or launches it; its kernel meets the other ranks' in shared memory and ends with
 * theirs; then the bytes are there.
 *
 * Threads: one communicator by one thread at a time, as with NCCL; finish() also by whoever waits.
 */
#ifndef GPUTRACE_SIMNCCL_INTERNAL_H
#define GPUTRACE_SIMNCCL_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>

#include <cuda.h>
#include <cudaTypedefs.h>

#include "simcuda.h"
#include "simnccl_abi.h"

enum {
	SIMNCCL_RANKS_MAX = 16,
	SIMNCCL_SLOTS = 8, /* operations of one kind that may be under way */
	SIMNCCL_OPS_MAX = 5 + 64,
	SIMNCCL_PARTS_MAX = 2 * SIMNCCL_RANKS_MAX,
};

/* Functions of the driver, through cuGetProcAddress so that an interposer sees them. */
struct simnccl_driver {
#define SIMNCCL_DRIVER(name, version) PFN_cu##name##_v##version name;
#include "simnccl_driver.def"
#undef SIMNCCL_DRIVER
	void *(*library_kernel)(const char *name, const struct simcuda_cost *next_launch);
	void (*next_launch_meets)(void *kernel, const struct simcuda_meeting *meeting);
	uint64_t (*gpu_clock_ns)(void);
	void (*log)(const char *tag, const char *function, int result, const char *format, ...)
		__attribute__((format(printf, 4, 5)));
};
const struct simnccl_driver *simnccl_driver_get(void); /* NULL: no simulated driver */

/* ---- what the ranks of a communicator share ---- */

struct simnccl_rank_slot {
	_Atomic int64_t begin_ns; /* on the shared clock; 0: has not come */
	uint32_t ready;		  /* written by the simulated GPU: the bytes are there */
	_Atomic uint64_t bytes;
};
struct simnccl_slot {
	_Atomic uint32_t turn; /* how often the slot was used up */
	_Atomic uint32_t done; /* ranks that have read */
	struct simnccl_rank_slot rank[SIMNCCL_RANKS_MAX];
};
/* Messages from one rank to another: entry 0 of `rank` is the sender, 1 the receiver. */
struct simnccl_pair {
	struct simnccl_slot slot[SIMNCCL_SLOTS];
};
struct simnccl_member {
	_Atomic uint32_t pid;
	_Atomic uint32_t split_count;	  /* splits this rank has called */
	_Atomic int32_t color[2], key[2]; /* of the last two splits */
};
struct simnccl_shared {
	_Atomic uint32_t joined, left, error;
	struct simnccl_member member[SIMNCCL_RANKS_MAX];
	struct simnccl_slot slot[SIMNCCL_SLOTS];
	struct simnccl_pair pair[SIMNCCL_RANKS_MAX][SIMNCCL_RANKS_MAX];
};

/* Bytes on their way: a file of the node, grown as needed, mapped by writer and readers. */
struct simnccl_mail {
	void *memory;
	size_t bytes;
};

struct simnccl_operator {
	bool is_live;
	double scalar;
};

struct ncclComm {
	uint64_t magic;
	const struct simnccl_driver *driver;
	struct simnccl_shared *shared;
	uint64_t id; /* names the files of the node */
	int rank, ranks, device;
	CUcontext context;
	bool is_finalized;
	_Atomic int own_error;
	_Atomic int open_kernels; /* that have not met the others yet */
	uint64_t collectives;
	uint64_t sent[SIMNCCL_RANKS_MAX], received[SIMNCCL_RANKS_MAX];
	uint32_t splits;
	struct simnccl_mail mail[SIMNCCL_RANKS_MAX][SIMNCCL_SLOTS];
	struct simnccl_mail outbox[SIMNCCL_RANKS_MAX][SIMNCCL_SLOTS];
	struct simnccl_mail inbox[SIMNCCL_RANKS_MAX][SIMNCCL_SLOTS];
	struct simnccl_operator operators[SIMNCCL_OPS_MAX];
	double bus_rate; /* bytes per second at large sizes */
	bool has_nvlink;
	char last_error[160];
};

bool simnccl_comm_is_valid(const struct ncclComm *comm);
/* Sets the text of ncclGetLastError. */
ncclResult_t simnccl_comm_fail(struct ncclComm *comm, ncclResult_t result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Joining in two steps, so that one thread can bring several ranks: open all, then wait for all. */
ncclResult_t simnccl_comm_open(struct ncclComm **out, uint64_t id, int ranks, int rank);
ncclResult_t simnccl_comm_wait(struct ncclComm *comm);
void simnccl_comm_close(struct ncclComm *comm);

/* simnccl_node.c */
struct simnccl_shared *simnccl_node_open(uint64_t id);
void simnccl_node_close(struct simnccl_shared *shared);
/* Removes the name, once all have opened it. */
void simnccl_node_forget(uint64_t id);
void *simnccl_node_mail(struct simnccl_mail *mail, uint64_t id, const char *kind, int from, int to,
			unsigned int slot, size_t bytes);
void simnccl_node_drop_mail(struct simnccl_mail *mail);
void simnccl_node_remove_mail(uint64_t id, const char *kind, int from, int to, unsigned int slot);
/* One look apart from the next while waiting for another process. */
void simnccl_node_pause(unsigned int *looks);
/* The shared clock minus this process's GPU clock. */
int64_t simnccl_node_clock_offset(const struct simnccl_driver *driver);

/* ---- operations ---- */

enum simnccl_kind {
	SIMNCCL_ALL_REDUCE,
	SIMNCCL_BROADCAST,
	SIMNCCL_REDUCE,
	SIMNCCL_ALL_GATHER,
	SIMNCCL_REDUCE_SCATTER,
	SIMNCCL_ALL_TO_ALL,
	SIMNCCL_GATHER,
	SIMNCCL_SCATTER,
	SIMNCCL_SEND,
	SIMNCCL_RECEIVE
};

struct simnccl_op {
	const char *function;
	enum simnccl_kind kind;
	struct ncclComm *comm;
	const void *send;
	void *receive;
	size_t count;
	ncclDataType_t type;
	int reduction;
	int root; /* or peer */
	CUstream stream;
};

size_t simnccl_type_bytes(ncclDataType_t type);
const char *simnccl_type_name(ncclDataType_t type);
/* receive[i] = the reduction over `count` ranks of inputs[rank][i]. */
void simnccl_reduce(void *receive, const void *const *inputs, int ranks, size_t count,
		    ncclDataType_t type, int reduction, double scalar);

/* Launches one collective, or the sends and receives of a group on one stream as one kernel. */
ncclResult_t simnccl_launch(const struct simnccl_op *ops, size_t op_count);
/* Collects while a group is open, else launches. */
ncclResult_t simnccl_group_add(const struct simnccl_op *op);
bool simnccl_group_is_open(void);
/* A communicator that was opened inside a group and is to be waited for at its end. */
ncclResult_t simnccl_group_add_comm(struct ncclComm *comm);

/* simnccl_model.c */
void simnccl_model_read(struct ncclComm *comm);
uint64_t simnccl_model_ns(const struct ncclComm *comm, enum simnccl_kind kind, uint64_t bytes);
/* The kernel's symbol, as a C++ compiler makes it. */
void simnccl_model_name(const struct simnccl_op *op, uint64_t bytes, char *name, size_t size);
unsigned int simnccl_model_channels(const struct ncclComm *comm, uint64_t bytes);

/* simnccl_faults.c: "RANK:VALUE" of a variable, -1 when it is for another rank or not set. */
long simnccl_fault(const char *variable, int rank);

#endif
