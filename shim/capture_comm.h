/* SPDX-License-Identifier: Apache-2.0 */
/* Records of NCCL's calls: communicators, collectives, messages, groups. Used by nccl.def. */
#ifndef GPUTRACE_SHIM_CAPTURE_COMM_H
#define GPUTRACE_SHIM_CAPTURE_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "api/nccl_abi.h"
#include "call.h"

#define COMM_NO_PEER (-1)

/* One call as passed; what does not apply is 0 or COMM_NO_PEER. */
struct comm_call {
	unsigned int op; /* enum collective_op */
	const void *send, *receive;
	size_t count;
	int type, reduction, peer;
	const void *comm, *stream;
};
#define COMM_CALL(what, send_, receive_, count_, reduction_, peer_)                                \
	(struct comm_call)                                                                         \
	{                                                                                          \
		.op = COLLECTIVE_##what, .send = (send_), .receive = (receive_),                   \
		.count = (count_), .type = datatype, .reduction = (reduction_), .peer = (peer_),   \
		.comm = comm, .stream = stream                                                     \
	}

void capture_collective(struct call *call, const struct comm_call *what);
void capture_comm_init(struct call *call, const void *out, const ncclUniqueId *ids, int id_count,
		       int ranks, int rank);
void capture_comm_init_all(struct call *call, const ncclComm_t *out, int count, const int *devices);
void capture_comm_split(struct call *call, const void *parent, int color, const void *out);
void capture_comm_shrink(struct call *call, const void *parent, const int *excluded, int count,
			 const void *out);
void capture_comm_end(struct call *call, const void *comm, unsigned int op);
/* A call that is recorded with one object; an error of NCCL's is one to write at once. */
void capture_comm_plain(struct call *call, const void *object);
/* Asked for every 100 ms by watchdogs: recorded only when there is an error. */
void capture_comm_async_error(struct call *call, const void *comm, const int *error);
void capture_group_start(struct call *call);
void capture_group_end(struct call *call);
/* Real functions of a loaded libnccl, in wrap_nccl.c; NULL: it has none. */
int (*wrap_nccl_user_rank(void))(const void *, int *);
int (*wrap_nccl_count(void))(const void *, int *);
/* In a forked child. */
void capture_comm_after_fork(void);

#endif
