/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The idle gaps of a device one by one, each with the verdict that the ledger gave it; for rules
 * that ask what happened in a gap and not only how long all of them are.
 */
#ifndef GPUTRACE_MODEL_GAP_WALK_H
#define GPUTRACE_MODEL_GAP_WALK_H

#include "model.h"

struct idle_gap {
	int64_t begin_ns, end_ns;
	size_t op;	  /* index of ops: ended the gap */
	size_t step;	  /* in whose window it begins, SIZE_MAX none */
	uint8_t part;	  /* enum ledger_part, or LEDGER_UNKNOWN */
	uint32_t call;	  /* that answers for it, MODEL_NONE nobody */
	bool is_readback; /* as in idle_charge */
};

/* Calls visit() for every gap, in the order of time. */
void gap_walk(const struct model *model, size_t device,
	      void (*visit)(void *context, const struct idle_gap *gap), void *context);

#endif
