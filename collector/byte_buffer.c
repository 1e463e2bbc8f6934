/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles until it fits, so that appending is linear in total. */
#include "byte_buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int byte_buffer_reserve(struct byte_buffer *buffer, size_t extra)
{
	size_t capacity = buffer->capacity ? buffer->capacity : 4096;
	uint8_t *data;

	if (extra <= buffer->capacity - buffer->used)
		return 0;
	if (extra > SIZE_MAX / 4 - buffer->used)
		return -ENOMEM;
	while (capacity - buffer->used < extra)
		capacity *= 2;
	data = realloc(buffer->data, capacity);
	if (!data)
		return -ENOMEM;
	buffer->data = data;
	buffer->capacity = capacity;
	return 0;
}

int byte_buffer_append(struct byte_buffer *buffer, const void *data, size_t bytes)
{
	int rc = byte_buffer_reserve(buffer, bytes);

	if (rc < 0)
		return rc;
	if (bytes > 0)
		memcpy(buffer->data + buffer->used, data, bytes);
	buffer->used += bytes;
	return 0;
}

void byte_buffer_free(struct byte_buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct byte_buffer){0};
}
