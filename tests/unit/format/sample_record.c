/* SPDX-License-Identifier: Apache-2.0 */
/* Fields get their values through the column table, padding stays 0. */
#include "sample_record.h"

#include <string.h>

#include "bytes.h"
#include "record.h"
#include "record_schema.h"

static uint64_t mix(uint64_t value)
{
	value += 0x9e3779b97f4a7c15ull;
	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
	return value ^ (value >> 31);
}

static uint64_t sample_value(enum sample_values values, uint16_t column, uint32_t row)
{
	uint64_t random = mix((uint64_t)column << 32 | row);

	switch (values) {
	case SAMPLE_LARGEST:
		return UINT64_MAX;
	case SAMPLE_SWINGING:
		return row % 2 ? UINT64_MAX : 0;
	case SAMPLE_RANDOM:
		return random;
	case SAMPLE_FEW:
		return mix(random % 5 + column);
	case SAMPLE_MANY:
		return mix(random % 3000 + column);
	case SAMPLE_RISING:
		return (uint64_t)row * 1000 + random % 1000 + column;
	default:
		return 0;
	}
}

size_t sample_record(void *record, uint16_t kind, enum sample_values values, uint32_t row)
{
	const struct record_schema *schema = record_schema_of(kind);
	uint8_t *bytes = record;

	memset(bytes, 0, schema->size_bytes);
	bytes_store16(bytes, kind);
	bytes_store16(bytes + offsetof(struct record_head, size_bytes), schema->size_bytes);
	for (uint16_t i = 0; i < schema->column_count; i++) {
		const struct record_column *column = &schema->columns[i];

		bytes_store(bytes + column->offset, column->width,
			    sample_value(values, column->id, row));
	}
	return schema->size_bytes;
}

size_t sample_text_record(void *record, uint16_t kind, uint64_t number, size_t bytes)
{
	size_t fixed = record_schema_of(kind)->size_bytes;
	size_t size = (fixed + bytes + 7) / 8 * 8;
	struct record_name *name = record;
	struct record_info *info = record;
	struct record_device *device = record;
	struct record_thread *thread = record;
	struct record_library *library = record;
	struct record_site *site = record;

	memset(record, 0, size);
	memset((char *)record + fixed, 'a' + (int)(number % 26), bytes);
	name->head.kind = kind;
	name->head.size_bytes = (uint16_t)size;
	switch (kind) {
	case RECORD_KIND_name:
		name->id = number;
		name->space = NAME_KERNEL;
		name->text_bytes = (uint32_t)bytes;
		break;
	case RECORD_KIND_info: /* "aaaa" of 8 letters, then the value */
		info->key_bytes = 8;
		info->value_bytes = (uint32_t)bytes - 8;
		memcpy(info->text, &number, sizeof(number));
		for (int i = 0; i < 8; i++)
			info->text[i] = (char)('a' + (number >> (4 * i) & 15));
		break;
	case RECORD_KIND_device:
		device->ordinal = (uint32_t)number;
		device->memory_bytes = number << 30;
		device->name_bytes = (uint32_t)bytes;
		break;
	case RECORD_KIND_thread:
		thread->thread = (uint32_t)number;
		thread->name_bytes = (uint32_t)bytes;
		break;
	case RECORD_KIND_library:
		library->address = number << 12;
		library->path_bytes = (uint32_t)bytes;
		break;
	default:
		site->id = number;
		site->frame_count = (uint32_t)(bytes / sizeof(struct site_frame));
		break;
	}
	return size;
}
