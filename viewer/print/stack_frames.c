/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two maps: what a trace calls a frame (type, number, line) to its number here, emptied when the
 * model changes; and what a frame says to its number, so that the same line of two ranks is one.
 */
#include "stack_frames.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "demangle.h"
#include "map.h"
#include "site_choice.h"
#include "site_text.h"
#include "text.h"
#include "xmalloc.h"

struct stack_frames {
	const struct model *model;
	struct symbols *symbols;
	struct stack_frame *items;
	size_t count, capacity;
	struct map by_origin, by_text;
	uint32_t *stack; /* of the last answer */
	size_t depth, stack_capacity;
};

/* Beside the numbers of enum frame_type; ORIGIN_LEAF is followed by one per enum stack_leaf. */
enum origin { ORIGIN_SYMBOL = 1 << 16, ORIGIN_API, ORIGIN_CAPTURE, ORIGIN_LEAF };

struct stack_frames *stack_frames_new(void)
{
	struct stack_frames *frames = xcalloc(1, sizeof(*frames));

	map_init(&frames->by_origin);
	map_init(&frames->by_text);
	return frames;
}

void stack_frames_free(struct stack_frames *frames)
{
	if (!frames)
		return;
	for (size_t i = 0; i < frames->count; i++) {
		free(frames->items[i].name);
		free(frames->items[i].file);
	}
	map_fini(&frames->by_origin);
	map_fini(&frames->by_text);
	free(frames->items);
	free(frames->stack);
	free(frames);
}

void stack_frames_use(struct stack_frames *frames, const struct model *model,
		      struct symbols *symbols)
{
	frames->model = model;
	frames->symbols = symbols;
	map_fini(&frames->by_origin);
	map_init(&frames->by_origin);
}

/* Takes `name`, copies `file`. */
static uint32_t add_frame(struct stack_frames *frames, char *name, const char *file, uint32_t line)
{
	uint64_t key = map_mix(map_hash_bytes(name, strlen(name)),
			       map_mix(file ? map_hash_bytes(file, strlen(file)) : 0, line));
	bool is_new;
	uint64_t *slot = map_slot(&frames->by_text, key, &is_new);

	if (!is_new) {
		free(name);
		return (uint32_t)*slot;
	}
	if (frames->count == frames->capacity)
		frames->items =
			array_grow(frames->items, &frames->capacity, sizeof(*frames->items));
	*slot = frames->count;
	frames->items[frames->count] =
		(struct stack_frame){name, file ? xstrdup(file) : NULL, line};
	return (uint32_t)frames->count++;
}

static void push(struct stack_frames *frames, uint32_t number)
{
	if (frames->depth == frames->stack_capacity)
		frames->stack =
			array_grow(frames->stack, &frames->stack_capacity, sizeof(*frames->stack));
	frames->stack[frames->depth++] = number;
}

/* Pushes the frame of this origin if it is known; else gives the place for its number. */
static uint64_t *push_known(struct stack_frames *frames, uint32_t origin, uint64_t value,
			    uint32_t line)
{
	bool is_new;
	uint64_t *slot = map_slot(&frames->by_origin, map_mix((uint64_t)origin << 32 | line, value),
				  &is_new);

	if (is_new)
		return slot;
	push(frames, (uint32_t)*slot);
	return NULL;
}

static const char *name_of(const struct stack_frames *frames, uint16_t space, uint64_t number)
{
	return frames->model->source.name(frames->model->source.context, space, number);
}

/* A Python frame, an operator, or the mark where a walk was cut or changed threads. */
static void push_described(struct stack_frames *frames, const struct site_frame *frame)
{
	uint64_t *slot = push_known(frames, frame->type, frame->value, frame->line);
	const char *name, *separator;
	uint32_t number;

	if (!slot)
		return;
	if (frame->type == FRAME_PYTHON) {
		name = name_of(frames, NAME_PYTHON, frame->value);
		separator = name ? strchr(name, '\x1f') : NULL;
		if (separator)
			number = add_frame(frames,
					   text_format("%.*s", (int)(separator - name), name),
					   separator + 1, frame->line);
		else
			number = add_frame(frames, xstrdup(name ? name : "unknown Python function"),
					   NULL, frame->line);
	} else if (frame->type == FRAME_OPERATOR) {
		name = name_of(frames, NAME_CLASS, frame->value);
		number = add_frame(frames, xstrdup(name ? name : "unknown operator"), NULL, 0);
	} else if (frame->type == FRAME_FORWARD) {
		number = add_frame(frames, xstrdup("[backward pass of this]"), NULL, 0);
	} else if (frame->type == FRAME_WAITING) {
		number = add_frame(frames, xstrdup("[a thread that this line waits for]"), NULL, 0);
	} else {
		number = add_frame(frames, xstrdup("[stack cut here]"), NULL, 0);
	}
	*slot = number;
	push(frames, number);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* One function, after those that it was inlined into. */
static void push_symbol(struct stack_frames *frames, const struct symbol *symbol)
{
	const struct symbol *chain[64];
	size_t count = 0;

	for (; symbol && count < sizeof(chain) / sizeof(chain[0]); symbol = symbol->caller)
		chain[count++] = symbol;
	while (count-- > 0) {
		uint64_t *slot =
			push_known(frames, ORIGIN_SYMBOL, (uint64_t)(uintptr_t)chain[count], 0);
		char *name;

		symbol = chain[count];
		if (!slot)
			continue;
		if (symbol->function)
			name = xstrdup(symbol->function);
		else
			name = text_format("%s+0x%llx", base_name(symbol->module),
					   (unsigned long long)symbol->offset);
		*slot = add_frame(frames, name, symbol->file ? symbol->file : symbol->module,
				  symbol->file && symbol->line > 0 ? (uint32_t)symbol->line : 0);
		push(frames, (uint32_t)*slot);
	}
}

/* A call inside a call has our wrapper of the outer one on its stack. */
static bool is_recorder(const char *module)
{
	return !strncmp(base_name(module), "libgputrace", 11);
}

static void push_native(struct stack_frames *frames, const struct record_site *site)
{
	uint32_t limit = site->frame_count;
	bool has_python = false;

	for (uint32_t i = 0; i < site->frame_count; i++)
		has_python |= site->frames[i].type == FRAME_PYTHON;
	for (uint32_t i = 0; has_python && i < limit; i++) {
		const struct symbol *symbol =
			site->frames[i].type == FRAME_NATIVE
				? symbols_find(frames->symbols, site->frames[i].value)
				: NULL;

		/* Its frames, and those below it, repeat what the Python frames say. */
		if (symbol && site_choice_is_interpreter_module(symbol->module))
			limit = i;
	}
	while (limit-- > 0) {
		const struct site_frame *frame = &site->frames[limit];
		const struct symbol *symbol;
		uint64_t *slot;

		if (frame->type != FRAME_NATIVE)
			continue;
		symbol = symbols_find(frames->symbols, frame->value);
		if (symbol) {
			if (!is_recorder(symbol->module))
				push_symbol(frames, symbol);
			continue;
		}
		slot = push_known(frames, FRAME_NATIVE, 0, 0);
		if (slot) {
			*slot = add_frame(frames, xstrdup("[code in no known file]"), NULL, 0);
			push(frames, (uint32_t)*slot);
		}
	}
}

static void push_api(struct stack_frames *frames, uint16_t api)
{
	uint64_t *slot = push_known(frames, ORIGIN_API, api, 0);

	if (!slot)
		return;
	*slot = add_frame(frames, xstrdup(frames->model->apis[api]), NULL, 0);
	push(frames, (uint32_t)*slot);
}

/* Where the graph was captured that is launched here. */
static void push_capture(struct stack_frames *frames, uint32_t capture_site)
{
	uint64_t *slot = push_known(frames, ORIGIN_CAPTURE, capture_site, 0);
	struct text text;

	if (!slot)
		return;
	text_init(&text);
	text_add(&text, "[captured at ");
	site_text_add_frames(&text, frames->model, frames->symbols,
			     frames->model->sites[capture_site].record);
	text_add(&text, "]");
	*slot = add_frame(frames, text_take(&text), NULL, 0);
	push(frames, (uint32_t)*slot);
}

static const char *copy_text(uint32_t direction)
{
	switch (direction) {
	case COPY_H2D:
		return "[copy host to device]";
	case COPY_D2H:
		return "[copy device to host]";
	case COPY_D2D:
		return "[copy within the device]";
	case COPY_PEER:
		return "[copy between devices]";
	case COPY_H2H:
		return "[copy host to host]";
	default:
		return "[copy]";
	}
}

static void push_leaf(struct stack_frames *frames, const struct stack_cost *cost)
{
	uint64_t *slot;
	char *name;

	if (cost->type == STACK_LEAF_CALL)
		return;
	slot = push_known(frames, ORIGIN_LEAF + cost->type, cost->leaf, 0);
	if (!slot)
		return;
	if (cost->type == STACK_LEAF_KERNEL)
		name = demangle_name(frames->model->kernels[cost->leaf].name);
	else if (cost->type == STACK_LEAF_COPY)
		name = xstrdup(copy_text(cost->leaf));
	else if (cost->type == STACK_LEAF_SET)
		name = xstrdup("[memset]");
	else
		name = text_format("[%s]", ledger_part_label((enum ledger_part)cost->leaf));
	*slot = add_frame(frames, name, NULL, 0);
	push(frames, (uint32_t)*slot);
}

const uint32_t *stack_frames_of(struct stack_frames *frames, const struct stack_cost *cost,
				size_t *count)
{
	const struct record_site *site = frames->model->sites[cost->site].record;

	frames->depth = 0;
	for (uint32_t i = site ? site->frame_count : 0; i-- > 0;) {
		if (site->frames[i].type != FRAME_NATIVE)
			push_described(frames, &site->frames[i]);
	}
	if (site)
		push_native(frames, site);
	push_api(frames, cost->api);
	if (cost->capture_site)
		push_capture(frames, cost->capture_site);
	push_leaf(frames, cost);
	*count = frames->depth;
	return frames->stack;
}

size_t stack_frames_count(const struct stack_frames *frames)
{
	return frames->count;
}

const struct stack_frame *stack_frames_get(const struct stack_frames *frames, uint32_t number)
{
	return &frames->items[number];
}
