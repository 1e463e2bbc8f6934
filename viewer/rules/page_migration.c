/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT107: pages of managed memory that travel. CUPTI and nsys report a migration as a copy between
 * managed and managed memory that no copy call asked for; programs recorded without such records
 * are told from programs that have no managed memory.
 */
#include <string.h>

#include "rule.h"
#include "text.h"

#define MIGRATION_PERCENT 2.0
/* From this share of the bytes going back as well, pages travel both ways in every step. */
#define THRASHING_SHARE 0.25

struct migration {
	uint64_t bytes[2], count[2]; /* [0] to the GPU, [1] back; steady steps */
	int64_t busy_ns;
	uint64_t in_run; /* migrations in the whole run */
};

static bool is_migration(const struct model *model, const struct gpu_op *op)
{
	const struct transfer *transfer;

	if (op->type != GPU_OP_COPY)
		return false;
	transfer = &model->transfers[op->detail];
	if (transfer->source_kind != MEMORY_MANAGED || transfer->destination_kind != MEMORY_MANAGED)
		return false;
	/* A copy or a prefetch that the program asked for is none. */
	return op->call == MODEL_NONE ||
	       (model->calls[op->call].kind != RECORD_KIND_copy &&
		!strstr(model->apis[model->calls[op->call].api], "Prefetch"));
}

struct migration_search {
	const struct model *model;
	struct migration *found;
};

static void see_op(void *context, const struct gpu_op *op)
{
	struct migration_search *search = context;
	struct migration *found = search->found;
	const struct transfer *transfer;
	int back;

	if (!is_migration(search->model, op))
		return;
	transfer = &search->model->transfers[op->detail];
	back = transfer->direction == COPY_D2H;
	found->bytes[back] += transfer->size_bytes;
	found->count[back]++;
	found->busy_ns += op->end_ns - op->begin_ns;
}

static void raise(struct rule_context *context, const struct migration *found, double busy_ms)
{
	struct finding *finding = rule_raise(context, MODEL_NONE);
	double to_gpu = (double)found->bytes[0] / context->steady_steps;
	double back = (double)found->bytes[1] / context->steady_steps;
	double less = to_gpu < back ? to_gpu : back, more = to_gpu < back ? back : to_gpu;
	bool is_thrashing = less >= THRASHING_SHARE * more;

	finding->cost_ms = busy_ms;
	finding->per_step = (double)(found->count[0] + found->count[1]) / context->steady_steps;
	finding->draws_from = 1u << LEDGER_COPY;
	finding->gain_high_ms = ledger_part_ms(context->ledger, LEDGER_COPY);
	if (finding->gain_high_ms > busy_ms)
		finding->gain_high_ms = busy_ms;
	finding_number(finding, "migrations_per_step", finding->per_step);
	finding_number(finding, "to_gpu_bytes_per_step", to_gpu);
	finding_number(finding, "back_bytes_per_step", back);
	finding_number(finding, "migration_ms_per_step", busy_ms);
	finding_text(finding, "thrashing", is_thrashing ? "yes" : "no");
	finding_summary(finding,
			"Pages of managed memory migrate %s %s per %s (%.2f MiB to the GPU, "
			"%.2f MiB back), %.2f ms of it (%.1f %%)%s. Kernels that touch them wait; "
			"page faults themselves are not in the recording.",
			text_count(finding->per_step).text,
			text_noun(finding->per_step, "time", "times"), context->unit,
			to_gpu / 1048576, back / 1048576, busy_ms, rule_percent(context, busy_ms),
			is_thrashing ? ": they travel both ways, so host and GPU take turns" : "");
	finding_fix(finding,
		    "Call cudaMemPrefetchAsync before the step, or cudaMemAdvise with a preferred "
		    "location or read-mostly; where host and GPU do not share the data, use plain "
		    "device memory.");
	rule_settle(context, finding);
}

static size_t count_managed(const struct model *model)
{
	size_t managed = 0;

	for (size_t i = 0; i < model->memory_event_count; i++)
		managed += model->memory_events[i].op == MEMORY_ALLOC &&
			   model->memory_events[i].kind == MEMORY_MANAGED;
	return managed;
}

/* Counters of managed memory were on, so that no migration means that there was none. */
static bool was_watched(const struct model *model)
{
	const char *told = model->source.info(model->source.context, "gpu_times.managed");

	return told && strcmp(told, "migrations of managed memory are recorded") == 0;
}

static void run(struct rule_context *context)
{
	const struct model *model = context->model;
	const struct model_device *device = &model->devices[context->device];
	struct migration found = {0};
	struct migration_search search = {model, &found};
	size_t managed = count_managed(model);
	double busy_ms;

	for (size_t i = 0; i < device->op_count; i++)
		found.in_run += is_migration(model, &model->ops[device->first_op + i]);
	work_visit_steady(model, context->device, see_op, &search);
	busy_ms = rule_ms(context, found.busy_ns);
	if (rule_percent(context, busy_ms) >= MIGRATION_PERCENT)
		raise(context, &found, busy_ms);
	else if (found.in_run)
		rule_silent(context,
			    "%llu page migrations, %.2f %% of the %s (raised from %.0f %%)",
			    (unsigned long long)found.in_run, rule_percent(context, busy_ms),
			    context->unit, MIGRATION_PERCENT);
	else if (managed && was_watched(model))
		rule_silent(context,
			    "no page of the %zu allocations of managed memory migrated unasked",
			    managed);
	else if (managed)
		rule_not_judged(context,
				"%zu allocations of managed memory, but page faults and migrations "
				"were not recorded (GPUTRACE_MANAGED=on)",
				managed);
	else if (model->memory_event_count)
		rule_silent(context, "no managed memory was allocated");
	else
		rule_not_judged(context, "neither allocations nor page migrations were recorded");
}

/* clang-format off */
const struct rule rule_page_migration = {
	.name = "page_migration",
	.id = "GT107",
	.title = "unified-memory migration",
	.page =
"Raised when migrations of managed memory take at least 2 % of the mean steady step. A migration\n"
"is a copy between managed and managed memory that no copy call and no prefetch asked for, as\n"
"nsys exports have them (import them with unified-memory tracing on). gputrace's own shim asks\n"
"CUPTI for them with GPUTRACE_MANAGED=on only, since that slows every fault.\n"
"\n"
"Evidence: migrations, bytes each way, and whether pages travel both ways (thrashing: at least a\n"
"quarter of the bytes go back). Faults are not counted; kernels that wait for pages are longer by\n"
"an unknown time, so the cost is a lower bound.\n"
"Gain: up to the migrations that nothing hid.\n"
"Silent: migrations below the limit; no managed memory was allocated.\n"
"Not judged: managed memory was allocated and no migration is in the file, or allocations were\n"
"not recorded.\n"
"Wrong when: the program moves data on purpose by touching it once: a first touch is a\n"
"migration too.\n",
	.run = run,
};
/* clang-format on */
