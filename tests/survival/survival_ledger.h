/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job of the survival suite says about itself in a file that it maps: how many calls each
 * thread has made, and how many at which moment. The kernel keeps such a page whatever kills the
 * job. survival_ledger.py reads the same layout; keep the two alike.
 */
#ifndef GPUTRACE_SURVIVAL_LEDGER_H
#define GPUTRACE_SURVIVAL_LEDGER_H

#include <stdatomic.h>
#include <stdint.h>

#define LEDGER_MAGIC   0x7265676465767273ull
#define LEDGER_THREADS 1024u
#define LEDGER_MOMENTS 512u
#define MOMENT_NS      1000000u

/* The count at a time of CLOCK_MONOTONIC; the last ones of a thread, in a circle. */
struct ledger_moment {
	uint64_t when_ns;
	uint64_t calls;
};

struct ledger_thread {
	_Atomic uint64_t calls;	  /* that have returned */
	_Atomic uint64_t moments; /* written so far */
	_Atomic uint64_t longest_ns;
	_Atomic uint64_t buffer; /* address of its memory on the GPU */
	struct ledger_moment moment[LEDGER_MOMENTS];
};

struct ledger {
	uint64_t magic;
	_Atomic uint64_t total_calls; /* of short threads, which have no place of their own */
	_Atomic uint64_t process_id;  /* 0 before the first call has returned */
	_Atomic uint64_t failed_ns;   /* when the allocation that fails on purpose had returned */
	struct ledger_thread thread[LEDGER_THREADS];
};

#endif
