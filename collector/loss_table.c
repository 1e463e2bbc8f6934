/* SPDX-License-Identifier: Apache-2.0 */
/* A plain two-dimensional table: losses are rare, so walking all of it is cheap enough. */
#include "loss_table.h"

#include <string.h>

void loss_table_add(struct loss_table *table, uint16_t kind, uint16_t reason, uint64_t count,
		    uint64_t ticks)
{
	uint16_t row = reason < LOSS_REASON_LIMIT ? reason : 0;
	uint16_t column = kind < RECORD_KIND_LIMIT ? kind : 0;
	struct loss_cell *cell = &table->cells[row][column];

	if (count == 0)
		return;
	if (cell->count == 0)
		table->used++;
	cell->count += count;
	cell->ticks = ticks;
	table->total[column] += count;
}

int loss_table_each(struct loss_table *table, int tail_only,
		    int (*fn)(void *context, const struct record_loss *loss), void *context)
{
	if (table->used == 0)
		return 0;
	for (uint16_t reason = 0; reason < LOSS_REASON_LIMIT; reason++) {
		for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++) {
			const struct loss_cell *cell = &table->cells[reason][kind];
			uint64_t count = cell->count - (tail_only ? cell->in_tail : 0);
			struct record_loss loss = {
				.head = {.kind = RECORD_KIND_loss, .size_bytes = sizeof(loss)},
				.ticks = cell->ticks,
				.count = count,
				.lost_kind = kind,
				.reason = reason,
			};
			int rc = count ? fn(context, &loss) : 0;

			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

void loss_table_settled(struct loss_table *table)
{
	memset(table->cells, 0, sizeof(table->cells));
	table->used = 0;
}

void loss_table_in_tail(struct loss_table *table)
{
	if (table->used == 0)
		return;
	for (unsigned int reason = 0; reason < LOSS_REASON_LIMIT; reason++) {
		for (unsigned int kind = 0; kind < RECORD_KIND_LIMIT; kind++)
			table->cells[reason][kind].in_tail = table->cells[reason][kind].count;
	}
}
