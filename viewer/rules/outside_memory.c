/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT405: device memory that the framework's allocator knows nothing of, split by who asked for it:
 * communication, product libraries, the program itself.
 */
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "memory_advice.h"
#include "memory_owner.h"
#include "memory_series.h"
#include "rule.h"
#include "text.h"
#include "xmalloc.h"

#define TOP 4

struct asker {
	const char *api; /* whose library asked, or the outermost call around the allocation */
	uint64_t bytes, allocations;
};

struct askers {
	struct asker items[32]; /* further ones count as the last */
	size_t count;
};

static void add_asker(struct askers *askers, const char *api, uint64_t bytes)
{
	const size_t limit = sizeof(askers->items) / sizeof(askers->items[0]);
	size_t at = 0;

	while (at < askers->count && strcmp(askers->items[at].api, api) != 0)
		at++;
	if (at == limit)
		at = limit - 1;
	else if (at == askers->count)
		askers->items[askers->count++] = (struct asker){.api = api};
	askers->items[at].bytes += bytes;
	askers->items[at].allocations++;
}

static int compare_askers(const void *left, const void *right)
{
	const struct asker *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return strcmp(a->api, b->api);
}

static int compare_addresses(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Where the framework ever had a block, the memory is its own. */
static bool holds_block(const uint64_t *blocks, size_t count, const struct live_change *event)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (blocks[middle] < event->address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && blocks[low] - event->address < event->size_bytes;
}

/* The owner that the stack tells, or the outermost call. */
static const char *asker_of(const struct model *model, const struct live_change *change)
{
	uint32_t call = model->memory_events[change->origin].call;
	const struct memory_owner *owner = memory_owner_of(model, change);

	return owner ? owner->name : model_api_name(model, model_call_root(model, call));
}

static void find_askers(const struct rule_context *context, int64_t until_ns, struct askers *askers)
{
	const struct model *model = context->model;
	uint64_t *blocks = xcalloc(model->block_count + 1, sizeof(*blocks));
	size_t block_count = 0;
	struct map live;

	map_init(&live);
	for (size_t i = 0; i < model->block_count; i++) {
		const struct block_event *block = &model->blocks[i];

		if (block->device == context->device && block->op == BLOCK_ALLOC && block->address)
			blocks[block_count++] = block->address;
	}
	qsort(blocks, block_count, sizeof(*blocks), compare_addresses);
	for (size_t i = 0; i < model->live_change_count; i++) {
		const struct live_change *change = &model->live_changes[i];

		if (change->time_ns > until_ns)
			break;
		/* Physical memory counts where it is mapped. */
		if (change->device != context->device ||
		    !(live_kind_is_addressed((enum live_kind)change->kind) ||
		      change->kind == LIVE_ARRAY))
			continue;
		if (change->is_added)
			*map_slot(&live, change->address, NULL) = i;
		else
			map_remove(&live, change->address, NULL);
	}
	for (size_t i = 0; i < live.capacity; i++) {
		const struct live_change *change;

		if (!live.entries[i].is_used)
			continue;
		change = &model->live_changes[live.entries[i].value];
		if (!holds_block(blocks, block_count, change))
			add_asker(askers, asker_of(model, change), change->size_bytes);
	}
	if (askers->count)
		qsort(askers->items, askers->count, sizeof(askers->items[0]), compare_askers);
	map_fini(&live);
	free(blocks);
}

static void raise(struct rule_context *context, uint64_t outside_bytes, uint64_t private_bytes,
		  const struct askers *askers)
{
	static const char *const keys[TOP] = {"asker_1", "asker_2", "asker_3", "asker_4"};
	struct finding *finding = rule_raise(context, MODEL_NONE);
	struct text text;

	finding_number(finding, "outside_framework_bytes", (double)outside_bytes);
	finding_number(finding, "private_pool_bytes", (double)private_bytes);
	finding_number(finding, "capacity_bytes", (double)context->memory.capacity_bytes);
	text_init(&text);
	text_addf(&text, "%s of the device (%.1f %%) lies outside of the framework's allocator",
		  memory_amount(outside_bytes).text,
		  100 * (double)outside_bytes / (double)context->memory.capacity_bytes);
	for (size_t i = 0; i < askers->count && i < TOP; i++) {
		char *line = text_format("%s: %s in %llu allocations", askers->items[i].api,
					 memory_amount(askers->items[i].bytes).text,
					 (unsigned long long)askers->items[i].allocations);

		finding_text(finding, keys[i], line);
		text_addf(&text, "%s%s", i ? ", " : ", asked for by ", line);
		free(line);
	}
	if (private_bytes)
		text_addf(&text, "; %s is in private pools such as those of CUDA graphs",
			  memory_amount(private_bytes).text);
	finding_summary(finding, "%s.", text_string(&text));
	text_clear(&text);
	memory_add_fix(&text, &context->memory.shortage,
		       &(struct memory_judgement){.verdict = MEMORY_OUTSIDE});
	finding_fix(finding, "%s", text_string(&text));
	text_fini(&text);
}

static void run(struct rule_context *context)
{
	const struct memory_survey *memory = &context->memory;
	uint64_t private_bytes = memory->map.pools[POOL_PRIVATE].reserved_bytes;
	uint64_t outside_bytes = 0;
	struct askers askers = {.count = 0};
	int64_t until_ns = INT64_MAX;

	if (memory->failures.lasting && memory->judgement.verdict == MEMORY_OUTSIDE) {
		memory_raise_verdict(context, MEMORY_OUTSIDE);
		return;
	}
	if (!memory->has_framework && memory->map.source == MEMORY_MAP_NONE) {
		rule_not_judged(context, "no framework's allocator is in the file, so there is no "
					 "inside and outside");
		return;
	}
	if (memory->capacity_bytes == MEMORY_NOT_TOLD) {
		rule_not_judged(context, "the device's total memory is not in the file");
		return;
	}
	if (memory->failures.lasting)
		until_ns = memory->failures.last.time_ns;
	find_askers(context, until_ns, &askers);
	for (size_t i = 0; i < askers.count; i++)
		outside_bytes += askers.items[i].bytes;
	if ((double)(outside_bytes > private_bytes ? outside_bytes : private_bytes) * 100 >
	    (double)memory->capacity_bytes * MEMORY_SHARE_PERCENT)
		raise(context, outside_bytes, private_bytes, &askers);
	else
		rule_silent(context,
			    "%s in the driver's allocations outside of the framework, %s in "
			    "private pools (raised from %d %% of the device)",
			    memory_amount(outside_bytes).text, memory_amount(private_bytes).text,
			    MEMORY_SHARE_PERCENT);
}

/* clang-format off */
const struct rule rule_outside_memory = {
	.name = "outside_memory",
	.id = "GT405",
	.title = "memory outside the framework",
	.is_about_memory = true,
	.page =
"Raised when more than 10 % of the device is held by this process outside of the framework's\n"
"allocator, or in private pools such as those of CUDA graphs; as a verdict when a request failed\n"
"and nothing else explains it.\n"
"\n"
"Evidence: the driver's live allocations in which no block of the framework ever lay, split by\n"
"the library that asked for them, where the stack tells (RMM, CuPy, NCCL, cuBLAS, ...), else by the\n"
"outermost call around them (cublasCreate, ncclCommInitRank, or the allocation itself).\n"
"The context, modules and local memory (300 to 600 MB per process) are in no call and not in\n"
"these numbers. A finding without a failed request has no cost in time: info.\n"
"Not judged: no framework's memory or no total of the device in the file.\n"
"Wrong when: a second framework in the process is meant to have a pool of its own.\n",
	.run = run,
};
/* clang-format on */
