/* SPDX-License-Identifier: Apache-2.0 */
/* The last column of the rows about contexts, see capture.h; and whose memory a call takes. */
#ifndef GPUTRACE_SHIM_CAPTURE_CONTEXT_H
#define GPUTRACE_SHIM_CAPTURE_CONTEXT_H

#include <stdint.h>

#include "api/cuda_abi.h"
#include "call.h"

/* The current context where the program made it itself, 0 where it is a device's primary one. */
uint64_t capture_context_own(const struct call *call);

/* out: where the new context's handle was returned. */
void capture_context_create(struct call *call, const void *out, CUdevice device);
void capture_context_destroy(struct call *call, CUcontext context);
void capture_context_set(struct call *call, CUcontext context);
void capture_context_push(struct call *call, CUcontext context);
void capture_context_pop(struct call *call);
void capture_context_retain(struct call *call, const void *out, CUdevice device);
void capture_context_release(struct call *call, CUdevice device);
void capture_context_reset(struct call *call, CUdevice device);

#endif
