/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records stand back to back in one arena in the order of arrival; a hash table finds a thing by
 * what identifies it. A changed thing is appended anew and its old record becomes a RECORD_PAD.
 */
#include "text_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "byte_buffer.h"
#include "record.h"

struct text_store {
	struct byte_buffer arena;
	size_t marked;
	uint32_t *slots;     /* arena offset / 8 + 1, 0 empty */
	uint32_t slot_count; /* power of two */
	uint32_t used_slots;
};

struct text_store *text_store_new(void)
{
	return calloc(1, sizeof(struct text_store));
}

void text_store_free(struct text_store *store)
{
	if (!store)
		return;
	byte_buffer_free(&store->arena);
	free(store->slots);
	free(store);
}

/* The bytes that say which thing a record describes. */
static const void *record_identity(const void *record, size_t *bytes)
{
	const struct record_head *head = record;
	const struct record_info *info = record;
	const struct record_library *library = record;

	switch (head->kind) {
	case RECORD_KIND_name: /* id and space stand side by side */
		*bytes = sizeof(uint64_t) + sizeof(uint16_t);
		return (const char *)record + offsetof(struct record_name, id);
	case RECORD_KIND_info:
		*bytes = info->key_bytes;
		return info->text;
	case RECORD_KIND_device:
		*bytes = sizeof(uint32_t);
		return (const char *)record + offsetof(struct record_device, ordinal);
	case RECORD_KIND_thread:
		*bytes = sizeof(uint32_t);
		return (const char *)record + offsetof(struct record_thread, thread);
	case RECORD_KIND_library: /* address, size and offset stand side by side; then the path */
		*bytes = library->path_bytes;
		return library->path;
	default:
		*bytes = sizeof(uint64_t);
		return (const char *)record + offsetof(struct record_site, id);
	}
}

static bool same_thing(const void *one, const void *two)
{
	const struct record_head *head_one = one;
	const struct record_head *head_two = two;
	const void *identity_one, *identity_two;
	size_t bytes_one, bytes_two;

	if (head_one->kind != head_two->kind)
		return false;
	identity_one = record_identity(one, &bytes_one);
	identity_two = record_identity(two, &bytes_two);
	if (bytes_one != bytes_two || memcmp(identity_one, identity_two, bytes_one) != 0)
		return false;
	if (head_one->kind == RECORD_KIND_library)
		return ((const struct record_library *)one)->address ==
		       ((const struct record_library *)two)->address;
	return true;
}

static uint32_t thing_hash(const void *record)
{
	const struct record_head *head = record;
	uint64_t hash = 0xcbf29ce484222325ull ^ head->kind;
	size_t bytes;
	const uint8_t *at = record_identity(record, &bytes);

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ at[i]) * 0x100000001b3ull;
	return (uint32_t)(hash ^ (hash >> 32));
}

static void *slot_record(const struct text_store *store, uint32_t slot)
{
	return store->arena.data + ((size_t)store->slots[slot] - 1) * 8;
}

/* The slot of this thing, or the empty one where it belongs. */
static uint32_t find_slot(const struct text_store *store, const void *record)
{
	uint32_t slot = thing_hash(record) & (store->slot_count - 1);

	while (store->slots[slot] && !same_thing(slot_record(store, slot), record))
		slot = (slot + 1) & (store->slot_count - 1);
	return slot;
}

static int grow_slots(struct text_store *store)
{
	struct text_store larger = *store;

	larger.slot_count = store->slot_count ? store->slot_count * 2 : 1024;
	larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < store->slot_count; i++) {
		if (store->slots[i])
			larger.slots[find_slot(&larger, slot_record(store, i))] = store->slots[i];
	}
	free(store->slots);
	*store = larger;
	return 0;
}

int text_store_add(struct text_store *store, const void *record, size_t bytes)
{
	size_t offset;
	uint32_t slot;
	int rc;

	if (store->used_slots >= store->slot_count / 2) {
		rc = grow_slots(store);
		if (rc < 0)
			return rc;
	}
	slot = find_slot(store, record);
	if (store->slots[slot]) {
		struct record_head *old = slot_record(store, slot);

		if (old->size_bytes == bytes && memcmp(old, record, bytes) == 0)
			return 0;
	}
	offset = store->arena.used;
	rc = byte_buffer_append(&store->arena, record, bytes);
	if (rc < 0)
		return rc;
	if (store->slots[slot])
		((struct record_head *)slot_record(store, slot))->kind = RECORD_PAD;
	else
		store->used_slots++;
	store->slots[slot] = (uint32_t)(offset / 8 + 1);
	return 1;
}

size_t text_store_new_bytes(const struct text_store *store)
{
	return store->arena.used - store->marked;
}

size_t text_store_bytes(const struct text_store *store)
{
	return store->arena.used;
}

void text_store_mark(struct text_store *store)
{
	store->marked = store->arena.used;
}

size_t text_store_marked(const struct text_store *store)
{
	return store->marked;
}

void text_store_clear(struct text_store *store)
{
	if (store->slot_count > 0)
		memset(store->slots, 0, store->slot_count * sizeof(*store->slots));
	store->used_slots = 0;
	store->arena.used = 0;
	store->marked = 0;
}

const void *text_store_next(const struct text_store *store, size_t *offset, size_t *bytes)
{
	while (*offset < store->arena.used) {
		const struct record_head *head =
			(const struct record_head *)(store->arena.data + *offset);

		*offset += head->size_bytes;
		if (head->kind != RECORD_PAD) {
			*bytes = head->size_bytes;
			return head;
		}
	}
	return NULL;
}
