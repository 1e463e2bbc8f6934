/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole stacks as numbered frames, for flame graphs: from the outermost inwards the Python frames,
 * then the native ones below the interpreter with what was inlined into them. Every frame is made
 * once per table, so that a hundred thousand stacks cost as many look-ups and not as many texts.
 */
#ifndef GPUTRACE_PRINT_STACK_FRAMES_H
#define GPUTRACE_PRINT_STACK_FRAMES_H

#include "model.h"
#include "stack_cost.h"
#include "symbols.h"

struct stack_frame {
	char *name; /* "forward", "cudaMemcpyAsync", "libfoo.so+0x123" */
	char *file; /* NULL: it is no line of a source */
	uint32_t line;
};

/* Frames of any number of models. */
struct stack_frames;

struct stack_frames *stack_frames_new(void);
void stack_frames_free(struct stack_frames *frames);
/* The model that the next calls are about. */
void stack_frames_use(struct stack_frames *frames, const struct model *model,
		      struct symbols *symbols);

/* Numbers of the frames of one cost: those of its site, its API, its leaf. Valid until the next
 * call; the count is at least 1. */
const uint32_t *stack_frames_of(struct stack_frames *frames, const struct stack_cost *cost,
				size_t *count);
size_t stack_frames_count(const struct stack_frames *frames);
const struct stack_frame *stack_frames_get(const struct stack_frames *frames, uint32_t number);

#endif
