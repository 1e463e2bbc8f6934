// SPDX-License-Identifier: Apache-2.0
/*
 * The offsets, measured with offsetof on the headers of each version and tried on 3.8.18, 3.9.18,
 * 3.10.13, 3.11.2, 3.11.7, 3.12.1 and 3.13.0. To add a version: a row here, a run of tests/sites
 * with its interpreter. From 3.13 the interpreter also carries a table of its own; a row that
 * disagrees with it is not used.
 */
#include "site_python_offsets.h"

#include <stddef.h>
#include <string.h>

#define NONE PYTHON_NO_OFFSET

static const struct python_layout layouts[] = {
	/* version thread cframe | code back instr owner | file name first lines bytes version */
	{0x0308, 24, NONE, 32, 24, 104, NONE, 104, 112, 40, 120, NONE, NONE, 48, 72,
	 PYTHON_INSTRUCTION_BYTES, PYTHON_LINES_LNOTAB},
	{0x0309, 24, NONE, 32, 24, 104, NONE, 104, 112, 40, 120, NONE, NONE, 48, 72,
	 PYTHON_INSTRUCTION_BYTES, PYTHON_LINES_LNOTAB},
	{0x030a, 24, NONE, 32, 24, 96, NONE, 104, 112, 40, 120, NONE, NONE, 48, 72,
	 PYTHON_INSTRUCTION_UNITS, PYTHON_LINES_RANGES},
	{0x030b, 56, 8, 32, 48, 56, 69, 112, 128, 72, 136, 184, NONE, 48, 72,
	 PYTHON_INSTRUCTION_POINTER, PYTHON_LINES_LOCATIONS},
	{0x030c, 56, 0, 0, 8, 56, 70, 112, 128, 68, 136, 192, 92, 40, 56,
	 PYTHON_INSTRUCTION_POINTER, PYTHON_LINES_LOCATIONS},
	{0x030d, 72, NONE, 0, 8, 56, 70, 112, 128, 68, 136, 200, 92, 40, 56,
	 PYTHON_INSTRUCTION_POINTER, PYTHON_LINES_LOCATIONS},
};

const struct python_layout *python_layout_find(uint16_t version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].version == version)
			return &layouts[i];
	}
	return NULL;
}

/* Words of _Py_DebugOffsets as 3.13 lays them out, counted from the start of _PyRuntime. */
enum debug_word {
	DEBUG_COOKIE = 0,
	DEBUG_FREE_THREADED = 2,
	DEBUG_THREAD_FRAME = 23,
	DEBUG_FRAME_PREVIOUS = 29,
	DEBUG_FRAME_EXECUTABLE = 30,
	DEBUG_FRAME_INSTRUCTION = 31,
	DEBUG_FRAME_OWNER = 33,
	DEBUG_CODE_FILENAME = 35,
	DEBUG_CODE_QUALNAME = 37,
	DEBUG_CODE_LINES = 38,
	DEBUG_CODE_FIRST_LINE = 39,
	DEBUG_CODE_BYTES = 43,
	DEBUG_WORDS = 44
};

int python_layout_agrees(const struct python_layout *layout, const void *py_runtime)
{
	uint64_t word[DEBUG_WORDS];

	if (layout->version < 0x030d)
		return 1;
	if (!py_runtime)
		return 0;
	memcpy(word, py_runtime, sizeof(word));
	return memcmp(&word[DEBUG_COOKIE], "xdebugpy", 8) == 0 && word[DEBUG_FREE_THREADED] == 0 &&
	       word[DEBUG_THREAD_FRAME] == layout->thread_frame &&
	       word[DEBUG_FRAME_PREVIOUS] == layout->frame_back &&
	       word[DEBUG_FRAME_EXECUTABLE] == layout->frame_code &&
	       word[DEBUG_FRAME_INSTRUCTION] == layout->frame_instruction &&
	       word[DEBUG_FRAME_OWNER] == layout->frame_owner &&
	       word[DEBUG_CODE_FILENAME] == layout->code_filename &&
	       word[DEBUG_CODE_QUALNAME] == layout->code_name &&
	       word[DEBUG_CODE_LINES] == layout->code_lines &&
	       word[DEBUG_CODE_FIRST_LINE] == layout->code_first_line &&
	       word[DEBUG_CODE_BYTES] == layout->code_bytes;
}
