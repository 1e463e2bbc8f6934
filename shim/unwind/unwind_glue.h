/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few things that gputrace asks of libunwind, compiled together with it into one object whose
 * other names are hidden (build_libunwind.sh). Not thread-safe: site_unwind.c serialises.
 */
#ifndef GPUTRACE_UNWIND_GLUE_H
#define GPUTRACE_UNWIND_GLUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What fixes the place of the slot that a frame's return address was read from. */
enum unwind_base {
	UNWIND_BASE_FIXED,    /* a constant distance from the frame below */
	UNWIND_BASE_REGISTER, /* the frame pointer, whose saved value lies at base_slot */
	UNWIND_BASE_ALIGNED,  /* the word at base_slot_2, which the frame pointer at base_slot finds
			       */
	UNWIND_BASE_UNKNOWN   /* an expression; such a stack cannot be recognised again */
};

struct unwind_frame {
	uintptr_t pc;	/* return address */
	uintptr_t slot; /* where on the stack it was */
	uintptr_t base_slot;
	uintptr_t base_slot_2;
	enum unwind_base base;
};

struct unwind_request {
	uintptr_t return_address; /* frames below the one with this pc are ours and are left out */
	uintptr_t return_slot;	  /* where it lies on the stack */
	uintptr_t stop_begin, stop_end;			/* the walk ends with the first pc inside */
	uint32_t limit;					/* frames at most */
	bool (*has_rules)(void *context, uintptr_t pc); /* whether pc has unwind data to follow */
	void *context;
};

/* Unwinds the calling thread. Returns the number of frames, 0 if the caller's frame was not met.
 * *is_complete: the walk reached the outermost frame or the stop range. */
uint32_t unwind_walk(const struct unwind_request *request, struct unwind_frame *frames,
		     bool *is_complete);

/* Forgets rules that were read: code at known addresses has been replaced. Also mends what a fork
 * in another thread's walk has left behind. */
void unwind_flush(void);

const char *unwind_engine(void);

/* Provided by site_unwind.c in place of the C library's function of that name: visits only the
 * module of the frame being unwound, without the loader's lock. */
struct dl_phdr_info;
int unwind_iterate_modules(int (*callback)(struct dl_phdr_info *info, size_t size, void *data),
			   void *data);

/* Provided by site_unwind.c: whether a word of the own stack is mapped. */
bool unwind_can_read(uintptr_t address);

#endif
