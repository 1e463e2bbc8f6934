/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second pair of hands for the collector: a thread that empties rings into memory while the first
 * one is busy with something that takes long, such as a write to a slow disk. It does nothing else,
 * and sleeps otherwise. Only the collector that is a process has one: a job is given no more
 * threads than it needs.
 */
#ifndef GPUTRACE_RING_RELIEF_H
#define GPUTRACE_RING_RELIEF_H

struct ring_reader;
struct ring_relief_thread;

/* What a collector calls (collector_options.relief). */
struct ring_relief {
	/* NULL: no memory, or no thread. */
	struct ring_relief_thread *(*start)(struct ring_reader *reader);
	/* The caller begins something that may take long; and has ended it. */
	void (*begin)(struct ring_relief_thread *thread);
	void (*end)(struct ring_relief_thread *thread);
	void (*stop)(struct ring_relief_thread *thread);
};

extern const struct ring_relief ring_relief;

#endif
