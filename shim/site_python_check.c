// SPDX-License-Identifier: Apache-2.0
/*
 * The self-check: at the first event whose thread holds the GIL, the walk is compared with what the
 * interpreter's own API says, frame by frame. A difference turns Python frames off for good.
 *
 * The API creates frame objects, so Python's garbage collector is held off meanwhile: a finalizer
 * must not run inside a CUDA call.
 */
#include "site_python_internal.h"

#include <string.h>

#define CHECK_DEPTH 32

/* The API's view of one frame, released again at once. */
struct api_frame {
	char text[SITE_PYTHON_TEXT_BYTES + 1];
	long line;
};

/* Appends one str attribute of a code object. */
static bool append_attribute(const struct python_api *api, void *code, const char *name, char *text,
			     size_t *used)
{
	void *value = api->attribute(code, name);
	const char *utf8 = value ? api->text(value) : NULL;
	size_t length = utf8 ? strlen(utf8) : 0;
	bool is_good = utf8 && *used + length < SITE_PYTHON_TEXT_BYTES;

	if (is_good) {
		memcpy(text + *used, utf8, length);
		*used += length;
		text[*used] = '\0';
	}
	if (value)
		api->release(value);
	return is_good;
}

static bool read_api_frame(const struct python_runtime *runtime, void *frame, struct api_frame *out)
{
	const struct python_api *api = &runtime->api;
	void *code = api->attribute(frame, "f_code");
	void *line = api->attribute(frame, "f_lineno");
	bool has_qualified_names = runtime->layout.version >= 0x030b;
	size_t used = 0;
	bool is_good = false;

	if (code && line) {
		is_good =
			append_attribute(api, code, has_qualified_names ? "co_qualname" : "co_name",
					 out->text, &used);
		if (is_good) {
			out->text[used++] = 0x1f;
			is_good = append_attribute(api, code, "co_filename", out->text, &used);
		}
		out->line = api->number(line);
		if (out->line < 0)
			out->line = 0; /* None: this instruction has no line */
	}
	if (code)
		api->release(code);
	if (line)
		api->release(line);
	return is_good;
}

/* Takes over the reference to frame. */
static enum python_verdict compare(const struct python_runtime *runtime, void *frame,
				   const struct site_python_stack *stack)
{
	const struct python_api *api = &runtime->api;
	enum python_verdict verdict = PYTHON_AGREES;
	uint32_t index = 0;

	for (; frame && index < stack->frame_count && index < CHECK_DEPTH; index++) {
		struct site_python_line line;
		struct api_frame expected;
		void *back;

		if (!read_api_frame(runtime, frame, &expected))
			verdict = PYTHON_NO_ANSWER;
		else if (!python_describe(runtime, true, &stack->frames[index], &line) ||
			 line.text_bytes != strlen(expected.text) ||
			 memcmp(line.text, expected.text, line.text_bytes) != 0 ||
			 (long)line.line != expected.line)
			verdict = PYTHON_DIFFERS;
		back = api->attribute(frame, "f_back");
		api->release(frame);
		frame = back;
		if (verdict != PYTHON_AGREES)
			break;
		/* f_back of the outermost frame is None, which has no f_code. */
		if (frame && index + 1 == stack->frame_count) {
			void *code = api->attribute(frame, "f_code");

			if (code && !stack->is_truncated)
				verdict = PYTHON_DIFFERS;
			if (code)
				api->release(code);
			index++;
			break;
		}
	}
	if (frame)
		api->release(frame);
	if (verdict == PYTHON_AGREES && index < stack->frame_count && index < CHECK_DEPTH)
		verdict = PYTHON_DIFFERS;
	return verdict;
}

enum python_verdict python_check_against_api(const struct python_runtime *runtime)
{
	const struct python_api *api = &runtime->api;
	enum python_verdict verdict = PYTHON_NO_ANSWER;
	void *type, *value, *traceback, *frame;
	struct site_python_stack stack;
	int was_collecting = 0;

	api->error_fetch(&type, &value, &traceback);
	if (api->collector_disable)
		was_collecting = api->collector_disable();
	frame = api->current_frame();
	if (frame) {
		api->retain(frame); /* it was borrowed */
		if (python_walk_guarded(runtime, api->this_thread(), &stack)) {
			verdict = compare(runtime, frame, &stack);
		} else {
			verdict = site_memory_can_copy() ? PYTHON_DIFFERS : PYTHON_NO_ANSWER;
			api->release(frame);
		}
	}
	if (was_collecting && api->collector_enable)
		api->collector_enable();
	api->error_restore(NULL, NULL, NULL);
	api->error_restore(type, value, traceback);
	return verdict;
}
