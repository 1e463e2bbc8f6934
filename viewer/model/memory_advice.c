/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See memory_advice.h. Only what is known is said.
 */
#include "memory_advice.h"

#include <stdio.h>

#define EXPANDABLE "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"

struct memory_amount memory_amount(uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	struct memory_amount amount;
	double value = (double)bytes;
	int unit = 0;

	while (value >= 1024 && unit < 4) {
		value /= 1024;
		unit++;
	}
	if (bytes == 1)
		snprintf(amount.text, sizeof(amount.text), "1 byte");
	else
		snprintf(amount.text, sizeof(amount.text), unit ? "%.2f %s" : "%.0f %s", value,
			 units[unit]);
	return amount;
}

static bool is_known(uint64_t bytes)
{
	return bytes != MEMORY_NOT_TOLD;
}

static void add_request(struct text *text, const struct memory_shortage *s)
{
	text_addf(text, "A request of %s failed", memory_amount(s->wanted_bytes).text);
	if (is_known(s->capacity_bytes))
		text_addf(text, " on a device of %s", memory_amount(s->capacity_bytes).text);
	if (is_known(s->device_free_bytes))
		text_addf(text, " with %s free", memory_amount(s->device_free_bytes).text);
	if (is_known(s->allocated_bytes) && is_known(s->reserved_bytes))
		text_addf(text, "; the framework had %s allocated of %s reserved",
			  memory_amount(s->allocated_bytes).text,
			  memory_amount(s->reserved_bytes).text);
	else if (is_known(s->process_bytes))
		text_addf(text, "; this process held %s", memory_amount(s->process_bytes).text);
	text_add(text, ". ");
}

static void add_fragmented(struct text *text, const struct memory_shortage *s,
			   const struct memory_judgement *j)
{
	if (!is_known(j->fragmented_bytes))
		return;
	if (!j->fragmented_bytes) {
		text_add(text, "Nothing is fragmented. ");
		return;
	}
	text_addf(text, "%s", memory_amount(j->fragmented_bytes).text);
	if (is_known(s->reserved_bytes) && s->reserved_bytes)
		text_addf(text, " (%.1f %% of what is reserved)",
			  100 * (double)j->fragmented_bytes / (double)s->reserved_bytes);
	text_add(text, " is free but fragmented: it lies beside live blocks and cannot be given "
		       "back. ");
}

static void add_compact(struct text *text, const struct memory_shortage *s,
			const struct memory_judgement *j)
{
	if (j->is_compact_enough)
		text_add(text, "expandable_segments would have let this request pass. ");
	else if (s->is_expandable && j->is_fragmented)
		text_add(text, "Expandable segments are in use already. ");
	else if (is_known(j->missing_compact_bytes) && j->missing_compact_bytes &&
		 j->fragmented_bytes)
		text_addf(text, "With all free memory in one piece %s would still be missing. ",
			  memory_amount(j->missing_compact_bytes).text);
}

static void add_others(struct text *text, const struct memory_judgement *j)
{
	bool is_told = is_known(j->other_bytes) && j->other_bytes;

	if (j->is_foreign)
		text_addf(text, "%s%s of the device is held by %s. ",
			  j->is_other_floor ? "At least " : "", memory_amount(j->other_bytes).text,
			  j->is_other_mixed
				  ? "other processes, or by this one outside of its known "
				    "allocations"
				  : "other processes");
	else if (is_told && is_known(j->missing_bytes) && !j->is_other_mixed &&
		 !j->is_other_floor && j->other_bytes >= j->missing_bytes)
		text_addf(text, "Without the %s of another process it would have passed. ",
			  memory_amount(j->other_bytes).text);
}

static void add_outside(struct text *text, const struct memory_shortage *s,
			const struct memory_judgement *j)
{
	if (!j->is_outside)
		return;
	if (is_known(j->outside_bytes) && j->outside_bytes)
		text_addf(text,
			  "This process holds %s outside of the framework (context, NCCL, cuBLAS "
			  "workspaces, modules). ",
			  memory_amount(j->outside_bytes).text);
	if (is_known(s->private_bytes) && s->private_bytes)
		text_addf(text, "%s is in private pools such as those of CUDA graphs. ",
			  memory_amount(s->private_bytes).text);
}

void memory_add_summary(struct text *text, const struct memory_shortage *shortage,
			const struct memory_judgement *judgement)
{
	add_request(text, shortage);
	add_fragmented(text, shortage, judgement);
	add_compact(text, shortage, judgement);
	add_others(text, judgement);
	add_outside(text, shortage, judgement);
	while (text->length && text->data[text->length - 1] == ' ')
		text->data[--text->length] = '\0';
}

void memory_add_fix(struct text *text, const struct memory_shortage *shortage,
		    const struct memory_judgement *judgement)
{
	switch (judgement->verdict) {
	case MEMORY_FRAGMENTED:
		if (shortage->is_expandable)
			text_add(text, "Free the blocks that keep segments apart, or ask for large "
				       "buffers once, before the small ones.");
		else
			text_add(text, "Set " EXPANDABLE
				       "; where it is not supported, max_split_size_mb:128 keeps "
				       "large blocks whole.");
		if (is_known(judgement->missing_compact_bytes) && judgement->missing_compact_bytes)
			text_addf(text, " That alone is not enough: %s more has to be freed.",
				  memory_amount(judgement->missing_compact_bytes).text);
		if (judgement->is_foreign)
			text_add(text, " See with nvidia-smi who else uses the device.");
		break;
	case MEMORY_TOO_LARGE:
		text_add(text, "Split the request: a smaller batch or sequence, chunked logits, or "
			       "the tensor spread over several GPUs. No allocator setting helps.");
		break;
	case MEMORY_OTHERS_HOLD:
		text_add(text, "See with nvidia-smi who uses the device, end it or choose another "
			       "one (CUDA_VISIBLE_DEVICES). No allocator setting helps.");
		break;
	case MEMORY_OUTSIDE:
		text_add(text, "Reduce what lies outside of the framework: fewer communicators, "
			       "CUBLAS_WORKSPACE_CONFIG, CUDA_MODULE_LOADING=LAZY, fewer or shared "
			       "CUDA-graph pools.");
		break;
	case MEMORY_FULL:
		if (judgement->is_compact_enough)
			text_add(text, "Set " EXPANDABLE
				       " for this request; then lower what is live: batch, "
				       "sequence, activation checkpointing, sharding.");
		else
			text_add(text, "Lower what is live: a smaller batch or sequence, "
				       "activation checkpointing, sharded or off-loaded states.");
		break;
	default:
		text_add(text, "Record with the device's description and the framework's memory.");
	}
}
