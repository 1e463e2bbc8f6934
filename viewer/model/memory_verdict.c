/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the verdicts: a request beyond the card first, then fragmentation, since its cure is
 * a setting, then who else holds the memory, then full.
 */
#include "memory_verdict.h"

#include <stddef.h>
#include <string.h>

static bool is_known(uint64_t bytes)
{
	return bytes != MEMORY_NOT_TOLD;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static bool is_share(uint64_t bytes, const struct memory_shortage *s)
{
	return is_known(bytes) && is_known(s->capacity_bytes) &&
	       (double)bytes > (double)s->capacity_bytes * MEMORY_SHARE_PERCENT / 100;
}

struct memory_shortage memory_shortage_unknown(void)
{
	struct memory_shortage shortage;

	memset(&shortage, 0xff, sizeof(shortage));
	shortage.is_expandable = false;
	return shortage;
}

static void judge_parts(const struct memory_shortage *s, struct memory_judgement *out)
{
	uint64_t own = is_known(s->process_bytes)    ? s->process_bytes
		       : is_known(s->reserved_bytes) ? s->reserved_bytes
						     : MEMORY_NOT_TOLD;

	out->fragmented_bytes = s->fragmented_bytes;
	if (!is_known(out->fragmented_bytes) && is_known(s->reserved_bytes) &&
	    is_known(s->allocated_bytes))
		out->fragmented_bytes = minus(s->reserved_bytes, s->allocated_bytes);
	out->missing_bytes = is_known(s->device_free_bytes)
				     ? minus(s->wanted_bytes, s->device_free_bytes)
				     : MEMORY_NOT_TOLD;
	out->outside_bytes = is_known(s->process_bytes) && is_known(s->reserved_bytes)
				     ? minus(s->process_bytes, s->reserved_bytes)
				     : MEMORY_NOT_TOLD;
	out->other_bytes = s->other_bytes;
	if (is_known(s->other_bytes) || !is_known(s->capacity_bytes) || !is_known(own))
		return;
	out->is_other_mixed = !is_known(s->process_bytes);
	if (is_known(s->device_free_bytes)) {
		out->other_bytes = minus(s->capacity_bytes, s->device_free_bytes);
	} else {
		/* Less was free than was asked for, or it would not have failed. */
		out->other_bytes = minus(s->capacity_bytes, s->wanted_bytes);
		out->is_other_floor = true;
	}
	out->other_bytes = minus(out->other_bytes, own);
}

static void judge_conditions(const struct memory_shortage *s, struct memory_judgement *out)
{
	bool has_framework = is_known(out->fragmented_bytes);
	bool others_explain;

	out->is_foreign = is_share(out->other_bytes, s);
	others_explain = out->is_foreign &&
			 (!is_known(out->missing_bytes) || out->other_bytes >= out->missing_bytes);
	out->is_too_large = is_known(s->capacity_bytes) && s->wanted_bytes > s->capacity_bytes;
	if (is_known(s->device_free_bytes) && is_known(s->reserved_bytes) && !out->is_foreign &&
	    s->wanted_bytes > s->device_free_bytes &&
	    s->wanted_bytes - s->device_free_bytes > s->reserved_bytes)
		out->is_too_large = true;
	out->is_fragmented = has_framework && out->fragmented_bytes &&
			     (out->fragmented_bytes >= s->wanted_bytes ||
			      (is_share(out->fragmented_bytes, s) && !others_explain));
	out->is_outside = is_share(out->outside_bytes, s) || is_share(s->private_bytes, s);
	out->missing_compact_bytes = MEMORY_NOT_TOLD;
	if (!has_framework)
		return;
	if (is_known(out->missing_bytes))
		out->missing_compact_bytes = minus(out->missing_bytes, out->fragmented_bytes);
	/* Without a word on what was free, fragmented memory alone must do. */
	else if (out->fragmented_bytes >= s->wanted_bytes)
		out->missing_compact_bytes = 0;
	out->is_compact_enough =
		out->missing_compact_bytes == 0 && out->fragmented_bytes > 0 && !s->is_expandable;
}

void memory_judge(const struct memory_shortage *s, struct memory_judgement *out)
{
	memset(out, 0, sizeof(*out));
	if (!is_known(s->wanted_bytes)) {
		out->reason = "how much was asked for is not known";
		return;
	}
	judge_parts(s, out);
	judge_conditions(s, out);
	if (out->is_too_large && is_known(s->capacity_bytes) && s->wanted_bytes > s->capacity_bytes)
		out->verdict = MEMORY_TOO_LARGE;
	else if (out->is_fragmented)
		out->verdict = MEMORY_FRAGMENTED;
	else if (out->is_too_large)
		out->verdict = MEMORY_TOO_LARGE;
	else if (out->is_foreign)
		out->verdict = MEMORY_OTHERS_HOLD;
	else if (out->is_outside)
		out->verdict = MEMORY_OUTSIDE;
	else if (is_known(s->capacity_bytes))
		out->verdict = MEMORY_FULL;
	else
		out->reason = "the device's total memory is not known";
}

const char *memory_verdict_id(enum memory_verdict verdict)
{
	static const char *const ids[] = {"", "GT401", "GT402", "GT403", "GT404", "GT405"};

	return ids[verdict];
}

const char *memory_verdict_name(enum memory_verdict verdict)
{
	static const char *const names[] = {
		"not judged",
		"fragmentation",
		"request larger than the card or than all that could be freed",
		"other processes hold the memory",
		"really full",
		"memory outside the framework",
	};

	return names[verdict];
}
