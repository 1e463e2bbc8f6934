/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules under test as a library that a Python program loads with ctypes: a call of
 * probe_call() stands for an intercepted CUDA call, and its site can be read back as text.
 */
#ifndef GPUTRACE_SITE_PROBE_H
#define GPUTRACE_SITE_PROBE_H

#include <stddef.h>
#include <stdint.h>

/* Starts a session; stacks as in GPUTRACE_STACKS. 0, or -1 for an unknown word. */
int probe_begin(const char *stacks);

/* One event (enum site_event); returns its site. Works on any thread. */
uint64_t probe_call(int event);

/* The same from a thread that is not Python's and lives for this one call. */
uint64_t probe_call_on_native_thread(int event);

/* The same through a chain of native frames, one of them with a variable frame. */
uint64_t probe_call_deep(int event, int depth);

/* Frames of a site, one per line: "P function file line", "N address", "T", "W". Returns the number
 * of bytes written, 0 when the site has no record. */
size_t probe_site(uint64_t site, char *text, size_t limit);

/* Value of a fact such as "python.frames". Returns the number of bytes, 0 if not there. */
size_t probe_fact(const char *key, char *text, size_t limit);

/* Refuses the next count records, as a full ring does. */
void probe_refuse(int count);

/* Records written so far. */
uint64_t probe_records(void);

/* Walks the calling thread's Python stack rounds times and compares each walk with the first one.
 * Returns the number of walks that differed. */
uint64_t probe_walk_rounds(uint64_t rounds);

/* Waits in C until probe_release(); probe_waiting() tells how many threads do. */
void probe_wait(void);
int probe_waiting(void);
void probe_release(void);

/* Mean nanoseconds of one walk of the calling thread's Python stack. */
double probe_walk_ns(uint64_t rounds);

/* Mean nanoseconds of a whole event whose site is known. */
double probe_event_ns(int event, uint64_t rounds);

/* Mean nanoseconds of a launch from a known caller, when launches come so far apart. */
double probe_launch_ns(uint64_t rounds, uint64_t apart_ns);

#endif
