/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks: ranges and instants that the program names, through NVTX or gputrace.h. They are recorded
 * while a session is open and never open one. A range that was open when the session began starts
 * with it; what had ended before is counted.
 */
#ifndef GPUTRACE_SHIM_MARK_H
#define GPUTRACE_SHIM_MARK_H

#include <stddef.h>
#include <stdint.h>

#include "mark_name.h"

/* What a mark says, apart from when. */
struct mark {
	const struct mark_name *name;
	const char *text; /* used when there is no name: texts for which mark_name.c had no room */
	size_t text_bytes;
	const struct mark_name *domain;
	uint64_t value;
	uint64_t communicator; /* of NCCL's marks, 0 none */
	uint32_t peer;	       /* MARK_NO_PEER: none */
	uint32_t category;
	uint8_t source; /* enum mark_source */
};

/* A mark with this text and nothing else. */
struct mark mark_of_text(const char *text, size_t length, unsigned int source);

void mark_instant(const struct mark *mark);
/* Ranges of one thread, nested within their domain. */
void mark_push(const struct mark *mark);
void mark_pop(const struct mark_name *domain);
/* Ranges that any thread may end. id: 0, or another tool's number for this range. Returns the
 * number to end it by. */
uint64_t mark_start(const struct mark *mark, uint64_t id);
void mark_end(uint64_t id);
/* The step that began last ends, the next one begins (on this thread). */
void mark_step(uint64_t number);

/* Session start: counts what came before. Session end: what is still open on this thread. */
void mark_session_begins(void);
void mark_session_ends(void);
void mark_after_fork(void);

#endif
