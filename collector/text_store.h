/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What names and describes (names, info, devices, threads, libraries, sites) of one session, each
 * thing once: it is written when new and again at the head of every segment. Bounded: at the limit
 * the owner clears it, which costs later segments their copy of older names, never the file.
 */
#ifndef GPUTRACE_TEXT_STORE_H
#define GPUTRACE_TEXT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_STORE_LIMIT_BYTES (32u * 1024 * 1024)

struct text_store;

struct text_store *text_store_new(void);
void text_store_free(struct text_store *store);

/* A checked TEXT record. 1: new or changed, 0: known already, -ENOMEM. */
int text_store_add(struct text_store *store, const void *record, size_t bytes);
/* Bytes taken since text_store_mark(). */
size_t text_store_new_bytes(const struct text_store *store);
size_t text_store_bytes(const struct text_store *store);
/* Everything so far counts as written. */
void text_store_mark(struct text_store *store);
void text_store_clear(struct text_store *store);
/* The next record at or behind *offset, skipping replaced ones; NULL at the end. Start at 0 for all
 * of them, at text_store_marked() for the new ones. */
const void *text_store_next(const struct text_store *store, size_t *offset, size_t *bytes);
size_t text_store_marked(const struct text_store *store);

#endif
