/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payloads of NVTX events: integers, and structures whose layout a library registered as a schema
 * (NCCL: communicator, bytes, root or peer).
 */
#ifndef GPUTRACE_SHIM_NVTX_PAYLOAD_H
#define GPUTRACE_SHIM_NVTX_PAYLOAD_H

#include "mark.h"
#include "nvtx_abi.h"

/* The number of the schema, chosen here when the library left it open; 0: not kept. */
uint64_t nvtx_payload_register(const struct nvtx_schema *schema);
/* Into value, communicator and peer of the mark. */
void nvtx_payload_of_event(const struct nvtx_event *event, struct mark *mark);
void nvtx_payload_read(const struct nvtx_payload *payloads, size_t count, struct mark *mark);

#endif
