/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who made a call: where the shim's threads, rings and options meet site_capture.c. A site is a
 * list of frames with a number, written once per session before the first record that refers to it.
 */
#ifndef GPUTRACE_SHIM_SITE_H
#define GPUTRACE_SHIM_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

/* enum site_stacks; 0: nobody is asked. */
extern uint32_t site_policy;

/* The walk of site_of_call(). */
uint64_t site_walk(struct thread *thread, uint16_t api, const void *frame);

/* The site of an outermost call, 0 when there is none. frame: __builtin_frame_address(0) of the
 * exported function. */
static inline uint64_t site_of_call(struct thread *thread, uint16_t api, const void *frame)
{
	return site_policy ? site_walk(thread, api, frame) : 0;
}

/* The site of a report that comes under an allocator's mutex. is_rare: it always gets one. */
uint64_t site_of_hook(struct thread *thread, bool is_rare, const void *frame);

/* The first record of a function in this session tells what kind of event its calls are. */
void site_learn_kind(uint16_t api, unsigned int record_kind);

/* Session start, before any thread records. */
void site_open(void);
/* Facts of how stacks are found, those that are new; at the end of a session all. */
void site_report(bool is_last);
void site_thread_attach(struct thread *thread);
void site_thread_retire(struct thread *thread);
void site_after_fork(void);

/* Writes the library that holds the address unless this session has it. True: it was new. */
bool site_describe_library(struct thread *thread, uint64_t address);

#endif
