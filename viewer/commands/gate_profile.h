/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a steady step consists of, by kind of work, so that two runs can be compared and the change
 * be named: products by shape, kernels by name, copies by size, waits by call.
 */
#ifndef GPUTRACE_COMMANDS_GATE_PROFILE_H
#define GPUTRACE_COMMANDS_GATE_PROFILE_H

#include "map.h"
#include "model.h"
#include "symbols.h"

enum profile_kind { PROFILE_GEMM, PROFILE_KERNEL, PROFILE_COPY, PROFILE_SET, PROFILE_WAIT };

struct profile_entry {
	enum profile_kind kind;
	char *key;		 /* says all that must be equal; printable; owned */
	struct gemm_shape shape; /* PROFILE_GEMM */
	double per_step, ms_per_step;
};

struct profile {
	struct profile_entry *entries;
	size_t count, capacity;
	struct map index; /* hash of the key -> entry */
};

void profile_build(const struct model *model, size_t device, struct symbols *symbols,
		   struct profile *profile);
void profile_free(struct profile *profile);
const struct profile_entry *profile_find(const struct profile *profile, const char *key);

/* One difference between two profiles, as a sentence. */
struct profile_change {
	char *text;    /* owned */
	double ms;     /* change of time per step */
	double weight; /* for ranking */
};
/* The most telling ones first; at most `limit`. Gives their number. */
size_t profile_compare(const struct profile *baseline, const struct profile *current,
		       struct profile_change *changes, size_t limit);

#endif
