/* SPDX-License-Identifier: Apache-2.0 */
/* Checks one record against the schema table and, for TEXT kinds, its inner lengths. */
#include "record_check.h"

#include <stdbool.h>
#include <string.h>

#include "bytes.h"
#include "record.h"
#include "record_schema.h"

#define LOAD32(record, type, field)                                                                \
	bytes_load32((const char *)(record) + offsetof(struct record_##type, field))
#define LOAD16(record, type, field)                                                                \
	bytes_load16((const char *)(record) + offsetof(struct record_##type, field))

/* Bytes that the variable part of a TEXT record needs by its own count. */
static uint64_t record_variable_bytes(const void *record, uint16_t kind)
{
	switch (kind) {
	case RECORD_KIND_name:
		return LOAD32(record, name, text_bytes);
	case RECORD_KIND_info:
		return (uint64_t)LOAD16(record, info, key_bytes) +
		       LOAD32(record, info, value_bytes);
	case RECORD_KIND_device:
		return LOAD32(record, device, name_bytes);
	case RECORD_KIND_thread:
		return LOAD32(record, thread, name_bytes);
	case RECORD_KIND_library:
		return LOAD32(record, library, path_bytes);
	case RECORD_KIND_site:
		return (uint64_t)LOAD32(record, site, frame_count) * sizeof(struct site_frame);
	default:
		return 0;
	}
}

enum record_verdict record_check(const void *record, size_t bytes, uint16_t *kind,
				 uint16_t *size_bytes)
{
	const struct record_schema *schema;
	uint16_t size;

	if (bytes < sizeof(struct record_head))
		return RECORD_BAD;
	*kind = bytes_load16(record);
	size = bytes_load16((const char *)record + offsetof(struct record_head, size_bytes));
	if (size < sizeof(struct record_head) || size % 8 != 0 || size > bytes)
		return RECORD_BAD;
	*size_bytes = size;
	schema = record_schema_of(*kind);
	if (!schema->name)
		return RECORD_FOREIGN;
	if (size < schema->least_bytes)
		return RECORD_BAD;
	if (schema->column_count == 0 &&
	    record_variable_bytes(record, *kind) > (uint64_t)size - schema->size_bytes)
		return RECORD_BAD;
	return RECORD_GOOD;
}

void record_copy(void *row, const void *record, const struct record_schema *schema)
{
	uint16_t size =
		bytes_load16((const char *)record + offsetof(struct record_head, size_bytes));

	if (size >= schema->size_bytes) {
		memcpy(row, record, schema->size_bytes);
	} else {
		memcpy(row, record, size);
		memset((char *)row + size, 0, (size_t)schema->size_bytes - size);
	}
	bytes_store16((char *)row + offsetof(struct record_head, size_bytes), schema->size_bytes);
}
