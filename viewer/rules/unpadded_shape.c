/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT201: matrix products whose contiguous extents keep Tensor Core kernels from loading 16 bytes at
 * once, by their shapes, else by the kernels' names.
 */
#include <stdlib.h>

#include "alignment_cause.h"
#include "conv_alignment.h"
#include "product_model.h"

/* Kernels whose names show small accesses where no shape explains them. */
struct witness {
	int64_t busy_ns, longest_ns;
	uint32_t kernel, call;
	int64_t silent_ns; /* names that show CUDA cores or full alignment, without shapes */
};

static bool is_extent(enum gemm_fault fault)
{
	return fault == GEMM_EXTENT;
}

static void add_witness(struct witness *witness, int64_t busy_ns, uint32_t kernel, uint32_t call)
{
	witness->busy_ns += busy_ns;
	if (busy_ns <= witness->longest_ns)
		return;
	witness->longest_ns = busy_ns;
	witness->kernel = kernel;
	witness->call = call;
}

static bool loads_less(const struct kernel_traits *traits)
{
	return traits->is_tensor_op && traits->align_elements && traits->element_bytes &&
	       traits->align_elements * traits->element_bytes < 16;
}

static struct witness find_witness(const struct rule_context *context)
{
	const struct model *model = context->model;
	struct witness witness = {.kernel = MODEL_NONE, .call = MODEL_NONE};

	for (uint32_t k = 0; k < model->kernel_count; k++) {
		const struct kernel_use *use = &context->work.kernels[k];
		const struct kernel_traits *traits = &model->kernels[k].traits;
		int64_t busy_ns = use->busy_ns - use->shaped_ns;

		if (busy_ns <= 0 ||
		    (traits->kernel_class != KERNEL_GEMM && traits->kernel_class != KERNEL_CONV))
			continue;
		if (loads_less(traits))
			add_witness(&witness, busy_ns, k, use->call);
		else if (traits->is_simt || (traits->align_elements && traits->element_bytes))
			witness.silent_ns += busy_ns;
	}
	/* The recorded shape shows no fault, but the kernel was built for small accesses: something
	 * that was not recorded (a layout, a stride) is misaligned. */
	for (uint32_t i = 0; i < model->gemm_count; i++) {
		const struct shape_use *use = &context->work.shapes[i];

		if (use->products && loads_less(&model->kernels[use->kernel].traits) &&
		    gemm_alignment_of(&model->gemms[i]).fault == GEMM_ALIGNED)
			add_witness(&witness, use->busy_ns, use->kernel, use->call);
	}
	for (uint32_t i = 0; i < model->conv_count; i++) {
		const struct shape_use *use = &context->work.convs[i];
		const struct kernel_traits *traits =
			use->products ? &model->kernels[use->kernel].traits : NULL;

		if (traits && loads_less(traits) && !conv_has_fault(&model->convs[i], traits))
			add_witness(&witness, use->busy_ns, use->kernel, use->call);
	}
	return witness;
}

static void raise_witness(struct rule_context *context, const struct witness *witness)
{
	const struct model_kernel *kernel = &context->model->kernels[witness->kernel];
	struct finding *finding = rule_raise(context, witness->call);
	double busy_ms = (double)witness->busy_ns / 1e6 / context->steady_steps;
	bool is_odd = kernel->traits.align_elements == 1;

	finding->cost_ms = busy_ms;
	finding->gain_low_ms = busy_ms * alignment_published_low(is_odd);
	finding->gain_high_ms = busy_ms * alignment_published_high(is_odd);
	finding->draws_from =
		kernel->traits.kernel_class == KERNEL_CONV ? 1u << LEDGER_CONV : 1u << LEDGER_GEMM;
	finding_text(finding, "kernel", kernel->short_name);
	finding_number(finding, "aligned_bytes",
		       kernel->traits.align_elements * kernel->traits.element_bytes);
	finding_number(finding, "gemm_ms_per_step", busy_ms);
	finding_text(finding, "gain_from", "published range");
	finding_summary(
		finding,
		"Tensor Core kernels built for %u-byte accesses take %.2f ms of each %s (%.1f %%), "
		"such as %s; the recorded shapes do not say which extent it is.",
		kernel->traits.align_elements * kernel->traits.element_bytes, busy_ms,
		context->unit, rule_percent(context, busy_ms), kernel->short_name);
	finding_fix(finding, "Pad the contiguous dimensions of these products to multiples of 128 "
			     "bytes (64 elements of fp16 or bf16).");
	rule_settle(context, finding);
}

/* Causes that are small one by one, but not together: many odd feature counts, for instance. */
static bool raise_rest(struct rule_context *context, const struct alignment_cause *causes,
		       size_t count)
{
	struct alignment_cause rest = {.shape = MODEL_NONE};
	struct finding *finding;
	const struct gemm_shape *shape;
	const struct shape_use *use;
	size_t extents = 0;

	for (size_t i = 0; i < count; i++) {
		if (rule_share(context, causes[i].busy_ns) >= ALIGNMENT_SHARE_PERCENT)
			continue;
		extents++;
		rest.busy_ns += causes[i].busy_ns;
		rest.products += causes[i].products;
		rest.low_ns += causes[i].low_ns;
		rest.high_ns += causes[i].high_ns;
		if (causes[i].shape_ns > rest.shape_ns) {
			rest.shape_ns = causes[i].shape_ns;
			rest.shape = causes[i].shape;
			rest.alignment = causes[i].alignment;
		}
	}
	if (extents < 2 || rule_share(context, rest.busy_ns) < ALIGNMENT_SHARE_PERCENT)
		return false;
	shape = &context->model->gemms[rest.shape];
	use = &context->work.shapes[rest.shape];
	finding = rule_raise(context, use->call);
	finding->cost_ms = rule_ms(context, rest.busy_ns);
	finding->gain_low_ms = rest.low_ns / 1e6 / context->steady_steps;
	finding->gain_high_ms = rest.high_ns / 1e6 / context->steady_steps;
	finding->draws_from = 1u << LEDGER_GEMM;
	finding->per_step = (double)rest.products / context->steady_steps;
	finding_number(finding, "extents", (double)extents);
	finding_number(finding, "extent", rest.alignment.extent);
	finding_number(finding, "aligned_bytes", rest.alignment.aligned_bytes);
	finding_number(finding, "padded_extent", rest.alignment.padded_best);
	product_describe(finding, shape);
	finding_text(finding, "kernel", context->model->kernels[use->kernel].short_name);
	finding_number(finding, "gemm_ms_per_step", finding->cost_ms);
	finding_summary(finding,
			"%zu more extents are contiguous and misaligned; products with them take "
			"%.2f ms of each %s (%.1f %%) together. The heaviest is %c = %u in m=%u "
			"n=%u k=%u (%s, aligned to %u bytes).",
			extents, finding->cost_ms, context->unit,
			rule_percent(context, finding->cost_ms), rest.alignment.dimension,
			rest.alignment.extent, shape->m, shape->n, shape->k,
			gemm_type_name(shape->type_a), rest.alignment.aligned_bytes);
	finding_fix(finding,
		    "Pad them to multiples of 128 bytes, or of 16 bytes where that is too "
		    "much: %u to %u, and so on.",
		    rest.alignment.extent, rest.alignment.padded_best);
	rule_settle(context, finding);
	return true;
}

static void run(struct rule_context *context)
{
	struct witness witness = find_witness(context);
	int64_t product_ns = context->work.product_ns;
	size_t count, raised = 0;
	struct alignment_cause *causes = alignment_causes_find(context, is_extent, &count);
	double known_ns = (double)(context->work.shaped_ns + witness.busy_ns + witness.silent_ns);

	for (size_t i = 0; i < count; i++) {
		if (rule_share(context, causes[i].busy_ns) >= ALIGNMENT_SHARE_PERCENT) {
			alignment_cause_raise(context, &causes[i]);
			raised++;
		}
	}
	raised += raise_rest(context, causes, count);
	raised += conv_alignment_raise(context, ALIGNMENT_SHARE_PERCENT);
	if (rule_share(context, witness.busy_ns) >= ALIGNMENT_SHARE_PERCENT) {
		raise_witness(context, &witness);
		raised++;
	}
	if (!raised &&
	    rule_share(context, product_ns - (int64_t)known_ns) >= ALIGNMENT_SHARE_PERCENT)
		rule_not_judged(context,
				"the shapes of the matrix products and convolutions were not "
				"recorded, and their kernels' names do not tell the alignment");
	else if (!raised)
		rule_silent(context, product_ns ? "no product with a misaligned contiguous extent "
						  "takes 1 %% of the step"
						: "there are no matrix products or convolutions");
	free(causes);
}

/* clang-format off */
const struct rule rule_unpadded_shape = {
	.name = "unpadded_shape",
	.id = "GT201",
	.title = "unpadded Tensor Core shape",
	.page =
"Raised when products with a misaligned operand take at least 1 % of the mean steady step. An\n"
"operand is misaligned when its contiguous extent is no multiple of 16 bytes: 8 elements of\n"
"fp16 or bf16, 4 of tf32, 16 of fp8 or int8. By cuBLAS's column-major convention A is\n"
"contiguous along m (k when transposed), B along k (n when transposed), C along m. Extents\n"
"that are contiguous nowhere, such as a batch of 31, are no fault. Products of one misaligned\n"
"extent are one finding; extents that are below 1 % one by one are one finding together.\n"
"Leading dimensions and pointers that alone are misaligned are GT206.\n"
"\n"
"A convolution is misaligned when its input or output channels are no multiple of 16 bytes, in\n"
"either layout: Tensor Cores read channels last, and cuDNN pads and reorders what is not. A first\n"
"layer (up to 4 input channels, which have kernels of their own) and grouped convolutions are not\n"
"judged by their shape. Convolutions of one number of channels are one finding.\n"
"\n"
"Witness: a Tensor Core kernel named alignN with N elements below 16 bytes. A name that says\n"
"full alignment or CUDA cores (simt) overrules the shape; it is then silent, unless the library\n"
"had refused the same product before: then the kernel is the fallback.\n"
"\n"
"Advice: the next multiple of 128 bytes (50257 -> 50304, 10922 -> 10944 in fp16).\n"
"Gain: from an aligned twin in the same run if there is one; else from 10 % of the products'\n"
"time (20 % for odd extents), the least that was published, up to what a roofline with whole\n"
"waves at 85 % of the dense peak leaves. Unknown GPU: published range only.\n"
"\n"
"Not judged: neither shapes nor alignment in the kernels' names.\n"
"Wrong when: padding means more work elsewhere (a much larger softmax), or an odd extent is\n"
"required by an exchange format.\n",
	.run = run,
	.needs_nodes = true,
};
/* clang-format on */
