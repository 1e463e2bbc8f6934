// SPDX-License-Identifier: Apache-2.0
/*
 * The loop over frames. It uses libunwind's own dwarf_step() and frame classification instead of
 * unw_step(): where there is no unwind data, unw_step() guesses, and a guess is not a frame.
 */
#define UNW_LOCAL_ONLY
#include "unwind_i.h"

#include "unwind_glue.h"

#if defined(__x86_64__)
#define FRAME_STANDARD	UNW_X86_64_FRAME_STANDARD
#define FRAME_OTHER	UNW_X86_64_FRAME_OTHER
#define BASE_REGISTER	UNW_X86_64_RBP
#define RETURN_REGISTER UNW_X86_64_RIP
#define IS_FIXED(frame) ((frame)->cfa_reg_rsp != 0)
#elif defined(__aarch64__)
#define FRAME_STANDARD	UNW_AARCH64_FRAME_STANDARD
#define FRAME_OTHER	UNW_AARCH64_FRAME_OTHER
#define BASE_REGISTER	UNW_AARCH64_X29
#define RETURN_REGISTER UNW_AARCH64_X30
#define IS_FIXED(frame) ((frame)->cfa_reg_sp != 0)
#else
#error "no frame classification for this machine"
#endif

#define OWN_FRAMES    24 /* at most so many of ours lie below the caller */
#define PAGE	      4096u
#define LARGEST_FRAME (1u << 20)

/* All static state belongs to the walk that site_unwind.c lets in. */
static void *give_up[5];
static bool is_prepared;
static uintptr_t readable_begin, readable_end; /* stack that was found mapped in this walk */

_Noreturn void unwind_give_up(void)
{
	__builtin_longjmp(give_up, 1);
}

/* Reads a word of the stack above the walk. Pages are asked for once per walk; a rule that leads
 * away from the stack gives an error instead of a fault. */
static int access_stack(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
			void *argument)
{
	(void)space;
	(void)argument;
	if (write)
		return -UNW_EINVAL;
	if (address >= readable_begin && address + sizeof(*value) <= readable_end) {
		*value = *(const unw_word_t *)address;
		return 0;
	}
	if (address < readable_end || address - readable_end > LARGEST_FRAME ||
	    !unwind_can_read(address))
		return -UNW_EINVAL;
	*value = *(const unw_word_t *)address;
	readable_end = (address | (PAGE - 1)) + 1;
	return 0;
}

static void prepare(void)
{
	is_prepared = true;
	unw_get_accessors(unw_local_addr_space)->access_mem = access_stack;
	unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_GLOBAL);
	unw_set_cache_size(unw_local_addr_space, 4096, 0);
}

static uintptr_t saved_at(unw_cursor_t *cursor, int reg)
{
	unw_save_loc_t location;

	if (unw_get_save_loc(cursor, reg, &location) < 0 || location.type != UNW_SLT_MEMORY)
		return 0;
	return location.u.addr;
}

/* Steps to the caller and says in *frame what its place hangs on. Returns > 0, 0 at the outermost
 * frame, < 0 when there is no way on. */
static int step(unw_cursor_t *cursor, uintptr_t lowest_slot, struct unwind_frame *frame)
{
	struct cursor *c = (struct cursor *)cursor;
	uintptr_t base_slot = saved_at(cursor, BASE_REGISTER);
	unw_word_t below = c->dwarf.cfa;
	int result;

	c->frame_info.frame_type = FRAME_OTHER;
	result = dwarf_step(&c->dwarf);
	if (result <= 0)
		return result;
	if (c->dwarf.ip == 0)
		return 0;
	if (c->dwarf.cfa <= below && c->frame_info.frame_type == FRAME_STANDARD)
		return -UNW_EBADFRAME;
	frame->pc = c->dwarf.ip;
	frame->slot = saved_at(cursor, RETURN_REGISTER);
	frame->base_slot = base_slot;
	frame->base_slot_2 = 0;
	frame->base = UNWIND_BASE_UNKNOWN;
	if (c->frame_info.frame_type == FRAME_STANDARD) {
		if (IS_FIXED(&c->frame_info))
			frame->base = UNWIND_BASE_FIXED;
		else if (base_slot >= lowest_slot)
			frame->base = UNWIND_BASE_REGISTER;
	}
#if defined(__x86_64__)
	if (c->frame_info.frame_type == UNW_X86_64_FRAME_ALIGNED && base_slot >= lowest_slot) {
		frame->base_slot_2 = *(const uintptr_t *)base_slot +
				     (uintptr_t)(intptr_t)c->frame_info.cfa_reg_offset;
		frame->base = UNWIND_BASE_ALIGNED;
	}
#endif
	if (frame->slot < lowest_slot)
		frame->base = UNWIND_BASE_UNKNOWN;
	return result;
}

static uint32_t walk(const struct unwind_request *request, struct unwind_frame *frames,
		     bool *is_complete)
{
	unw_cursor_t cursor;
	unw_context_t context;
	struct unwind_frame frame = {.pc = 0};
	volatile uint32_t count = 0;
	int own = 0, result = 1;

	if (__builtin_setjmp(give_up))
		return count;
	unw_getcontext(&context);
	readable_begin = (uintptr_t)&context & ~(uintptr_t)(PAGE - 1);
	readable_end = (request->return_slot | (PAGE - 1)) + 1;
	if (unw_init_local(&cursor, &context) < 0)
		return 0;
	((struct cursor *)&cursor)->dwarf.stash_frames = 1;
	if (!is_prepared)
		prepare();
	while (frame.pc != request->return_address || frame.slot != request->return_slot) {
		if (++own > OWN_FRAMES || step(&cursor, 0, &frame) <= 0)
			return 0;
	}
	for (;;) {
		frames[count] = frame;
		count++;
		if (frame.pc >= request->stop_begin && frame.pc < request->stop_end) {
			*is_complete = true;
			break;
		}
		if (count == request->limit || !request->has_rules(request->context, frame.pc - 1))
			break;
		result = step(&cursor, request->return_slot - sizeof(uintptr_t), &frame);
		if (result <= 0) {
			*is_complete = result == 0;
			break;
		}
	}
	return count;
}

uint32_t unwind_walk(const struct unwind_request *request, struct unwind_frame *frames,
		     bool *is_complete)
{
	*is_complete = false;
	return walk(request, frames, is_complete);
}

void unwind_flush(void)
{
	if (is_prepared)
		unw_flush_cache(unw_local_addr_space, 0, 0);
}

const char *unwind_engine(void)
{
	return "libunwind " PACKAGE_VERSION;
}
