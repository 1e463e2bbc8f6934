/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT506: after warm-up the GPU waits while code is loaded or compiled: a module is loaded, or a
 * kernel runs that never ran before.
 */
#include <stdlib.h>
#include <string.h>

#include "gap_walk.h"
#include "rule.h"
#include "xmalloc.h"

#define COST_PERCENT 1.0
/* Shorter gaps are launches; the first launch of a loaded kernel costs about as much as others. */
#define LEAST_GAP_NS 1000000

struct load_search {
	const struct rule_context *context;
	bool *loads;	    /* by api */
	uint32_t *first_op; /* by kernel: index of ops, MODEL_NONE */
	int64_t all_ns, steady_ns, longest_ns;
	size_t gaps, with_load, last_step, steps;
	uint32_t call, load_call, op;
};

static bool is_load(const char *api)
{
	return strstr(api, "ModuleLoad") || strstr(api, "LibraryLoad") ||
	       strstr(api, "LinkComplete");
}

/* A load that the launching thread made in the gap. */
static uint32_t load_in_gap(const struct load_search *search, const struct idle_gap *gap,
			    uint32_t launch)
{
	const struct model *model = search->context->model;
	uint32_t root = model_call_root(model, launch);
	size_t first = model->threads[model->calls[root].thread].first_call;

	/* Loads inside the launching call come after it in the order of begins. */
	for (uint32_t at = root + 1;
	     at < model->call_count && model->calls[at].parent != MODEL_NONE; at++) {
		if (search->loads[model->calls[at].api])
			return at;
	}
	for (uint32_t at = root; at-- > first;) {
		const struct host_call *call = &model->calls[at];

		if (call->parent == MODEL_NONE && call->end_ns < gap->begin_ns)
			break;
		if (search->loads[call->api])
			return at;
	}
	return MODEL_NONE;
}

static void see_gap(void *context, const struct idle_gap *gap)
{
	struct load_search *search = context;
	const struct model *model = search->context->model;
	const struct gpu_op *op = &model->ops[gap->op];
	int64_t length_ns = gap->end_ns - gap->begin_ns;
	bool is_first;
	uint32_t load;

	if (gap->step == SIZE_MAX || length_ns < LEAST_GAP_NS || op->call == MODEL_NONE ||
	    (gap->part != LEDGER_IDLE_HOST_AWAY && gap->part != LEDGER_IDLE_ISSUE) ||
	    (model->steps.items[gap->step].kind != STEP_STEADY &&
	     model->steps.items[gap->step].kind != STEP_OUTLIER))
		return;
	is_first = op->type == GPU_OP_KERNEL && search->first_op[op->detail] == gap->op;
	load = load_in_gap(search, gap, op->call);
	if (!is_first && load == MODEL_NONE)
		return;
	search->gaps++;
	search->with_load += load != MODEL_NONE;
	search->all_ns += length_ns;
	if (search->last_step != gap->step)
		search->steps++;
	search->last_step = gap->step;
	if (model->steps.items[gap->step].kind == STEP_STEADY)
		search->steady_ns += length_ns;
	if (length_ns <= search->longest_ns)
		return;
	search->longest_ns = length_ns;
	search->call = op->call;
	search->load_call = load;
	search->op = (uint32_t)gap->op;
}

static void search_gaps(struct load_search *search)
{
	const struct model *model = search->context->model;
	const struct model_device *device = &model->devices[search->context->device];

	search->loads = xcalloc(model->api_count, sizeof(*search->loads));
	search->first_op = xmalloc((model->kernel_count + 1) * sizeof(*search->first_op));
	for (size_t i = 0; i < model->api_count; i++)
		search->loads[i] = is_load(model->apis[i]);
	for (size_t i = 0; i < model->kernel_count; i++)
		search->first_op[i] = MODEL_NONE;
	for (size_t i = device->first_op + device->op_count; i-- > device->first_op;) {
		if (model->ops[i].type == GPU_OP_KERNEL)
			search->first_op[model->ops[i].detail] = (uint32_t)i;
	}
	gap_walk(model, search->context->device, see_gap, search);
	free(search->loads);
	free(search->first_op);
}

static void raise(struct rule_context *context, const struct load_search *search, double percent)
{
	const struct model *model = context->model;
	const struct gpu_op *op = &model->ops[search->op];
	struct finding *finding = rule_raise(context, search->call);
	double longest_ms = (double)search->longest_ns / 1e6;

	finding->cost_ms = (double)search->all_ns / 1e6 / (double)context->stalls.judged_steps;
	finding->per_step = (double)search->gaps / (double)context->stalls.judged_steps;
	finding->draws_from = 1u << LEDGER_IDLE_HOST_AWAY | 1u << LEDGER_IDLE_ISSUE;
	finding->gain_high_ms = rule_ms(context, search->steady_ns);
	finding->gain_low_ms = finding->gain_high_ms / 2;
	finding_number(finding, "gaps", (double)search->gaps);
	finding_number(finding, "gaps_with_module_load", (double)search->with_load);
	finding_number(finding, "steps_hit", (double)search->steps);
	finding_number(finding, "longest_gap_ms", longest_ms);
	finding_number(finding, "share_of_run_percent", percent);
	if (op->type == GPU_OP_KERNEL)
		finding_text(finding, "first_kernel", model->kernels[op->detail].short_name);
	if (search->load_call != MODEL_NONE) {
		const struct host_call *load = &model->calls[search->load_call];
		const char *api = model_api_name(model, search->load_call);

		finding_text(finding, "load", api);
		finding_number(finding, "load_ms", (double)(load->end_ns - load->begin_ns) / 1e6);
		/* The linker is only asked for what is compiled or linked at run time. */
		finding_text(finding, "compiled_at_run_time",
			     strstr(api, "Link") ? "yes"
						 : "not judged: the recording does not tell PTX "
						   "from machine code");
	}
	finding_summary(finding,
			"After warm-up the GPU waited %zu times (in %zu steps, %.1f %% of their "
			"time) while code was loaded or compiled: %zu gaps hold a module load, the "
			"others end with a kernel that ran for the first time. The longest took "
			"%.1f ms.",
			search->gaps, search->steps, percent, search->with_load, longest_ms);
	finding_fix(finding,
		    "Run every shape once before the loop; with torch.compile or Triton, mark "
		    "sizes that change as dynamic or pad them to a few. If loads are long, the "
		    "binary may lack machine code for this GPU and be compiled from PTX: gputrace "
		    "doctor --binary FILE tells; build it for the GPU's compute capability then.");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	struct load_search search = {.context = context,
				     .last_step = SIZE_MAX,
				     .call = MODEL_NONE,
				     .load_call = MODEL_NONE};
	double percent;

	if (!context->stalls.judged_steps) {
		rule_not_judged(context, "there are no steps, so nothing says where warm-up ends");
		return;
	}
	if (!context->host.has_thread) {
		rule_not_judged(context, "the calls of this device's thread are not in the file");
		return;
	}
	search_gaps(&search);
	percent = 100.0 * (double)search.all_ns / (double)context->stalls.judged_ns;
	/* One new kernel, once, may follow a gap by chance; a load never does. */
	if (percent >= COST_PERCENT && (search.with_load || search.steps > 1))
		raise(context, &search, percent);
	else
		rule_silent(
			context,
			"after warm-up %zu gaps end with a module load or a new kernel, %.2f %% "
			"of the time (raised from %.0f %%)",
			search.gaps, percent, COST_PERCENT);
}

/* clang-format off */
const struct rule rule_steady_state_load = {
	.name = "steady_state_load",
	.id = "GT506",
	.title = "code loaded or compiled in steady state",
	.page =
"Looks at gaps of at least 1 ms in the steps after warm-up that are charged to the host (away, or\n"
"inside CUDA calls). Counted are those in which the launching thread loaded a module\n"
"(cuModuleLoad..., cuLibraryLoad..., cuLinkComplete), and those that end with a kernel that had\n"
"never run on the device before. Raised when they take at least 1 % of the time of these steps\n"
"and hold a load, or happen in more than one step.\n"
"\n"
"Cost: the gaps, spread over all steps after warm-up. Gain: what of them lies in steady steps, at\n"
"least half of it; steps that the load made outliers are not in the mean step.\n"
"Silent: loads in warm-up, and a single new kernel after a gap, which may be chance.\n"
"Not judged: no steps, or no launch of the device in the file. Whether a load compiled PTX is not\n"
"judged either, unless the linker (cuLinkComplete) was called: a recording has the call and its\n"
"length, not what was in the module. gputrace doctor --binary says for which GPUs a file has code.\n"
"Wrong when: a new phase (validation) begins with kernels of its own after the host was away.\n",
	.run = run,
};
/* clang-format on */
