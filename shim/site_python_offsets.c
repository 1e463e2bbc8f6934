// SPDX-License-Identifier: Apache-2.0
/*
 * Rows of site_python_offsets.h by version, and what newer interpreters say themselves. The table
 * that _PyRuntime begins with is made for debuggers; each minor version has an order of its own, so
 * that only versions with a row are read.
 */
#include "site_python_offsets.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define NONE PYTHON_NO_OFFSET

static const struct python_layout layouts[] = {
#define LAYOUT(...) {__VA_ARGS__},
	PYTHON_LAYOUTS(LAYOUT)
#undef LAYOUT
};

const struct python_layout *python_layout_find(uint16_t version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].version == version)
			return &layouts[i];
	}
	return NULL;
}

/* What is taken from the table: name, word in 3.13 and in 3.14. */
#define DEBUG_WORDS(WORD)                                                                          \
	WORD(thread_frame, 23, 26)                                                                 \
	WORD(frame_back, 29, 32)                                                                   \
	WORD(frame_code, 30, 33)                                                                   \
	WORD(frame_instruction, 31, 34)                                                            \
	WORD(frame_owner, 33, 36)                                                                  \
	WORD(code_filename, 35, 40)                                                                \
	WORD(code_name, 37, 42)                                                                    \
	WORD(code_lines, 38, 43)                                                                   \
	WORD(code_first_line, 39, 44)                                                              \
	WORD(code_bytes, 43, 48)                                                                   \
	WORD(text_ascii, 70, 80)

/* What no supported version has moved, and must not have: offset, word in 3.13 and in 3.14. */
#define DEBUG_CONSTANTS(WORD)                                                                      \
	WORD(PYTHON_OBJECT_TYPE, 45, 51)                                                           \
	WORD(PYTHON_BYTES_SIZE, 65, 75)                                                            \
	WORD(PYTHON_BYTES_DATA, 66, 76)                                                            \
	WORD(PYTHON_TEXT_STATE, 68, 78)                                                            \
	WORD(PYTHON_TEXT_LENGTH, 69, 79)

enum { DEBUG_COOKIE = 0, DEBUG_VERSION = 1, DEBUG_FREE_THREADED = 2, DEBUG_WORD_COUNT = 81 };

/* No structure that is read is larger; a greater number is not an offset into one. */
#define OFFSET_LIMIT 1024

const char *python_layout_adopt(struct python_layout *layout, const void *py_runtime)
{
	bool is_14 = layout->version == 0x030e;
	/* What lies behind the line table stands at fixed distances from the instructions. */
	int started = (int)layout->code_started - (int)layout->code_bytes;
	int version = (int)layout->code_version - (int)layout->code_first_line;
	uint64_t word[DEBUG_WORD_COUNT];

	if (layout->version < 0x030d)
		return NULL;
	if (!py_runtime)
		return "the interpreter does not export its own table of offsets";
	memcpy(word, py_runtime, sizeof(word));
	if (memcmp(&word[DEBUG_COOKIE], "xdebugpy", 8) != 0 ||
	    word[DEBUG_VERSION] >> 16 != layout->version)
		return "the interpreter's own table of offsets is not that of its version";
	if (word[DEBUG_FREE_THREADED] != 0)
		return "free-threaded Python is not supported";
#define WORD(constant, in_13, in_14)                                                               \
	if (word[is_14 ? (in_14) : (in_13)] != constant)                                           \
		return "the interpreter describes objects that are not those of its version";
	DEBUG_CONSTANTS(WORD)
#undef WORD
#define WORD(member, in_13, in_14)                                                                 \
	if (word[is_14 ? (in_14) : (in_13)] >= OFFSET_LIMIT)                                       \
		return "the interpreter describes objects that are not those of its version";      \
	layout->member = (uint16_t)word[is_14 ? (in_14) : (in_13)];
	DEBUG_WORDS(WORD)
#undef WORD
	if (layout->code_bytes < 16)
		return "the interpreter describes objects that are not those of its version";
	layout->code_started = (uint16_t)(layout->code_bytes + started);
	layout->code_version = (uint16_t)(layout->code_first_line + version);
	return NULL;
}
