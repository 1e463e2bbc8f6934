/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fixed-size records that wait to become a COLUMNS chunk: per kind, already column by column.
 * Rows arrive into a small block that stays in the CPU's cache and are turned into columns a block
 * at a time; going through whole 100-byte rows column by column at the end would cost more than the
 * encoding.
 */
#ifndef GPUTRACE_ROW_STORE_H
#define GPUTRACE_ROW_STORE_H

#include <stdint.h>

#include "record.h"
#include "record_schema.h"

struct row_store;

/* All rows of one kind, valid until the store changes. */
struct row_columns {
	const void *values[RECORD_COLUMNS_MAX]; /* as column_encode() takes them */
	const uint32_t *threads;
	uint32_t count;
	uint64_t first_time, last_time; /* smallest and largest of the kind's time field */
};

struct row_store *row_store_new(void);
void row_store_free(struct row_store *store);

/* `record` has a fixed-size kind and was checked. 0 or -ENOMEM. */
int row_store_add(struct row_store *store, uint32_t thread, uint16_t kind, const void *record);
/* Rows of all kinds together, and of the kind that has most; the owner empties the store before
 * those are more than CHUNK_MAX_ROWS. */
uint32_t row_store_count(const struct row_store *store);
uint32_t row_store_fullest(const struct row_store *store);
uint32_t row_store_count_of(const struct row_store *store, uint16_t kind);
/* 0 or -ENOMEM; columns->count is 0 when there is no row of this kind. */
int row_store_columns(struct row_store *store, uint16_t kind, struct row_columns *columns);
/* Forgets all rows and gives memory back that was not used lately. */
void row_store_clear(struct row_store *store);

#endif
