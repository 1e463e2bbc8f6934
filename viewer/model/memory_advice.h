/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict on a failed request as sentences: what happened with its numbers, and what to do.
 * Shared by the report of a trace and by `gputrace explain-oom`.
 */
#ifndef GPUTRACE_MODEL_MEMORY_ADVICE_H
#define GPUTRACE_MODEL_MEMORY_ADVICE_H

#include "memory_verdict.h"
#include "text.h"

/* "1.70 GiB" by value, so that several fit into one call of printf. */
struct memory_amount {
	char text[24];
};
struct memory_amount memory_amount(uint64_t bytes);

void memory_add_summary(struct text *text, const struct memory_shortage *shortage,
			const struct memory_judgement *judgement);
void memory_add_fix(struct text *text, const struct memory_shortage *shortage,
		    const struct memory_judgement *judgement);

#endif
