/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own declaration of the part of NCCL's ABI that the wrappers touch: handles are opaque, enums
 * are int. The public header is compared with it by tests/shim where one is installed.
 */
#ifndef GPUTRACE_SHIM_NCCL_ABI_H
#define GPUTRACE_SHIM_NCCL_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct ncclComm *ncclComm_t;
typedef struct ncclWindow_vidmem *ncclWindow_t;
typedef struct {
	char internal[128];
} ncclUniqueId;

enum {
	ABI_NCCL_SYSTEM_ERROR = 2,
	ABI_NCCL_INTERNAL_ERROR = 3,
	ABI_NCCL_REMOTE_ERROR = 6,
	ABI_NCCL_IN_PROGRESS = 7, /* not an error: a communicator that does not block */
};

#endif
