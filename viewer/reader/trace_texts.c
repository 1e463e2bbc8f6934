/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies live in blocks that never move, so that pointers handed out stay good until the trace is
 * closed. Each copy is followed by NULs; an info record's copy has its value moved by one byte, so
 * that key and value are two C strings.
 */
#include "trace_texts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES	 (256u * 1024)
#define COPY_EXTRA_BYTES 8u /* NULs behind each copy, and the byte between key and value */

struct text_block {
	struct text_block *next;
	size_t used, capacity;
	_Alignas(8) uint8_t data[];
};

struct text_slot {
	const void *record; /* NULL: empty */
};

void trace_texts_fini(struct trace_texts *texts)
{
	while (texts->blocks) {
		struct text_block *next = texts->blocks->next;

		free(texts->blocks);
		texts->blocks = next;
	}
	free(texts->slots);
	free(texts->devices.items);
	free(texts->threads.items);
	free(texts->libraries.items);
	free(texts->infos.items);
	*texts = (struct trace_texts){0};
}

static void *copy_record(struct trace_texts *texts, const uint8_t *record, size_t bytes)
{
	size_t needed = bytes + COPY_EXTRA_BYTES;
	struct text_block *block = texts->blocks;
	uint8_t *copy;

	if (!block || block->capacity - block->used < needed) {
		size_t capacity = needed > BLOCK_BYTES ? needed : BLOCK_BYTES;

		block = malloc(sizeof(*block) + capacity);
		if (!block)
			return NULL;
		*block = (struct text_block){.next = texts->blocks, .capacity = capacity};
		texts->blocks = block;
	}
	copy = block->data + block->used;
	block->used += needed;
	memcpy(copy, record, bytes);
	memset(copy + bytes, 0, COPY_EXTRA_BYTES);
	return copy;
}

/* Ends the text where the record says; padding bytes of a hostile file need not be zero. */
static void terminate_text(void *copy, uint16_t kind, size_t bytes)
{
	struct record_info *info = copy;

	switch (kind) {
	case RECORD_KIND_name:
		((struct record_name *)copy)->text[((struct record_name *)copy)->text_bytes] = '\0';
		break;
	case RECORD_KIND_device:
		((struct record_device *)copy)->name[((struct record_device *)copy)->name_bytes] =
			'\0';
		break;
	case RECORD_KIND_thread:
		((struct record_thread *)copy)->name[((struct record_thread *)copy)->name_bytes] =
			'\0';
		break;
	case RECORD_KIND_library:
		((struct record_library *)copy)->path[((struct record_library *)copy)->path_bytes] =
			'\0';
		break;
	case RECORD_KIND_info:
		memmove(info->text + info->key_bytes + 1, info->text + info->key_bytes,
			bytes - sizeof(*info) - info->key_bytes);
		info->text[info->key_bytes] = '\0';
		info->text[info->key_bytes + 1 + info->value_bytes] = '\0';
		break;
	default:
		break;
	}
}

const char *trace_texts_info_key(const struct record_info *info)
{
	return info->text;
}

const char *trace_texts_info_value(const struct record_info *info)
{
	return info->text + info->key_bytes + 1;
}

/* Two numbers and, for some kinds, bytes that say which thing a copied record describes. */
struct identity {
	uint64_t kind, number;
	const void *bytes;
	size_t size;
};

static struct identity identity_of(const void *record)
{
	const struct record_head *head = record;
	struct identity identity = {.kind = head->kind, .bytes = ""};

	switch (head->kind) {
	case RECORD_KIND_name:
		identity.number = ((const struct record_name *)record)->id;
		identity.kind |= (uint64_t)((const struct record_name *)record)->space << 16;
		break;
	case RECORD_KIND_info:
		identity.bytes = ((const struct record_info *)record)->text;
		identity.size = ((const struct record_info *)record)->key_bytes;
		break;
	case RECORD_KIND_device:
		identity.number = ((const struct record_device *)record)->ordinal;
		break;
	case RECORD_KIND_thread:
		identity.number = ((const struct record_thread *)record)->thread;
		break;
	case RECORD_KIND_library:
		identity.number = ((const struct record_library *)record)->address;
		identity.bytes = ((const struct record_library *)record)->path;
		identity.size = ((const struct record_library *)record)->path_bytes;
		break;
	default:
		identity.number = ((const struct record_site *)record)->id;
		break;
	}
	return identity;
}

static size_t identity_hash(const struct identity *identity)
{
	const uint8_t *at = identity->bytes;
	uint64_t hash = (identity->number ^ identity->kind << 56) * 0x9e3779b97f4a7c15ull;

	hash ^= identity->kind * 0xc2b2ae3d27d4eb4full;
	for (size_t i = 0; i < identity->size; i++)
		hash = (hash ^ at[i]) * 0x100000001b3ull;
	return (size_t)(hash ^ (hash >> 29));
}

static bool identity_equal(const struct identity *one, const struct identity *two)
{
	return one->kind == two->kind && one->number == two->number && one->size == two->size &&
	       memcmp(one->bytes, two->bytes, one->size) == 0;
}

static struct text_slot *find_slot(const struct trace_texts *texts, const struct identity *wanted)
{
	size_t index = identity_hash(wanted) & (texts->slot_count - 1);

	while (texts->slots[index].record) {
		struct identity found = identity_of(texts->slots[index].record);

		if (identity_equal(&found, wanted))
			break;
		index = (index + 1) & (texts->slot_count - 1);
	}
	return &texts->slots[index];
}

static int grow_slots(struct trace_texts *texts)
{
	struct trace_texts larger = *texts;

	larger.slot_count = texts->slot_count ? texts->slot_count * 2 : 1024;
	larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < texts->slot_count; i++) {
		if (texts->slots[i].record) {
			struct identity identity = identity_of(texts->slots[i].record);

			*find_slot(&larger, &identity) = texts->slots[i];
		}
	}
	free(texts->slots);
	texts->slots = larger.slots;
	texts->slot_count = larger.slot_count;
	return 0;
}

static struct text_list *list_of(struct trace_texts *texts, uint16_t kind)
{
	switch (kind) {
	case RECORD_KIND_device:
		return &texts->devices;
	case RECORD_KIND_thread:
		return &texts->threads;
	case RECORD_KIND_library:
		return &texts->libraries;
	case RECORD_KIND_info:
		return &texts->infos;
	default:
		return NULL;
	}
}

static int list_append(struct text_list *list, const void *record)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 64;
		const void **items = realloc(list->items, capacity * sizeof(*items));

		if (!items)
			return -ENOMEM;
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count++] = record;
	return 0;
}

/* The list has few entries (devices, threads, ...) compared with names, so a walk will do. */
static void list_replace(struct text_list *list, const void *old, const void *record)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i] == old)
			list->items[i] = record;
	}
}

int trace_texts_add(struct trace_texts *texts, uint16_t kind, const uint8_t *record,
		    uint16_t size_bytes)
{
	struct text_list *list = list_of(texts, kind);
	struct identity identity;
	struct text_slot *slot;
	void *copy;
	int rc = 0;

	if (texts->slots_used >= texts->slot_count / 2) {
		rc = grow_slots(texts);
		if (rc < 0)
			return rc;
	}
	copy = copy_record(texts, record, size_bytes);
	if (!copy)
		return -ENOMEM;
	terminate_text(copy, kind, size_bytes);
	identity = identity_of(copy);
	slot = find_slot(texts, &identity);
	if (slot->record) {
		const struct record_head *old = slot->record;

		if (old->size_bytes == size_bytes &&
		    memcmp(old, copy, (size_t)size_bytes + COPY_EXTRA_BYTES) == 0) {
			texts->blocks->used -= (size_t)size_bytes + COPY_EXTRA_BYTES;
			return 0;
		}
		if (list)
			list_replace(list, slot->record, copy);
	} else {
		texts->slots_used++;
		rc = list ? list_append(list, copy) : 0;
	}
	slot->record = copy;
	return rc;
}

const struct record_name *trace_texts_name(const struct trace_texts *texts, uint16_t space,
					   uint64_t id)
{
	struct identity identity = {
		.kind = RECORD_KIND_name | (uint64_t)space << 16,
		.number = id,
		.bytes = "",
	};

	return texts->slot_count ? find_slot(texts, &identity)->record : NULL;
}

const struct record_site *trace_texts_site(const struct trace_texts *texts, uint64_t id)
{
	struct identity identity = {.kind = RECORD_KIND_site, .number = id, .bytes = ""};

	return texts->slot_count ? find_slot(texts, &identity)->record : NULL;
}
