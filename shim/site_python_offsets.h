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
	uint16_t frame_owner; /* byte; >= 3 is a frame of the C stack; NO_OFFSET: there is none */
	uint16_t code_filename;
	uint16_t code_name; /* qualified where there is one */
	uint16_t code_first_line;
	uint16_t code_lines;
	uint16_t code_bytes;   /* where the instructions start, for PYTHON_INSTRUCTION_POINTER */
	uint16_t code_version; /* 32-bit number never given twice; NO_OFFSET: there is none */
	uint16_t text_ascii;   /* str: characters of the ASCII form */
	uint16_t text_wide;    /* str: characters of the other compact forms */
	uint8_t instruction;   /* enum python_instruction */
	uint8_t lines;	       /* enum python_lines */
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

/* Whether _PyRuntime's own table (3.13 and later) says the same as the row. */
int python_layout_agrees(const struct python_layout *layout, const void *py_runtime);

#endif
