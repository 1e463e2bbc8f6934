/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collapsed stacks, the input of flamegraph.pl, inferno and speedscope: "outer;inner;leaf 123" per
 * line. Costs that read the same (two devices, two stacks through one line) are one line; the order
 * is that of the texts, so that the output does not depend on the order of records.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "export.h"
#include "printable.h"
#include "stack_frames.h"
#include "symbols.h"

struct line {
	char *stack;
	uint64_t weight;
};

struct lines {
	struct line *items;
	size_t count, capacity;
};

/* A frame may hold neither the separator nor an end of line. */
static void add_escaped(struct text *text, const char *bytes)
{
	struct text clean;
	const char *at;

	text_init(&clean);
	text_add_printable(&clean, bytes);
	at = text_string(&clean);
	while (*at) {
		size_t length = strcspn(at, ";");

		text_add_bytes(text, at, length);
		at += length;
		if (*at) {
			text_add(text, "\\x3b");
			at++;
		}
	}
	text_fini(&clean);
}

/* What the frames read like, each made when it is first needed. */
struct frame_texts {
	const struct stack_frames *frames;
	struct text *items; /* by number of the frame */
	size_t capacity;
};

static void make_text(struct text *text, const struct stack_frame *frame)
{
	add_escaped(text, frame->name);
	if (!frame->file)
		return;
	text_add(text, " (");
	add_escaped(text, frame->file);
	if (frame->line)
		text_addf(text, ":%u", frame->line);
	text_add(text, ")");
}

static void add_frame(struct text *text, struct frame_texts *texts, uint32_t number)
{
	while (number >= texts->capacity) {
		size_t before = texts->capacity;

		texts->items = array_grow(texts->items, &texts->capacity, sizeof(*texts->items));
		for (size_t i = before; i < texts->capacity; i++)
			text_init(&texts->items[i]);
	}
	if (!texts->items[number].length)
		make_text(&texts->items[number], stack_frames_get(texts->frames, number));
	if (text->length)
		text_add(text, ";");
	text_add_bytes(text, text_string(&texts->items[number]), texts->items[number].length);
}

static void free_texts(struct frame_texts *texts)
{
	for (size_t i = 0; i < texts->capacity; i++)
		text_fini(&texts->items[i]);
	free(texts->items);
}

static void add_model(struct lines *lines, const struct export_job *job, const struct model *model,
		      struct stack_frames *frames, struct frame_texts *texts)
{
	struct symbols *symbols = symbols_new(model->source.trace);
	char *title = job->count > 1 ? export_model_title(model) : NULL;
	struct stack_costs costs;

	stack_costs_build(model, STACK_WHOLE_RUN, &costs);
	stack_frames_use(frames, model, symbols);
	for (size_t i = 0; i < costs.count; i++) {
		uint64_t weight = export_weight_of(&costs.items[i], job->weight);
		const uint32_t *stack;
		struct text text;
		size_t depth;

		if (!weight)
			continue;
		text_init(&text);
		if (title)
			add_escaped(&text, title);
		stack = stack_frames_of(frames, &costs.items[i], &depth);
		for (size_t f = 0; f < depth; f++)
			add_frame(&text, texts, stack[f]);
		if (lines->count == lines->capacity)
			lines->items =
				array_grow(lines->items, &lines->capacity, sizeof(*lines->items));
		lines->items[lines->count++] = (struct line){text_take(&text), weight};
	}
	stack_costs_free(&costs);
	symbols_free(symbols);
	free(title);
}

static int compare_lines(const void *left, const void *right)
{
	return strcmp(((const struct line *)left)->stack, ((const struct line *)right)->stack);
}

static void write_collapsed(const struct export_job *job, FILE *to)
{
	struct stack_frames *frames = stack_frames_new();
	struct frame_texts texts = {frames, NULL, 0};
	struct lines lines = {NULL, 0, 0};

	for (size_t i = 0; i < job->count; i++)
		add_model(&lines, job, job->models[i], frames, &texts);
	if (lines.count)
		qsort(lines.items, lines.count, sizeof(*lines.items), compare_lines);
	for (size_t i = 0; i < lines.count; i++) {
		struct line *line = &lines.items[i];

		if (i + 1 < lines.count && !strcmp(line->stack, line[1].stack))
			line[1].weight += line->weight;
		else
			fprintf(to, "%s %llu\n", line->stack, (unsigned long long)line->weight);
	}
	for (size_t i = 0; i < lines.count; i++)
		free(lines.items[i].stack);
	free(lines.items);
	free_texts(&texts);
	stack_frames_free(frames);
}

const struct export export_collapsed = {
	.name = "collapsed",
	.summary = "collapsed stacks for flamegraph.pl and inferno",
	.has_weights = true,
	.write = write_collapsed,
};
