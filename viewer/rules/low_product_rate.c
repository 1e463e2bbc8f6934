/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT208: large aligned products that reach less than 40 % of the dense peak.
 */
#include "product_model.h"

#define LOW_SHARE     0.40
#define SHARE_PERCENT 3.0
#define FULL_TILE     (128.0 * 128.0) /* where the name tells no tile */

struct slow {
	int64_t busy_ns, largest_ns, unknown_ns;
	double low_ns, high_ns;
	uint64_t products;
	size_t shapes;
	uint32_t largest;
};

static double rate_tflops(const struct gemm_shape *shape, const struct shape_use *use)
{
	return gemm_flops(shape) * (double)use->products / (double)use->busy_ns / 1e3;
}

static bool fills_gpu(const struct rule_context *context, const struct gemm_shape *shape,
		      const struct kernel_traits *traits)
{
	double tiles = product_tiles_of(shape, traits).least;

	if (tiles <= 0)
		tiles = (double)shape->m * shape->n * shape->batch / FULL_TILE;
	return tiles >= product_sms(context);
}

/* Alignment (GT201, GT206) is another cause, and full alignment in the name acquits an operand
 * whose layout was not recorded. */
static bool is_misaligned(const struct gemm_shape *shape, const struct kernel_traits *traits)
{
	enum gemm_fault fault = gemm_alignment_of(shape).fault;

	if (fault != GEMM_ALIGNED && fault != GEMM_NOT_TENSOR)
		return true;
	return traits->is_tensor_op && traits->align_elements && traits->element_bytes &&
	       traits->align_elements * traits->element_bytes < 16;
}

static void consider(const struct rule_context *context, uint32_t index, struct slow *slow)
{
	const struct gemm_shape *shape = &context->model->gemms[index];
	const struct shape_use *use = &context->work.shapes[index];
	const struct kernel_traits *traits = &context->model->kernels[use->kernel].traits;
	double peak = product_peak_tflops(context, shape, traits);
	double rate, busy = (double)use->busy_ns;

	if (peak <= 0) {
		slow->unknown_ns += use->busy_ns;
		return;
	}
	rate = rate_tflops(shape, use);
	if (rate >= LOW_SHARE * peak || is_misaligned(shape, traits) ||
	    !fills_gpu(context, shape, traits) || product_is_memory_bound(context, shape, traits) ||
	    product_is_at_memory_roof(context, index))
		return;
	slow->busy_ns += use->busy_ns;
	slow->low_ns += busy * (1 - rate / (LOW_SHARE * peak));
	slow->high_ns += busy * (1 - rate / (PRODUCT_REACHABLE_SHARE * peak));
	slow->products += use->products;
	slow->shapes++;
	if (use->busy_ns > slow->largest_ns) {
		slow->largest_ns = use->busy_ns;
		slow->largest = index;
	}
}

static void raise(struct rule_context *context, const struct slow *slow)
{
	const struct gemm_shape *shape = &context->model->gemms[slow->largest];
	const struct shape_use *use = &context->work.shapes[slow->largest];
	const struct model_kernel *kernel = &context->model->kernels[use->kernel];
	double peak = product_peak_tflops(context, shape, &kernel->traits);
	double rate = rate_tflops(shape, use);
	struct finding *finding = rule_raise(context, use->call);

	finding->cost_ms = rule_ms(context, slow->busy_ns);
	finding->per_step = (double)slow->products / context->steady_steps;
	finding->gain_low_ms = slow->low_ns / 1e6 / context->steady_steps;
	finding->gain_high_ms = slow->high_ns / 1e6 / context->steady_steps;
	finding->draws_from = 1u << LEDGER_GEMM;
	product_describe(finding, shape);
	finding_text(finding, "kernel", kernel->short_name);
	finding_number(finding, "achieved_tflops", rate);
	finding_number(finding, "peak_tflops", peak);
	finding_number(finding, "flop_per_byte", gemm_flops(shape) / gemm_bytes(shape));
	finding_number(finding, "shapes", (double)slow->shapes);
	finding_number(finding, "gemm_ms_per_step", finding->cost_ms);
	finding_summary(finding,
			"Products of %zu shapes that are aligned and fill the GPU take %.2f ms of "
			"each %s (%.1f %%) below 40 %% of the dense peak: m=%u n=%u k=%u batch %u "
			"%s reaches %.0f of %.0f TFLOP/s in %s.",
			slow->shapes, finding->cost_ms, context->unit,
			rule_percent(context, finding->cost_ms), shape->m, shape->n, shape->k,
			shape->batch, gemm_type_name(shape->type_a), rate, peak,
			kernel->short_name);
	finding_fix(finding,
		    "Look at the clocks first (power and temperature: nvidia-smi -q -d "
		    "PERFORMANCE), then at the library's version and its choice of kernel, "
		    "and at what runs beside it.");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	const char *why = product_why_unknown(context);
	struct slow slow = {.largest = MODEL_NONE};

	if (why) {
		rule_not_judged(context, "%s", why);
		return;
	}
	for (uint32_t i = 0; i < context->model->gemm_count; i++) {
		if (context->work.shapes[i].products)
			consider(context, i, &slow);
	}
	slow.unknown_ns += context->work.product_ns - context->work.shaped_ns;
	if (rule_share(context, slow.busy_ns) >= SHARE_PERCENT)
		raise(context, &slow);
	else if (rule_share(context, slow.unknown_ns) >= SHARE_PERCENT)
		rule_not_judged(context, "the shapes of the matrix products were not recorded, or "
					 "their kernels' names do not tell which peak holds");
	else
		rule_silent(context,
			    "aligned products that fill the GPU below %.0f %% of the peak are %.1f "
			    "%% of the %s (raised from %.0f %%)",
			    100 * LOW_SHARE, rule_share(context, slow.busy_ns), context->unit,
			    SHARE_PERCENT);
}

/* clang-format off */
const struct rule rule_low_product_rate = {
	.name = "low_product_rate",
	.id = "GT208",
	.title = "low rate on aligned GEMM",
	.page =
"Raised when products that are aligned, have a tile for every SM and are not bound by memory by\n"
"the roofline, but reach less than 40 % of the dense peak of their type, take at least 3 % of\n"
"the mean steady step. Good products reach 70 % and more. Under MIG the peak is scaled by SMs.\n"
"\n"
"Candidates: clocks held down, an old library without kernels for this GPU, communication or\n"
"other kernels on the same SMs, last waves (GT204).\n"
"\n"
"Gain: from reaching 40 % of the peak up to 85 %, the best that was measured.\n"
"Silent: misaligned products (GT201, GT206), small ones (GT205), memory-bound ones (GT210).\n"
"Not judged: unknown GPU or vGPU, no shapes, kernels whose names do not tell their units.\n"
"Wrong when: the kernel does more than the product (fused epilogues, sparsity).\n",
	.run = run,
	.needs_nodes = true,
};
/* clang-format on */
