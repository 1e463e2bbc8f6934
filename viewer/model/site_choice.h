/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which frame of a site is the user's: the one to name in a finding.
 *
 * The rule, for Python: the innermost frame whose file is not a library's. A library's file lies
 * below a site-packages or dist-packages folder, in the standard library (lib/python3.N, which
 * holds importlib), in a source tree of torch, or is code that a library generates (<frozen
 * importlib>, <eval_with_key>, ...). Notebook cells, <stdin> and <string> are the user's. If every
 * frame is a library's, the innermost one is named.
 *
 * Without Python frames the same goes for native ones: the innermost whose module is none of the C
 * library's, CUDA's, the framework's, Python's or ours, and whose source, where that is known, is
 * no header of the compiler's and no launch stub that nvcc wrote.
 */
#ifndef GPUTRACE_MODEL_SITE_CHOICE_H
#define GPUTRACE_MODEL_SITE_CHOICE_H

#include "format/record.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether a Python file belongs to a library. */
bool site_choice_is_library(const char *path);

/* Index of the Python frame to name. name() gives the text of a NAME_PYTHON number,
 * "function\x1f" "file", or NULL. *is_user: it is the user's. False: there is no Python frame. */
bool site_choice_python(const struct record_site *site,
			const char *(*name)(void *context, uint64_t number), void *context,
			uint32_t *index, bool *is_user);

/* Whether a mapped file belongs to a library that says how things work, not who asked for them. */
bool site_choice_is_library_module(const char *path);
/* Whether it is Python itself, or what Python calls C with: beside Python frames it tells nothing.
 */
bool site_choice_is_interpreter_module(const char *path);
/* The same as for modules of a function in the user's own file: from a header of the system or of
 * CUDA, or written by nvcc. Either may be NULL, unknown. */
bool site_choice_is_library_code(const char *function, const char *file);

enum site_frame_owner { SITE_FRAME_UNKNOWN, SITE_FRAME_LIBRARY, SITE_FRAME_USER };
/* Index of the native frame to name; owner() says whose an address is, SITE_FRAME_UNKNOWN when it
 * is in no known file. False: all are unknown. */
bool site_choice_native(const struct record_site *site,
			enum site_frame_owner (*owner)(void *context, uint64_t address),
			void *context, uint32_t *index);

/* Whether the Python frames are those of a thread that waited for this one, as backward() does. */
bool site_choice_is_waiting(const struct record_site *site);
/* Index of the first frame of the forward operator that this call of the backward pass belongs to;
 * frame_count: none is known. */
uint32_t site_choice_forward(const struct record_site *site);

#endif
