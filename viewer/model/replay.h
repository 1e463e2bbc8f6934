/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would a step take if some GPU work were shorter? The recording is played again with the
 * shortened work: the host makes the same calls with the same time between them, waits only as long
 * as it must, and the GPU starts an operation when it is launched and what it followed is done. So
 * work that the host hides, because it launches too slowly anyhow, gains nothing, and a wait
 * becomes shorter only until the host's own work is the longer path.
 */
#ifndef GPUTRACE_MODEL_REPLAY_H
#define GPUTRACE_MODEL_REPLAY_H

#include "ledger.h"

struct replay;

/* Of one device, which must have operations. The model must outlive it. */
struct replay *replay_new(const struct model *model, size_t device);
void replay_free(struct replay *replay);
/* How much shorter the mean steady step becomes, ms, when of the operations of each ledger part the
 * given share of their time is removed (0 none .. 1 all). Idle parts have no operations. */
double replay_gain_ms(struct replay *replay, const double removed[LEDGER_PART_COUNT]);

#endif
