/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT209: much of the compute is kernels that read and write memory and do little else, one after
 * the other. Fused, their intermediate results would stay on the chip.
 */
#include "rule.h"

#define COMPUTE_PERCENT 25.0
#define STEP_PERCENT	2.0 /* as for other kernels: what can be fused must be worth it */
/* "Already compiled": most of this time, or few large kernels. */
#define FUSED_PERCENT 50.0
/* A kernel that joins the one before spares its read of what that one wrote: one of five transfers
 * where three more operands and the result remain; and the write as well where nobody else reads
 * it: two of three where only the result remains. */
#define GAIN_LOW  0.2
#define GAIN_HIGH 0.67
#define STREAMS	  16

struct stream_state {
	uint32_t stream;
	bool is_after_one; /* the last kernel on it was memory-bound and not compiled */
};

struct neighbours {
	const struct model *model;
	struct stream_state streams[STREAMS];
	size_t stream_count;
	int64_t total_ns, fused_ns, neighbour_ns;
	uint64_t kernels, matrix_kernels;
};

static struct stream_state *state_of(struct neighbours *neighbours, uint32_t stream)
{
	size_t i = 0;

	while (i < neighbours->stream_count && neighbours->streams[i].stream != stream)
		i++;
	if (i == STREAMS)
		return NULL;
	if (i == neighbours->stream_count)
		neighbours->streams[neighbours->stream_count++] =
			(struct stream_state){stream, false};
	return &neighbours->streams[i];
}

static bool is_wanted(const struct kernel_traits *traits)
{
	return traits->kernel_class == KERNEL_MEMORY_BOUND && traits->is_fusable &&
	       !traits->is_indexing && !traits->is_fused;
}

static void add_kernel(void *context, const struct gpu_op *op)
{
	struct neighbours *neighbours = context;
	int64_t busy_ns = op->end_ns - op->begin_ns;
	struct stream_state *state;
	const struct kernel_traits *traits;
	bool is_one;

	if (op->type != GPU_OP_KERNEL)
		return;
	state = state_of(neighbours, op->stream);
	traits = &neighbours->model->kernels[op->detail].traits;
	is_one = is_wanted(traits);
	if (is_one || (traits->kernel_class == KERNEL_MEMORY_BOUND && traits->is_fused)) {
		neighbours->kernels++;
		neighbours->total_ns += busy_ns;
		if (traits->is_fused)
			neighbours->fused_ns += busy_ns;
		else if (state && state->is_after_one)
			neighbours->neighbour_ns += busy_ns;
	}
	neighbours->matrix_kernels += op->kernel_class == KERNEL_GEMM ||
				      op->kernel_class == KERNEL_CONV ||
				      op->kernel_class == KERNEL_ATTENTION;
	if (state)
		state->is_after_one = is_one;
}

static void raise(struct rule_context *context, const struct neighbours *neighbours,
		  double class_ms, double compute_percent)
{
	struct kernel_sum sum = work_sum(context->model, &context->work, is_wanted);
	struct finding *finding = rule_raise(context, sum.call);
	double neighbour_ms = rule_ms(context, neighbours->neighbour_ns);
	const char *kernel = context->model->kernels[sum.kernel].short_name;

	finding->cost_ms = class_ms;
	finding->per_step = (double)neighbours->kernels / context->steady_steps;
	finding->gain_high_ms = neighbour_ms * GAIN_HIGH;
	finding->gain_low_ms = neighbour_ms * GAIN_LOW;
	finding->draws_from = 1u << LEDGER_MEMORY_BOUND;
	finding->cuts_launches = true;
	finding_number(finding, "kernels_per_step", finding->per_step);
	finding_number(finding, "memory_bound_ms_per_step", class_ms);
	finding_number(finding, "compute_share_percent", compute_percent);
	finding_number(finding, "neighbours_ms_per_step", neighbour_ms);
	finding_text(finding, "kernel", kernel);
	finding_text(finding, "bytes", "not recorded");
	finding_summary(finding,
			"%.0f memory-bound kernels that could be fused per %s take %.2f ms, %.0f "
			"%% of the compute; "
			"%.2f ms of that directly follow another one on the same stream. Most time "
			"has %s.",
			finding->per_step, context->unit, class_ms, compute_percent, neighbour_ms,
			kernel);
	finding_fix(finding, "Let a compiler fuse them (torch.compile), or use fused forms: fused "
			     "normalisation, scaled_dot_product_attention, fused=True optimizers.");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	struct neighbours found = {.model = context->model};
	double compute_ms = 0, percent, total_ms, per_step;

	for (int part = 0; part < LEDGER_COMPUTE_PARTS; part++)
		compute_ms += ledger_part_ms(context->ledger, (enum ledger_part)part);
	work_visit_steady(context->model, context->device, add_kernel, &found);
	total_ms = rule_ms(context, found.total_ns);
	percent = compute_ms > 0 ? 100 * total_ms / compute_ms : 0;
	per_step = (double)found.kernels / context->steady_steps;
	if (percent < COMPUTE_PERCENT || rule_share(context, found.neighbour_ns) < STEP_PERCENT)
		rule_silent(context,
			    "%.0f fusable kernels per %s are %.0f %% of the compute, those that "
			    "follow another one %.1f %% of the %s (raised from %.0f and %.0f %%)",
			    per_step, context->unit, percent,
			    rule_share(context, found.neighbour_ns), context->unit, COMPUTE_PERCENT,
			    STEP_PERCENT);
	else if (!found.matrix_kernels)
		rule_silent(context,
			    "there are no products, convolutions or attention: what these "
			    "kernels compute, and whether they can be fused, is not known");
	else if ((double)found.fused_ns * 100 >= FUSED_PERCENT * (double)found.total_ns)
		rule_silent(context, "most memory-bound kernels are compiled ones already");
	else if (found.kernels <= found.matrix_kernels)
		rule_silent(context, "there are fewer memory-bound kernels than matrix kernels: "
				     "they are fused already");
	else
		raise(context, &found, total_ms, percent);
}

/* clang-format off */
const struct rule rule_unfused_kernels = {
	.name = "unfused_kernels",
	.id = "GT209",
	.title = "unfused memory-bound kernels",
	.page =
"Raised when kernels that work element by element or row by row (elementwise, normalisation,\n"
"softmax, reduction, copy-like) are at least 25 % of the compute, and those that directly follow\n"
"another one on the same stream take at least 2 % of the mean steady step. Kernels that move\n"
"data by index (gather, embedding, sort) and layout conversions (GT207) do not count: their\n"
"neighbours cannot take them over.\n"
"\n"
"Gain: 20 to 67 % of the time of those that follow another one: a fused kernel does not write\n"
"and read again what lies between them: of five transfers one (three more operands and the result\n"
"remain), of three two. The bytes are not recorded, so this is the range. Fewer kernels are also\n"
"fewer launches, so a slow host does not bound it. What a compiler takes once is not counted.\n"
"\n"
"Silent: programs without products, convolutions or attention, such as stencil codes, whose\n"
"kernels need the results of all neighbours; already compiled (most of the time in kernels of\n"
"Triton or nvFuser, or fewer memory-bound kernels than products, convolutions and attention);\n"
"kernels that stand alone between products.\n"
"Wrong when: neighbours do not depend on each other, or work on different shapes.\n",
	.run = run,
	.needs_nodes = true,
};
/* clang-format on */
