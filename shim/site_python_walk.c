// SPDX-License-Identifier: Apache-2.0
/*
 * The walk itself, compiled twice: with plain loads for the calling thread's own frames, and with
 * guarded copies for the first walk of a process and for frames of another thread.
 *
 * A code object's address and instruction do not name a line for good: exec and notebook cells free
 * code objects and get the same address again. So the hash covers what tells two objects at one
 * address apart: the version number that 3.12 and later never give twice, else a fingerprint of
 * names, first line and the line table's bytes.
 */
#include "site_python_internal.h"

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ (hash >> 29);
}

/* The type of an object is checked where the walk is guarded anyway; this is what proves that a
 * layout fits before plain loads are used. */
static inline __attribute__((always_inline)) bool has_type(bool is_guarded, const void *object,
							   const void *type)
{
	const void *found;

	if (!is_guarded)
		return true;
	return python_read(true, &found, python_at(object, PYTHON_OBJECT_TYPE), sizeof(found)) &&
	       found == type;
}

/* A fingerprint is a sum of products with odd constants: the products do not wait for each other,
 * which a chain of mix() would make them do. */
static const uint64_t weight[] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u,
				  0xd6e8feb86659fd93u, 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu,
				  0x8ebc6af09c88c6e3u, 0x589965cc75374cc3u, 0x1d8e4e27c47d124fu,
				  0xeb44accab455d165u};

/* Reads the last 16 bytes of a byte range, or as many as there are, into word[0..1]. */
static inline __attribute__((always_inline)) bool read_tail(bool is_guarded, uint64_t word[2],
							    const char *data, uint64_t size_bytes)
{
	word[0] = word[1] = 0;
	if (size_bytes >= 16)
		return python_read(is_guarded, word, data + size_bytes - 16, 16);
	if (size_bytes >= 8)
		return python_read(is_guarded, &word[0], data, 8) &&
		       python_read(is_guarded, &word[1], data + size_bytes - 8, 8);
	if (size_bytes >= 4)
		return python_read(is_guarded, &word[0], data, 4) &&
		       python_read(is_guarded, &word[1], data + size_bytes - 4, 4);
	for (uint64_t i = 0; i < size_bytes; i++) {
		uint8_t byte;

		if (!python_read(is_guarded, &byte, data + i, 1))
			return false;
		word[0] = word[0] << 8 | byte;
	}
	return true;
}

/* Adds the end of a text, where file names differ: enough to tell notebook cells apart, at a cost
 * that does not grow. Names are interned and carry their hash for good, which is better and
 * cheaper; file names may get theirs between two walks, so it is not used for them. */
static inline __attribute__((always_inline)) bool add_text(bool is_guarded,
							   const struct python_runtime *runtime,
							   uint64_t *sum, const void *text,
							   bool is_name)
{
	const struct python_layout *layout = runtime->layout;
	uint64_t head[3], tail[2]; /* length, hash, state */
	uint32_t state;

	if (!has_type(is_guarded, text, runtime->text_type) ||
	    !python_read(is_guarded, head, python_at(text, PYTHON_TEXT_LENGTH), sizeof(head)))
		return false;
	if (is_name && head[1] != UINT64_MAX) {
		*sum += head[1] * weight[0];
		return true;
	}
	state = (uint32_t)head[2];
	if (!read_tail(is_guarded, tail,
		       python_at(text, state & 0x40 ? layout->text_ascii : layout->text_wide),
		       head[0] * ((state >> 2) & 7)))
		return false;
	*sum += tail[0] * weight[1] + tail[1] * weight[2] + head[0] * weight[3];
	if (is_name)
		*sum = mix(*sum, head[0]); /* keeps it apart from the same text as a file name */
	return true;
}

/* Names, first line and line table (its length, first 16 and last 16 bytes) of a code object. */
static inline __attribute__((always_inline)) bool
read_fingerprint(bool is_guarded, const struct python_runtime *runtime, const void *code,
		 uint64_t *fingerprint)
{
	const struct python_layout *layout = runtime->layout;
	const void *lines, *file, *name;
	uint64_t size_bytes, first[2] = {0, 0}, last[2], sum = 0;
	uint32_t first_line;

	if (!python_read(is_guarded, &lines, python_at(code, layout->code_lines), sizeof(lines)) ||
	    !python_read(is_guarded, &file, python_at(code, layout->code_filename), sizeof(file)) ||
	    !python_read(is_guarded, &name, python_at(code, layout->code_name), sizeof(name)) ||
	    !python_read(is_guarded, &first_line, python_at(code, layout->code_first_line),
			 sizeof(first_line)) ||
	    !has_type(is_guarded, lines, runtime->bytes_type) ||
	    !python_read(is_guarded, &size_bytes, python_at(lines, PYTHON_BYTES_SIZE),
			 sizeof(size_bytes)) ||
	    !read_tail(is_guarded, last, python_at(lines, PYTHON_BYTES_DATA), size_bytes) ||
	    (size_bytes > 16 &&
	     !python_read(is_guarded, first, python_at(lines, PYTHON_BYTES_DATA), sizeof(first))) ||
	    !add_text(is_guarded, runtime, &sum, name, true) ||
	    !add_text(is_guarded, runtime, &sum, file, false))
		return false;
	*fingerprint = sum + first[0] * weight[4] + first[1] * weight[5] + last[0] * weight[6] +
		       last[1] * weight[7] + size_bytes * weight[8] + first_line * weight[9];
	return true;
}

static inline __attribute__((always_inline)) bool mix_frame(bool is_guarded,
							    const struct python_runtime *runtime,
							    uint64_t *hash,
							    const struct site_python_frame *frame)
{
	const struct python_layout *layout = runtime->layout;
	uint64_t fingerprint = 0;
	uint32_t version = 0;

	if (layout->code_version != PYTHON_NO_OFFSET &&
	    !python_read(is_guarded, &version, python_at(frame->code, layout->code_version),
			 sizeof(version)))
		return false;
	/* With a version a guarded walk reads the fingerprint too, for the checks on the way. */
	if ((version == 0 || is_guarded) &&
	    !read_fingerprint(is_guarded, runtime, frame->code, &fingerprint))
		return false;
	if (version != 0)
		fingerprint = version;
	*hash = mix(*hash, (uint64_t)(uintptr_t)frame->code * weight[1] +
				   frame->offset_bytes * weight[2] + fingerprint * weight[3]);
	return true;
}

/* The innermost frame of a thread, NULL when it has none. */
static inline __attribute__((always_inline)) bool first_frame(bool is_guarded,
							      const struct python_layout *layout,
							      const void *thread,
							      const void **frame)
{
	if (!python_read(is_guarded, frame, python_at(thread, layout->thread_frame),
			 sizeof(*frame)))
		return false;
	if (layout->cframe_frame == PYTHON_NO_OFFSET || !*frame)
		return true;
	return python_read(is_guarded, frame, python_at(*frame, layout->cframe_frame),
			   sizeof(*frame));
}

/* Reads one frame. *is_real is false for frames of the C stack, which have no code. */
static inline __attribute__((always_inline)) bool
read_frame(bool is_guarded, const struct python_runtime *runtime, const void *frame,
	   struct site_python_frame *out, const void **back, bool *is_real)
{
	const struct python_layout *layout = runtime->layout;
	uint8_t owner = 0;

	if (layout->frame_owner == PYTHON_NO_OFFSET) {
		if (!has_type(is_guarded, frame, runtime->frame_type))
			return false;
	} else if (!python_read(is_guarded, &owner, python_at(frame, layout->frame_owner), 1)) {
		return false;
	}
	*is_real = owner < 3;
	if (!python_read(is_guarded, back, python_at(frame, layout->frame_back), sizeof(*back)))
		return false;
	if (!*is_real)
		return true;
	if (!python_read(is_guarded, &out->code, python_at(frame, layout->frame_code),
			 sizeof(out->code)) ||
	    !has_type(is_guarded, out->code, runtime->code_type))
		return false;
	out->reserved0 = 0;
	if (layout->instruction == PYTHON_INSTRUCTION_POINTER) {
		uintptr_t at;

		if (!python_read(is_guarded, &at, python_at(frame, layout->frame_instruction),
				 sizeof(at)))
			return false;
		at -= (uintptr_t)python_at(out->code, layout->code_bytes);
		out->offset_bytes = (uint32_t)at;
		return !is_guarded || at < UINT32_MAX / 2 || at + 2 == 0;
	}
	if (!python_read(is_guarded, &out->offset_bytes,
			 python_at(frame, layout->frame_instruction), sizeof(out->offset_bytes)))
		return false;
	if (layout->instruction == PYTHON_INSTRUCTION_UNITS)
		out->offset_bytes *= 2;
	return true;
}

static inline __attribute__((always_inline)) bool walk(bool is_guarded,
						       const struct python_runtime *runtime,
						       const void *thread,
						       struct site_python_stack *stack)
{
	uint64_t hash = 0x707974686f6eu; /* "python": keeps the hash of no frames apart from 0 */
	uint32_t count = 0, skipped = 0;
	const void *frame;

	stack->is_truncated = false;
	stack->is_other_thread = false;
	if (!first_frame(is_guarded, runtime->layout, thread, &frame))
		return false;
	while (frame) {
		const void *back;
		bool is_real;

		if (count == SITE_PYTHON_DEPTH || skipped == SITE_PYTHON_DEPTH) {
			stack->is_truncated = true;
			break;
		}
		if (!read_frame(is_guarded, runtime, frame, &stack->frames[count], &back, &is_real))
			return false;
		if (is_real) {
			if (!mix_frame(is_guarded, runtime, &hash, &stack->frames[count]))
				return false;
			count++;
		} else {
			skipped++;
		}
		frame = back;
	}
	stack->frame_count = count;
	stack->hash = mix(hash, count);
	return true;
}

bool python_walk_direct(const struct python_runtime *runtime, const void *thread,
			struct site_python_stack *stack)
{
	return walk(false, runtime, thread, stack);
}

bool python_walk_guarded(const struct python_runtime *runtime, const void *thread,
			 struct site_python_stack *stack)
{
	return walk(true, runtime, thread, stack);
}

bool python_peek_guarded(const struct python_runtime *runtime, const void *thread,
			 const void **frame, struct site_python_frame *top)
{
	const void *back;
	bool is_real = false;

	if (!first_frame(true, runtime->layout, thread, frame))
		return false;
	while (*frame && read_frame(true, runtime, *frame, top, &back, &is_real)) {
		if (is_real)
			return true;
		*frame = back;
	}
	return false;
}
