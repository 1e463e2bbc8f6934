// SPDX-License-Identifier: Apache-2.0
/*
 * Function, file and line of a frame as text. Runs once per new site, so that it may cost
 * microseconds; strings are decoded by hand, since the API for it wants the GIL.
 */
#include "site_python_internal.h"
#include "site_python_lines.h"

#include <string.h>

/* Longest line table that is copied when it belongs to another thread: 4 KiB cover functions of
 * about a thousand instructions; the line of a longer one falls back to the function's first. */
#define GUARDED_TABLE_BYTES 4096

struct text_out {
	char *data;
	uint32_t used, limit;
};

static void put_byte(struct text_out *out, uint32_t byte)
{
	if (out->used < out->limit)
		out->data[out->used++] = (char)byte;
}

static void put_utf8(struct text_out *out, uint32_t c)
{
	if (c < 0x80) {
		put_byte(out, c);
	} else if (c < 0x800) {
		put_byte(out, 0xc0 | c >> 6);
		put_byte(out, 0x80 | (c & 63));
	} else if (c < 0x10000) {
		put_byte(out, 0xe0 | c >> 12);
		put_byte(out, 0x80 | (c >> 6 & 63));
		put_byte(out, 0x80 | (c & 63));
	} else if (c < 0x110000) {
		put_byte(out, 0xf0 | c >> 18);
		put_byte(out, 0x80 | (c >> 12 & 63));
		put_byte(out, 0x80 | (c >> 6 & 63));
		put_byte(out, 0x80 | (c & 63));
	}
}

/* Appends a str object. Characters are copied in small pieces, whatever their width. */
static bool put_text(const struct python_runtime *runtime, bool is_guarded, const void *text,
		     struct text_out *out)
{
	const struct python_layout *layout = &runtime->layout;
	const void *type;
	uint64_t length;
	uint32_t state, width;
	const char *data;

	if (!python_read(is_guarded, &type, python_at(text, PYTHON_OBJECT_TYPE), sizeof(type)) ||
	    type != runtime->text_type ||
	    !python_read(is_guarded, &length, python_at(text, PYTHON_TEXT_LENGTH), 8) ||
	    !python_read(is_guarded, &state, python_at(text, PYTHON_TEXT_STATE), 4))
		return false;
	width = state >> 2 & 7;
	if (!(state & 0x20) || (width != 1 && width != 2 && width != 4))
		return false; /* not the compact form: names and paths always are */
	data = python_at(text, state & 0x40 ? layout->text_ascii : layout->text_wide);
	if (length > out->limit)
		length = out->limit;
	for (uint64_t done = 0; done < length;) {
		unsigned char piece[128];
		uint64_t count = sizeof(piece) / width;

		if (count > length - done)
			count = length - done;
		if (!python_read(is_guarded, piece, data + done * width, count * width))
			return false;
		for (uint64_t i = 0; i < count; i++) {
			uint32_t c = 0;

			memcpy(&c, piece + i * width, width);
			put_utf8(out, c);
		}
		done += count;
	}
	return true;
}

static bool find_line(const struct python_runtime *runtime, bool is_guarded,
		      const struct site_python_frame *frame, uint32_t *line)
{
	const struct python_layout *layout = &runtime->layout;
	uint8_t copy[GUARDED_TABLE_BYTES];
	const void *table, *type;
	uint64_t size_bytes;
	int32_t first_line;

	if (!python_read(is_guarded, &table, python_at(frame->code, layout->code_lines), 8) ||
	    !python_read(is_guarded, &first_line, python_at(frame->code, layout->code_first_line),
			 4) ||
	    !python_read(is_guarded, &type, python_at(table, PYTHON_OBJECT_TYPE), 8) ||
	    type != runtime->bytes_type ||
	    !python_read(is_guarded, &size_bytes, python_at(table, PYTHON_BYTES_SIZE), 8))
		return false;
	if (first_line < 0 || (int32_t)frame->offset_bytes < 0) {
		*line = first_line < 0 ? 0 : (uint32_t)first_line; /* not started yet */
		return true;
	}
	table = python_at(table, PYTHON_BYTES_DATA);
	if (is_guarded) {
		if (size_bytes > sizeof(copy))
			size_bytes = sizeof(copy);
		if (!site_memory_copy(copy, table, size_bytes))
			return false;
		table = copy;
	}
	*line = python_lines_find((enum python_lines)layout->lines, table, size_bytes,
				  (uint32_t)first_line, frame->offset_bytes);
	return true;
}

/* FNV-1a, never 0. */
static uint64_t hash_text(const char *text, uint32_t size_bytes)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (uint32_t i = 0; i < size_bytes; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	return hash ? hash : 1;
}

bool python_describe(const struct python_runtime *runtime, bool is_guarded,
		     const struct site_python_frame *frame, struct site_python_line *line)
{
	const struct python_layout *layout = &runtime->layout;
	struct text_out out = {line->text, 0, 256}; /* a function's name gets 256 bytes */
	const void *name, *file;

	if (!python_read(is_guarded, &name, python_at(frame->code, layout->code_name), 8) ||
	    !python_read(is_guarded, &file, python_at(frame->code, layout->code_filename), 8) ||
	    !put_text(runtime, is_guarded, name, &out))
		return false;
	out.limit = SITE_PYTHON_TEXT_BYTES;
	put_byte(&out, 0x1f);
	if (!put_text(runtime, is_guarded, file, &out) ||
	    !find_line(runtime, is_guarded, frame, &line->line))
		return false;
	line->text_bytes = out.used;
	line->name = hash_text(line->text, line->text_bytes);
	return true;
}
