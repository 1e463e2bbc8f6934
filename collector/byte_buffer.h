/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte array whose failures are returned: collector code never exits. */
#ifndef GPUTRACE_BYTE_BUFFER_H
#define GPUTRACE_BYTE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct byte_buffer {
	uint8_t *data;
	size_t used;
	size_t capacity;
};

/* Room for `extra` bytes behind `used`; 0 or -ENOMEM, then nothing has changed. */
int byte_buffer_reserve(struct byte_buffer *buffer, size_t extra);
int byte_buffer_append(struct byte_buffer *buffer, const void *data, size_t bytes);
void byte_buffer_free(struct byte_buffer *buffer);

#endif
