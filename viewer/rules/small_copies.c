/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT104: so many small copies that what each costs at least is more than what their bytes cost.
 */
#include <stdlib.h>

#include "array.h"
#include "rule.h"
#include "text.h"

#define COPIES_PER_STEP 100
#define SMALL_BYTES	(64u * 1024)
#define EXPOSED_PERCENT 2.0
/* What one copy costs however small it is, end to end (gdrcopy's README: 6 to 7 us per call). */
#define FLOOR_US 6.5

struct sizes {
	const struct model *model;
	uint64_t *bytes;
	size_t count, capacity;
	uint64_t total_bytes;
};

static void add_size(void *context, const struct gpu_op *op)
{
	struct sizes *sizes = context;
	const struct transfer *transfer;

	if (op->type != GPU_OP_COPY)
		return;
	transfer = &sizes->model->transfers[op->detail];
	if (transfer->direction != COPY_H2D && transfer->direction != COPY_D2H)
		return;
	if (sizes->count == sizes->capacity)
		sizes->bytes = array_grow(sizes->bytes, &sizes->capacity, sizeof(*sizes->bytes));
	sizes->bytes[sizes->count++] = transfer->size_bytes;
	sizes->total_bytes += transfer->size_bytes;
}

static int compare_bytes(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* The call site with the most copies. */
static uint32_t busiest_call(const struct rule_context *context)
{
	const struct copy_group *best = NULL;

	for (size_t i = 0; i < context->copies.group_count; i++) {
		if (!best || context->copies.groups[i].copies > best->copies)
			best = &context->copies.groups[i];
	}
	return best ? best->call : MODEL_NONE;
}

static void raise(struct rule_context *context, double per_step, double small_per_step,
		  double median, double exposed_ms, double mib)
{
	struct finding *finding = rule_raise(context, busiest_call(context));

	finding->cost_ms = exposed_ms;
	finding->per_step = per_step;
	finding->gain_high_ms = exposed_ms;
	/* The batched copy costs its bytes, and packing costs something too. */
	finding->gain_low_ms = exposed_ms / 4;
	finding->draws_from = 1u << LEDGER_COPY | 1u << LEDGER_IDLE_ISSUE | 1u << LEDGER_IDLE_SYNC;
	finding_number(finding, "copies_per_step", per_step);
	finding_number(finding, "small_copies_per_step", small_per_step);
	finding_number(finding, "median_copy_bytes", median);
	finding_number(finding, "floor_us_per_copy", FLOOR_US);
	finding_number(finding, "exposed_ms_per_step", exposed_ms);
	finding_summary(finding,
			"%.0f copies per %s between host and GPU, median %.0f bytes, %.2f MiB in "
			"all: at %.1f us each they cost %.2f ms (%.1f %%), whatever the link.",
			per_step, context->unit, median, mib, FLOOR_US, exposed_ms,
			rule_percent(context, exposed_ms));
	finding_fix(finding, "Pack them into one buffer and copy it once per step, or keep the "
			     "values on the GPU.");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	struct sizes sizes = {.model = context->model};
	double per_step, small_per_step, median, exposed_ms, available_ms;
	size_t small = 0;

	work_visit_steady(context->model, context->device, add_size, &sizes);
	if (sizes.count)
		qsort(sizes.bytes, sizes.count, sizeof(*sizes.bytes), compare_bytes);
	while (small < sizes.count && sizes.bytes[small] < SMALL_BYTES)
		small++;
	per_step = (double)sizes.count / context->steady_steps;
	small_per_step = (double)small / context->steady_steps;
	median = sizes.count ? (double)sizes.bytes[sizes.count / 2] : 0;
	free(sizes.bytes);
	available_ms = ledger_part_ms(context->ledger, LEDGER_COPY) +
		       ledger_part_ms(context->ledger, LEDGER_IDLE_ISSUE) +
		       ledger_part_ms(context->ledger, LEDGER_IDLE_SYNC);
	exposed_ms = small_per_step * FLOOR_US / 1e3;
	if (exposed_ms > available_ms)
		exposed_ms = available_ms;
	if (per_step < COPIES_PER_STEP)
		rule_silent(context, "%s %s per %s (raised from %d)", text_count(per_step).text,
			    text_noun(per_step, "copy", "copies"), context->unit, COPIES_PER_STEP);
	else if (median >= SMALL_BYTES)
		rule_silent(context, "the median copy has %.0f KiB", median / 1024);
	else if (rule_percent(context, exposed_ms) < EXPOSED_PERCENT)
		rule_silent(context,
			    "%.0f copies per %s cost %.1f %% of it at %.1f us each (raised from "
			    "%.0f %%)",
			    per_step, context->unit, rule_percent(context, exposed_ms), FLOOR_US,
			    EXPOSED_PERCENT);
	else
		raise(context, per_step, small_per_step, median, exposed_ms,
		      (double)sizes.total_bytes / context->steady_steps / 1048576);
}

/* clang-format off */
const struct rule rule_small_copies = {
	.name = "small_copies",
	.id = "GT104",
	.title = "many small copies",
	.page =
"Raised when a mean steady step makes at least 100 copies between host and GPU whose median is\n"
"below 64 KiB, and the least that such copies cost is at least 2 % of the step. That least is\n"
"6.5 us per copy end to end, whatever the size (published: 6 to 7 us).\n"
"\n"
"Cost: the small copies times 6.5 us, but no more than the step's exposed copies, launch-bound\n"
"idle time and waits together: copies that hide under compute cost nothing.\n"
"Gain: from a quarter of that up to all of it.\n"
"Silent: few copies, or large ones. Copies within a GPU are not counted.\n"
"Wrong when: the values are needed one by one, each before the next can be computed.\n",
	.run = run,
};
/* clang-format on */
