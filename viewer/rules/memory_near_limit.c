/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT408: the peak of live memory is close to what the device has; the next longer sequence fails.
 */
#include "memory_advice.h"
#include "rule.h"

#define LIMIT_PERCENT 95
/* One allocation that is half of the device is a preallocated pool: full by intention. */
#define POOL_PERCENT 50

static uint64_t largest_allocation(const struct model *model, size_t device)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < model->memory_event_count; i++) {
		const struct memory_event *event = &model->memory_events[i];

		if (event->op == MEMORY_ALLOC && event->device == device &&
		    event->size_bytes > largest && event->kind != MEMORY_RESERVED &&
		    event->kind != MEMORY_IMPORTED && !model->calls[event->call].status)
			largest = event->size_bytes;
	}
	for (size_t i = 0; i < model->block_count; i++) {
		const struct block_event *block = &model->blocks[i];

		if (block->device == device && block->size_bytes > largest &&
		    (block->op == BLOCK_ALLOC || block->op == BLOCK_HELD_LIVE))
			largest = block->size_bytes;
	}
	return largest;
}

static void run(struct rule_context *context)
{
	const struct model_device *device = &context->model->devices[context->device];
	uint64_t capacity = context->memory.capacity_bytes;
	uint64_t peak = context->memory.has_framework ? device->framework.peak_allocated_bytes
						      : device->memory.peak_bytes;
	uint64_t largest;
	struct finding *finding;

	if (capacity == MEMORY_NOT_TOLD) {
		rule_not_judged(context, "the device's total memory is not in the file");
		return;
	}
	if (!peak) {
		rule_not_judged(context, "no allocations are in the file");
		return;
	}
	largest = largest_allocation(context->model, context->device);
	if ((double)peak * 100 < (double)capacity * LIMIT_PERCENT) {
		rule_silent(context, "at most %s of %s was allocated (%.1f %%, raised from %d %%)",
			    memory_amount(peak).text, memory_amount(capacity).text,
			    100 * (double)peak / (double)capacity, LIMIT_PERCENT);
		return;
	}
	if ((double)largest * 100 >= (double)capacity * POOL_PERCENT) {
		rule_silent(context,
			    "one allocation holds %s of %s: a preallocated pool, full by intention",
			    memory_amount(largest).text, memory_amount(capacity).text);
		return;
	}
	finding = rule_raise(context, MODEL_NONE);
	finding_number(finding, "peak_allocated_bytes", (double)peak);
	finding_number(finding, "capacity_bytes", (double)capacity);
	finding_number(finding, "peak_percent", 100 * (double)peak / (double)capacity);
	finding_summary(finding,
			"At most %s of the device's %s was allocated (%.1f %%): live data, not "
			"cache. A slightly larger batch or sequence runs out of memory.",
			memory_amount(peak).text, memory_amount(capacity).text,
			100 * (double)peak / (double)capacity);
	finding_fix(finding,
		    "Keep some room: a smaller batch, activation checkpointing, or sharded "
		    "states.");
}

/* clang-format off */
const struct rule rule_memory_near_limit = {
	.name = "memory_near_limit",
	.id = "GT408",
	.title = "memory is near the limit",
	.is_about_memory = true,
	.page =
"Raised when the peak of allocated memory is at least 95 % of the device: of the framework's\n"
"blocks where they are in the file, else of the driver's allocations. What is only reserved, a\n"
"cache, does not count.\n"
"\n"
"No cost in time: info.\n"
"Silent: one allocation of at least half of the device, as preallocating frameworks (JAX) and\n"
"servers (vLLM) make it.\n"
"Not judged: the device's total memory or all allocations are missing.\n"
"Wrong when: the peak belongs to a phase that comes once, such as loading a checkpoint.\n",
	.run = run,
};
/* clang-format on */
