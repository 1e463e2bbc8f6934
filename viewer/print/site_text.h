/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says in one line where a call came from: the Python line, else the native one, else module and
 * offset, else the name of the call.
 */
#ifndef GPUTRACE_PRINT_SITE_TEXT_H
#define GPUTRACE_PRINT_SITE_TEXT_H

#include "model.h"
#include "symbols.h"
#include "text.h"

/* "train.py:41 in loss_fn (cudaMemcpyAsync)"; printable. call MODEL_NONE adds "unknown". */
void site_text_add(struct text *text, const struct model *model, struct symbols *symbols,
		   uint32_t call);
/* The same of a site and an API name alone; without the name when api is NULL. */
void site_text_add_frames(struct text *text, const struct model *model, struct symbols *symbols,
			  const struct record_site *site);
/* ", captured at train.py:12 in step" of a graph's launches; nothing for 0. */
void site_text_add_capture(struct text *text, const struct model *model, struct symbols *symbols,
			   uint32_t capture_site);
/* The native frame alone, "copy.cpp:12 in load", that tells most beside a Python line; false: there
 * is none but the interpreter's. */
bool site_text_add_native(struct text *text, struct symbols *symbols,
			  const struct record_site *site);

#endif
