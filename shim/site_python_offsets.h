/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CPython keeps a thread's frames, one row per minor version.
 *
 * The layouts are those of 64-bit release builds; they do not change within a minor version. The
 * walk believes a row only after the checks of site_python_check.c. Versions without a row are
 * never walked.
 */
#ifndef GPUTRACE_SITE_PYTHON_OFFSETS_H
#define GPUTRACE_SITE_PYTHON_OFFSETS_H

#include <stdint.h>

/* How a frame says which instruction it is at. */
enum python_instruction {
	PYTHON_INSTRUCTION_BYTES,   /* int, byte offset into co_code */
	PYTHON_INSTRUCTION_UNITS,   /* int, offset in units of two bytes */
	PYTHON_INSTRUCTION_POINTER, /* pointer into the code object's own bytes */
};

/* How a code object maps instructions to lines. */
enum python_lines {
	PYTHON_LINES_LNOTAB,	/* co_lnotab: pairs of increments, 3.6 .. 3.9 */
	PYTHON_LINES_RANGES,	/* co_linetable of 3.10 (PEP 626) */
	PYTHON_LINES_LOCATIONS, /* co_linetable of 3.11 and later (PEP 657) */
};

#define PYTHON_NO_OFFSET UINT16_MAX

struct python_layout {
	uint16_t version;      /* 0x030b for 3.11 */
	uint16_t thread_frame; /* PyThreadState: pointer to the innermost frame or to the C frame */
	uint16_t cframe_frame; /* C frame: pointer to the innermost frame; NO_OFFSET: there is none
				*/
	uint16_t frame_code;
	uint16_t frame_back;
	uint16_t frame_instruction;
	uint16_t frame_owner; /* byte, enum python_owner; NO_OFFSET: there is none */
	uint16_t code_filename;
	uint16_t code_name; /* qualified where there is one */
	uint16_t code_first_line;
	uint16_t code_lines;
	uint16_t code_bytes;   /* where the instructions start, for PYTHON_INSTRUCTION_POINTER */
	uint16_t code_started; /* int, the instruction before which a frame does not count yet;
				* NO_OFFSET: there is none */
	uint16_t code_version; /* 32-bit number never given twice; NO_OFFSET: there is none */
	uint16_t text_ascii;   /* str: characters of the ASCII form */
	uint16_t text_wide;    /* str: characters of the other compact forms */
	uint16_t code_tag;     /* bits of frame_code that are no part of the pointer */
	uint8_t instruction;   /* enum python_instruction */
	uint8_t lines;	       /* enum python_lines */
};

/* Measured with offsetof on the headers of each version and tried on 3.8.18, 3.9.18, 3.10.13,
 * 3.11.2, 3.11.7, 3.12.1, 3.13.0 and 3.14.9. To add a version: a row here, a run of tests/sites
 * with its interpreter; from 3.13 also its column in site_python_offsets.c. NONE is
 * PYTHON_NO_OFFSET, defined so where the rows are expanded. */
#define PYTHON_LAYOUTS(LAYOUT)                                                                     \
	/* version | thread cframe | code back instruction owner | file name first lines |         \
	 * bytes started version | ascii wide | tag */                                             \
	LAYOUT(0x0308, 24, NONE, 32, 24, 104, NONE, 104, 112, 40, 120, NONE, NONE, NONE, 48, 72,   \
	       0, PYTHON_INSTRUCTION_BYTES, PYTHON_LINES_LNOTAB)                                   \
	LAYOUT(0x0309, 24, NONE, 32, 24, 104, NONE, 104, 112, 40, 120, NONE, NONE, NONE, 48, 72,   \
	       0, PYTHON_INSTRUCTION_BYTES, PYTHON_LINES_LNOTAB)                                   \
	LAYOUT(0x030a, 24, NONE, 32, 24, 96, NONE, 104, 112, 40, 120, NONE, NONE, NONE, 48, 72, 0, \
	       PYTHON_INSTRUCTION_UNITS, PYTHON_LINES_RANGES)                                      \
	LAYOUT(0x030b, 56, 8, 32, 48, 56, 69, 112, 128, 72, 136, 184, 168, NONE, 48, 72, 0,        \
	       PYTHON_INSTRUCTION_POINTER, PYTHON_LINES_LOCATIONS)                                 \
	LAYOUT(0x030c, 56, 0, 0, 8, 56, 70, 112, 128, 68, 136, 192, 176, 92, 40, 56, 0,            \
	       PYTHON_INSTRUCTION_POINTER, PYTHON_LINES_LOCATIONS)                                 \
	LAYOUT(0x030d, 72, NONE, 0, 8, 56, 70, 112, 128, 68, 136, 200, 184, 92, 40, 56, 0,         \
	       PYTHON_INSTRUCTION_POINTER, PYTHON_LINES_LOCATIONS)                                 \
	LAYOUT(0x030e, 72, NONE, 0, 8, 56, 74, 112, 128, 68, 136, 208, 192, 92, 40, 56, 7,         \
	       PYTHON_INSTRUCTION_POINTER, PYTHON_LINES_LOCATIONS)

/* Who holds a frame's memory. Up to 3.13 what is 3 here is the C stack. */
enum python_owner {
	PYTHON_OWNED_BY_THREAD = 0,
	PYTHON_OWNED_BY_GENERATOR = 1,
	PYTHON_OWNED_BY_INTERPRETER = 3 /* this and above: no function's frame */
};

/* The parts of objects that no supported version has moved. */
enum {
	PYTHON_OBJECT_TYPE = 8,
	PYTHON_BYTES_SIZE = 16,
	PYTHON_BYTES_DATA = 32,
	PYTHON_TEXT_LENGTH = 16,
	PYTHON_TEXT_HASH = 24,
	PYTHON_TEXT_STATE = 32,
};

/* The row of a version such as 0x030b; NULL: this version is not known. */
const struct python_layout *python_layout_find(uint16_t version);

/* Takes over what the interpreter says of itself: from 3.13 on _PyRuntime begins with a table of
 * offsets. NULL, or why such an interpreter is not walked. Older versions have no table. */
const char *python_layout_adopt(struct python_layout *layout, const void *py_runtime);

#endif
