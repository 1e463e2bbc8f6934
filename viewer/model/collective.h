/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators and collectives of the process as its calls to NCCL tell, and what the name of a
 * communication kernel tells where calls are not in the file.
 */
#ifndef GPUTRACE_MODEL_COLLECTIVE_H
#define GPUTRACE_MODEL_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

struct gpu_op;
struct host_call;
struct model;
struct model_builder;

#define COLLECTIVE_NO_RANK UINT32_MAX

struct model_communicator {
	uint64_t handle;
	uint64_t hash; /* the same in the files of all its ranks, 0 unknown */
	uint64_t parent;
	uint32_t rank, rank_count; /* COLLECTIVE_NO_RANK, 0: unknown */
	int64_t begin_ns, end_ns;  /* joined; finalized, destroyed or aborted, INT64_MAX never */
};

/* One collective or message, in the order of the calls: by thread, then begin. */
struct model_collective {
	uint64_t hash; /* of the communicator, 0 unknown */
	uint64_t size_bytes, count;
	uint64_t receive;    /* address */
	uint32_t call;	     /* index of calls */
	uint32_t op;	     /* index of ops: its kernel; MODEL_NONE: none in the file */
	uint32_t sequence;   /* per communicator, messages per peer; 0 unknown */
	uint32_t group;	     /* of the thread, 0 not grouped */
	uint32_t peer;	     /* root or peer, MARK_NO_PEER */
	uint32_t rank_count; /* of the communicator, 0 unknown */
	uint8_t kind;	     /* enum collective_op */
	uint8_t element, reduction;
	bool is_captured; /* into a graph: its kernels come with the graph's launches */
};

/* What a kernel's name says. */
struct comm_kernel {
	uint8_t kind;	       /* enum collective_op, 0 unknown; SEND for any message */
	const char *algorithm; /* "RING", NULL unknown */
	const char *protocol;  /* "LL128", NULL unknown */
};
struct comm_kernel comm_kernel_of(const char *name);

/* "all-reduce" */
const char *collective_name(enum collective_op kind);
bool collective_is_message(uint8_t kind);
/* The largest communicator that the process is in, NULL none. */
const struct model_communicator *communicator_largest(const struct model *model);

/* ---- for the model ---- */

/* Any call that has no other payload. */
void collect_communication(struct model_builder *builder, const void *record,
			   struct host_call *call);
/* After the calls were sorted: order and call indexes. After the operations were linked: kernels.
 */
void collectives_sort(struct model *model);
void collectives_link(struct model *model);
void collectives_free(struct model *model);

#endif
