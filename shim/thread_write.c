/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the records with a text that more than one part of the shim needs. */
#include "thread_write.h"

#include <string.h>

#include "../collector/format/record.h"
#include "thread.h"

bool thread_write_name(struct thread *thread, uint16_t space, uint64_t id, const char *text,
		       size_t text_bytes)
{
	size_t size = (sizeof(struct record_name) + text_bytes + 7) & ~(size_t)7;
	struct record_name *name = thread_reserve(thread, RECORD_KIND_name, size);
	if (!name)
		return false;
	memset((char *)name + size - 8, 0, 8);
	name->head = (struct record_head){RECORD_KIND_name, (uint16_t)size, 0};
	name->id = id;
	name->space = space;
	name->reserved0 = 0;
	name->text_bytes = (uint32_t)text_bytes;
	memcpy(name->text, text, text_bytes);
	thread_commit(thread);
	return true;
}
