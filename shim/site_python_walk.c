// SPDX-License-Identifier: Apache-2.0
/*
 * The walk itself, compiled once per layout with plain loads and constant offsets for the calling
 * thread's own frames, and with guarded copies for the first walk of a process and for frames of
 * another thread.
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

__extension__ typedef unsigned __int128 uint128;

/* Two words into one, both halves of their product: a fingerprint is a sum of such, which do not
 * wait for each other as a chain of mix() would, at one multiplication for 16 bytes. */
static inline uint64_t blend(uint64_t one, uint64_t other)
{
	uint128 product = (uint128)(one ^ 0xa0761d6478bd642fu) * (other ^ 0xe7037ed1a0b428dbu);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Reads the last 16 bytes of a byte range, or as many as there are, into word[0..1]. Before the
 * range lies the object's own head, so that eight bytes up to its end can always be read. */
static inline __attribute__((always_inline)) bool read_tail(bool is_guarded, uint64_t word[2],
							    const char *data, uint64_t size_bytes)
{
	word[0] = 0;
	if (!python_read(is_guarded, &word[1], data + size_bytes - 8, 8))
		return false;
	if (__builtin_expect(size_bytes >= 16, 1))
		return python_read(is_guarded, &word[0], data + size_bytes - 16, 8);
	if (size_bytes >= 8)
		return python_read(is_guarded, &word[0], data, 8);
	word[1] = size_bytes ? word[1] >> (64 - 8 * size_bytes) : 0;
	return true;
}

/* The end of a text, where file names differ: enough to tell notebook cells apart, at a cost that
 * does not grow. Names are interned and carry their hash for good, which is better and cheaper;
 * file names may get theirs between two walks, so it is not used for them. */
static inline __attribute__((always_inline)) bool
read_text(bool is_guarded, const struct python_layout *layout, const struct python_runtime *runtime,
	  uint64_t *sum, const void *text, bool is_name)
{
	uint64_t hash, length, tail[2];
	uint32_t state;

	if (!has_type(is_guarded, text, runtime->text_type))
		return false;
	if (is_name) {
		if (!python_read(is_guarded, &hash, python_at(text, PYTHON_TEXT_HASH), 8))
			return false;
		*sum = hash;
		if (__builtin_expect(hash != UINT64_MAX, 1))
			return true;
	}
	if (!python_read(is_guarded, &length, python_at(text, PYTHON_TEXT_LENGTH), 8) ||
	    !python_read(is_guarded, &state, python_at(text, PYTHON_TEXT_STATE), 4) ||
	    !read_tail(is_guarded, tail,
		       python_at(text, state & 0x40 ? layout->text_ascii : layout->text_wide),
		       length * ((state >> 2) & 7)))
		return false;
	*sum = blend(tail[0] + length, tail[1]);
	return true;
}

/* The file of the frame before, whose code object is alive as long as the walk: neighbours are
 * often of one file. */
struct last_file {
	const void *text;
	uint64_t sum;
};

/* Names, first line and line table (its length, first 16 and last 16 bytes) of a code object. */
static inline __attribute__((always_inline)) bool
read_fingerprint(bool is_guarded, const struct python_layout *layout,
		 const struct python_runtime *runtime, const void *code,
		 struct last_file *last_file, uint64_t *fingerprint)
{
	const void *lines, *file, *name;
	uint64_t size_bytes, first[2] = {0, 0}, last[2], name_sum;
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
	    !read_text(is_guarded, layout, runtime, &name_sum, name, true))
		return false;
	if (file != last_file->text) {
		if (!read_text(is_guarded, layout, runtime, &last_file->sum, file, false))
			return false;
		last_file->text = file;
	}
	*fingerprint = last_file->sum + blend(first[0] + name_sum, first[1]) +
		       blend(last[0] + first_line, last[1] + (size_bytes << 32));
	return true;
}

static inline __attribute__((always_inline)) bool
mix_frame(bool is_guarded, const struct python_layout *layout, const struct python_runtime *runtime,
	  uint64_t *hash, struct last_file *last_file, const struct site_python_frame *frame)
{
	uint64_t fingerprint = 0;
	uint32_t version = 0;

	if (layout->code_version != PYTHON_NO_OFFSET &&
	    !python_read(is_guarded, &version, python_at(frame->code, layout->code_version),
			 sizeof(version)))
		return false;
	/* With a version a guarded walk reads the fingerprint too, for the checks on the way. */
	if ((version == 0 || is_guarded) &&
	    !read_fingerprint(is_guarded, layout, runtime, frame->code, last_file, &fingerprint))
		return false;
	if (version != 0)
		fingerprint = (uint64_t)version << 32 | frame->offset_bytes;
	else
		fingerprint += (uint64_t)frame->offset_bytes << 32;
	*hash = mix(*hash, blend((uint64_t)(uintptr_t)frame->code, fingerprint));
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

/* Whether a function's frame has begun to run. The interpreter's own frames that never do, such as
 * the one behind a hot call of a class, are not shown by its API either. */
static inline __attribute__((always_inline)) bool has_started(bool is_guarded,
							      const struct python_layout *layout,
							      const struct site_python_frame *frame,
							      uint8_t owner, bool *is_real)
{
	int32_t started;

	if (layout->code_started == PYTHON_NO_OFFSET || owner == PYTHON_OWNED_BY_GENERATOR)
		return true;
	if (!python_read(is_guarded, &started, python_at(frame->code, layout->code_started),
			 sizeof(started)))
		return false;
	*is_real = (int32_t)frame->offset_bytes >= started * 2;
	return true;
}

/* Reads one frame. *is_real is false for frames that are no function's. */
static inline __attribute__((always_inline)) bool
read_frame(bool is_guarded, const struct python_layout *layout,
	   const struct python_runtime *runtime, const void *frame, struct site_python_frame *out,
	   const void **back, bool *is_real)
{
	uint8_t owner = 0;

	if (layout->frame_owner == PYTHON_NO_OFFSET) {
		if (!has_type(is_guarded, frame, runtime->frame_type))
			return false;
	} else if (!python_read(is_guarded, &owner, python_at(frame, layout->frame_owner), 1)) {
		return false;
	}
	*is_real = owner < PYTHON_OWNED_BY_INTERPRETER;
	if (!python_read(is_guarded, back, python_at(frame, layout->frame_back), sizeof(*back)))
		return false;
	if (!*is_real)
		return true;
	if (!python_read(is_guarded, &out->code, python_at(frame, layout->frame_code),
			 sizeof(out->code)))
		return false;
	if (layout->code_tag)
		out->code = (const void *)((uintptr_t)out->code & ~(uintptr_t)layout->code_tag);
	if (!has_type(is_guarded, out->code, runtime->code_type))
		return false;
	out->reserved0 = 0;
	if (layout->instruction == PYTHON_INSTRUCTION_POINTER) {
		uintptr_t at;

		if (!python_read(is_guarded, &at, python_at(frame, layout->frame_instruction),
				 sizeof(at)))
			return false;
		at -= (uintptr_t)python_at(out->code, layout->code_bytes);
		out->offset_bytes = (uint32_t)at;
		if (is_guarded && at >= INT32_MAX && at + 2 != 0)
			return false;
		return has_started(is_guarded, layout, out, owner, is_real);
	}
	if (!python_read(is_guarded, &out->offset_bytes,
			 python_at(frame, layout->frame_instruction), sizeof(out->offset_bytes)))
		return false;
	if (layout->instruction == PYTHON_INSTRUCTION_UNITS)
		out->offset_bytes *= 2;
	return true;
}

static inline __attribute__((always_inline)) bool
walk(bool is_guarded, const struct python_layout *layout, const struct python_runtime *runtime,
     const void *thread, struct site_python_stack *stack)
{
	uint64_t hash = 0x707974686f6eu; /* "python": keeps the hash of no frames apart from 0 */
	struct last_file last_file = {NULL, 0};
	uint32_t count = 0, skipped = 0;
	const void *frame;

	stack->is_truncated = false;
	stack->is_other_thread = false;
	if (!first_frame(is_guarded, layout, thread, &frame))
		return false;
	while (frame) {
		const void *back;
		bool is_real;

		if (count == SITE_PYTHON_DEPTH || skipped == SITE_PYTHON_DEPTH) {
			stack->is_truncated = true;
			break;
		}
		if (!read_frame(is_guarded, layout, runtime, frame, &stack->frames[count], &back,
				&is_real))
			return false;
		if (is_real) {
			if (!mix_frame(is_guarded, layout, runtime, &hash, &last_file,
				       &stack->frames[count]))
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

/* With the layout a constant, its offsets become part of the instructions. */
#define NONE PYTHON_NO_OFFSET
#define LAYOUT(number, ...)                                                                        \
	static const struct python_layout layout_##number = {number, __VA_ARGS__};                 \
	static bool walk_##number(const struct python_runtime *runtime, const void *thread,        \
				  struct site_python_stack *stack)                                 \
	{                                                                                          \
		return walk(false, &layout_##number, runtime, thread, stack);                      \
	}
PYTHON_LAYOUTS(LAYOUT)
#undef LAYOUT

/* For an interpreter whose own table differs from its version's row. */
static bool walk_as_described(const struct python_runtime *runtime, const void *thread,
			      struct site_python_stack *stack)
{
	return walk(false, &runtime->layout, runtime, thread, stack);
}

python_walk_function *python_walk_pick(const struct python_layout *layout)
{
#define LAYOUT(number, ...)                                                                        \
	if (memcmp(layout, &layout_##number, sizeof(*layout)) == 0)                                \
		return walk_##number;
	PYTHON_LAYOUTS(LAYOUT)
#undef LAYOUT
	return walk_as_described;
}

bool python_walk_guarded(const struct python_runtime *runtime, const void *thread,
			 struct site_python_stack *stack)
{
	return walk(true, &runtime->layout, runtime, thread, stack);
}

bool python_peek_guarded(const struct python_runtime *runtime, const void *thread,
			 const void **frame, struct site_python_frame *top)
{
	const void *back;
	bool is_real = false;

	if (!first_frame(true, &runtime->layout, thread, frame))
		return false;
	while (*frame &&
	       read_frame(true, &runtime->layout, runtime, *frame, top, &back, &is_real)) {
		if (is_real)
			return true;
		*frame = back;
	}
	return false;
}
