/* SPDX-License-Identifier: Apache-2.0 */
/* The first step of ring_reader.h, shared by ring_take.c and ring_reader.c. All of it under the
 * reader's lock. */
#ifndef GPUTRACE_RING_TAKE_H
#define GPUTRACE_RING_TAKE_H

#include "ring_reader.h"

/* Bytes of the shared memory as it is now. */
uint64_t ring_take_memory_bytes(const struct ring_reader *reader);
/* What a slot's ring holds goes into the stage; a retired one is freed. False: no room for all. */
bool ring_take_slot(struct ring_reader *reader, uint32_t index);
/* Whether a slot can wait for the next drain: not one part of `share` parts of its ring is full. */
bool ring_take_can_wait(const struct ring_reader *reader, uint32_t index, uint32_t share);
/* What its producers dropped since the last look. False: no room to tell. */
bool ring_take_drops(struct ring_reader *reader, uint32_t index);
void ring_take_unmap(const struct ring_reader *reader, struct ring_hold *hold);

#endif
