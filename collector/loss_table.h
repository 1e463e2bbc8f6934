/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses that the file does not say yet, by kind and reason. Loss records are kept apart from other
 * rows, so that a full disk which costs rows never costs the count of them.
 */
#ifndef GPUTRACE_LOSS_TABLE_H
#define GPUTRACE_LOSS_TABLE_H

#include <stdint.h>

#include "record.h"

#define LOSS_REASON_LIMIT 16

struct loss_cell {
	uint64_t count;	  /* since the last loss_table_settled() */
	uint64_t in_tail; /* of these, how many the tail says */
	uint64_t ticks;	  /* of the last one */
};

struct loss_table {
	struct loss_cell cells[LOSS_REASON_LIMIT][RECORD_KIND_LIMIT];
	uint64_t total[RECORD_KIND_LIMIT];
	uint32_t used; /* cells with a count */
};

/* Kinds and reasons out of range count as 0, "unknown". */
void loss_table_add(struct loss_table *table, uint16_t kind, uint16_t reason, uint64_t count,
		    uint64_t ticks);
/* Calls fn for every cell that has more than what the tail says (tail_only) or anything at all.
 * Stops at the first negative result and returns it. */
int loss_table_each(struct loss_table *table, int tail_only,
		    int (*fn)(void *context, const struct record_loss *loss), void *context);
/* Everything is in the file for good, or in the tail. */
void loss_table_settled(struct loss_table *table);
void loss_table_in_tail(struct loss_table *table);

#endif
