/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a request for device memory failed, from the numbers at that moment. Pure arithmetic: the
 * numbers come from a trace or from the words of an error message, whichever are known.
 */
#ifndef GPUTRACE_MODEL_MEMORY_VERDICT_H
#define GPUTRACE_MODEL_MEMORY_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_NOT_TOLD	     UINT64_MAX
#define MEMORY_SHARE_PERCENT 10 /* of the capacity: from here on a part matters */

/* Each may be MEMORY_NOT_TOLD. */
struct memory_shortage {
	uint64_t wanted_bytes;
	uint64_t capacity_bytes; /* of the card, or what the process may use of it */
	uint64_t device_free_bytes;
	uint64_t allocated_bytes, reserved_bytes; /* of the framework */
	uint64_t fragmented_bytes; /* NOT_TOLD: what is reserved but not allocated stands for it */
	uint64_t process_bytes;	   /* all that this process holds on the device */
	uint64_t other_bytes;	   /* what other processes hold, as far as told */
	uint64_t private_bytes;	   /* in private pools, of the allocated */
	bool is_expandable;	   /* expandable segments are on already */
};

enum memory_verdict {
	MEMORY_NOT_JUDGED = 0,
	MEMORY_FRAGMENTED,  /* GT401 */
	MEMORY_TOO_LARGE,   /* GT402 */
	MEMORY_OTHERS_HOLD, /* GT403 */
	MEMORY_FULL,	    /* GT404 */
	MEMORY_OUTSIDE	    /* GT405 */
};

struct memory_judgement {
	enum memory_verdict verdict;
	const char *reason; /* of MEMORY_NOT_JUDGED; a literal */
	/* Every condition that holds, the verdict's among them. */
	bool is_fragmented, is_too_large, is_foreign, is_outside;
	uint64_t fragmented_bytes;
	uint64_t missing_bytes; /* asked for beyond what was free */
	uint64_t other_bytes;	/* others hold so much */
	bool is_other_floor;	/* at least */
	bool is_other_mixed;	/* what this process holds outside of the framework is in it */
	uint64_t outside_bytes; /* this process, outside of the framework */
	/* With all free bytes in one piece: passes, or so much is still missing (NOT_TOLD: free
	 * memory is not known). */
	bool is_compact_enough;
	uint64_t missing_compact_bytes;
};

struct memory_shortage memory_shortage_unknown(void); /* nothing known */
void memory_judge(const struct memory_shortage *shortage, struct memory_judgement *out);
const char *memory_verdict_id(enum memory_verdict verdict);   /* "GT401" */
const char *memory_verdict_name(enum memory_verdict verdict); /* "fragmentation" */

#endif
