/* SPDX-License-Identifier: Apache-2.0 */
/* Masks are made byte by byte, so that they are right whatever the fields' order is. */
#include "event_layout.h"

#include <stddef.h>
#include <string.h>

#include "record.h"

uint32_t event_family_of(uint16_t kind)
{
	switch (kind) {
	case RECORD_KIND_call:
	case RECORD_KIND_sync:
	case RECORD_KIND_copy:
	case RECORD_KIND_set:
	case RECORD_KIND_launch:
	case RECORD_KIND_memory:
	case RECORD_KIND_gemm:
	case RECORD_KIND_communicator:
	case RECORD_KIND_collective:
	case RECORD_KIND_graph:
	case RECORD_KIND_conv:
		return EVENT_FAMILY_CALLS;
	case RECORD_KIND_gpu_kernel:
	case RECORD_KIND_gpu_copy:
	case RECORD_KIND_gpu_set:
	case RECORD_KIND_gpu_sync:
	case RECORD_KIND_gpu_graph:
		return EVENT_FAMILY_GPU;
	default:
		return EVENT_FAMILY_COUNT;
	}
}

bool event_layout_make(uint16_t kind, struct event_layout *layout)
{
	const struct record_schema *schema = record_schema_of(kind);
	uint8_t key[EVENT_WORDS_MAX * 8] = {0}, varying[EVENT_WORDS_MAX * 8] = {0};

	*layout = (struct event_layout){.schema = schema, .word_count = schema->size_bytes / 8u};
	if (schema->size_bytes > sizeof(key) || schema->size_bytes % 8 != 0)
		return false;
	memset(key, 0xff, offsetof(struct record_head, reserved));
	for (uint16_t i = 0; i < schema->column_count; i++) {
		const struct record_column *column = &schema->columns[i];

		if (column->varies == VARIES_NOT) {
			memset(key + column->offset, 0xff, column->width);
		} else if (column->varies != VARIES_ALWAYS) {
			if (layout->column_count == EVENT_VARYING_MAX || column->id > 127)
				return false;
			memset(varying + column->offset, 0xff, column->width);
			layout->columns[layout->column_count++] = column;
		}
	}
	memcpy(layout->key, key, sizeof(key));
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] |= varying[i];
	memcpy(layout->known, key, sizeof(key));
	return true;
}
