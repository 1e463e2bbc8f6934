/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps of each schema only where the fields lie that a mark has room for, by what their names say.
 * So it does not matter which release of NCCL put which field where. NCCL's fields have been called
 * "NCCL communicator ID", "Message size [bytes]", "Root", "Peer rank", "Rank", "No. of ranks".
 */
#include "nvtx_payload.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "spin.h"

#define SCHEMAS	    256u
#define ENTRIES_MAX 16u

struct field {
	uint8_t offset;
	uint8_t width; /* 0: the schema has no such field */
};

struct schema {
	_Atomic uint64_t id; /* 0: free */
	struct field communicator, bytes, peer;
};

static struct schema schemas[SCHEMAS];
static _Atomic uint32_t schema_count;
static _Atomic uint64_t next_id = NVTX_ABI_SCHEMA_FIRST_DYNAMIC;
static struct spin lock;

/* Widths of the predefined types 1 .. 22 that are integers; 0 for the others. */
static const uint8_t widths[] = {
	0, 1, 1, 2, 2, 4, 4, sizeof(long),   sizeof(long), 8, 8, 1, 1, 2, 2,
	4, 4, 8, 8, 0, 0, 0, sizeof(size_t),
};

static bool name_says(const char *name, const char *word)
{
	size_t length = strlen(word);
	for (; *name; name++) {
		size_t i = 0;
		while (i < length && tolower((unsigned char)name[i]) == word[i])
			i++;
		if (i == length)
			return true;
	}
	return false;
}

static void take_entry(struct schema *schema, const struct nvtx_schema_entry *entry,
		       uint64_t offset, uint8_t width)
{
	struct field field = {(uint8_t)offset, width};
	if (!entry->name || offset > 255 || entry->flags)
		return;
	if (width == 8 && name_says(entry->name, "comm") && !schema->communicator.width)
		schema->communicator = field;
	else if (name_says(entry->name, "bytes") && !schema->bytes.width)
		schema->bytes = field;
	else if ((name_says(entry->name, "root") || name_says(entry->name, "peer")) &&
		 !schema->peer.width)
		schema->peer = field;
}

static void read_entries(struct schema *schema, const struct nvtx_schema *from)
{
	uint64_t offset = 0;
	for (size_t i = 0; i < from->entry_count && i < ENTRIES_MAX; i++) {
		const struct nvtx_schema_entry *entry = &from->entries[i];
		uint8_t width = entry->type < sizeof(widths) ? widths[entry->type] : 0;
		if (!width)
			return; /* what lies behind it could be anywhere */
		if (entry->offset || !i)
			offset = entry->offset;
		else
			offset = (offset + width - 1) & ~(uint64_t)(width - 1u);
		take_entry(schema, entry, offset, width);
		offset += width;
	}
}

static const struct schema *find(uint64_t id)
{
	uint32_t count = atomic_load_explicit(&schema_count, memory_order_acquire);
	for (uint32_t i = 0; id && i < count && i < SCHEMAS; i++) {
		if (atomic_load_explicit(&schemas[i].id, memory_order_relaxed) == id)
			return &schemas[i];
	}
	return NULL;
}

uint64_t nvtx_payload_register(const struct nvtx_schema *from)
{
	const uint64_t needed = NVTX_ABI_SCHEMA_HAS_ENTRIES | NVTX_ABI_SCHEMA_HAS_COUNT;
	uint64_t id = 0;
	if (!from || (from->valid & needed) != needed || !from->entries)
		return 0;
	if (from->valid & NVTX_ABI_SCHEMA_HAS_ID)
		id = from->id;
	if (!id)
		id = atomic_fetch_add(&next_id, 1);
	struct schema schema = {0};
	read_entries(&schema, from);
	if (!spin_take(&lock))
		return id;
	uint32_t count = atomic_load_explicit(&schema_count, memory_order_relaxed);
	if (!find(id) && count < SCHEMAS) {
		schemas[count] = schema;
		atomic_store_explicit(&schemas[count].id, id, memory_order_relaxed);
		atomic_store_explicit(&schema_count, count + 1, memory_order_release);
	}
	spin_give(&lock);
	return id;
}

static bool read_field(const struct nvtx_payload *payload, struct field field, uint64_t *value)
{
	if (!field.width || (size_t)field.offset + field.width > payload->size_bytes)
		return false;
	*value = 0;
	memcpy(value, (const char *)payload->bytes + field.offset, field.width);
	return true;
}

void nvtx_payload_read(const struct nvtx_payload *payloads, size_t count, struct mark *mark)
{
	for (size_t i = 0; payloads && i < count && i < ENTRIES_MAX; i++) {
		const struct schema *schema = find(payloads[i].schema);
		uint64_t value;
		if (!schema || !payloads[i].bytes)
			continue;
		if (read_field(&payloads[i], schema->communicator, &value))
			mark->communicator = value;
		if (read_field(&payloads[i], schema->bytes, &value))
			mark->value = value;
		if (read_field(&payloads[i], schema->peer, &value))
			mark->peer = (uint32_t)value;
	}
}

void nvtx_payload_of_event(const struct nvtx_event *event, struct mark *mark)
{
	switch (event->payload_type) {
	case NVTX_ABI_PAYLOAD_UNSIGNED_INT64:
	case NVTX_ABI_PAYLOAD_INT64:
		mark->value = event->payload.u64;
		break;
	case NVTX_ABI_PAYLOAD_UNSIGNED_INT32:
		mark->value = event->payload.u32;
		break;
	case NVTX_ABI_PAYLOAD_INT32:
		mark->value = (uint64_t)(int64_t)event->payload.i32;
		break;
	case NVTX_ABI_PAYLOAD_EXTENDED:
		nvtx_payload_read((const void *)(uintptr_t)event->payload.u64,
				  (size_t)(uint32_t)event->payload_count, mark);
		break;
	default:
		break;
	}
}
