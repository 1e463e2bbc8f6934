/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT201: matrix products whose contiguous extents keep Tensor Core kernels from loading 16 bytes at
 * once. One cause (a vocabulary of 50257) is one finding, whatever products it appears in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "gemm_alignment.h"
#include "rule.h"
#include "text.h"
#include "xmalloc.h"

#define SHARE_PERCENT 1.0
/* Measured best products reach 73 to 87 % of the dense peak (gpu.md, ml-engineering): a padded one
 * is not taken to do better than this. */
#define REACHABLE_SHARE 0.85
/* Published gains where nothing better is known, as a share of the product's time: 4- and 8-byte
 * aligned shapes 10 to 35 % (d_ff 10922 -> 10944: 31 %; vocabulary 33708: 29 %), odd ones more. */
#define EVEN_LOW  0.10
#define EVEN_HIGH 0.35
#define ODD_LOW	  0.20
#define ODD_HIGH  0.60

/* What the steady steps spent in one shape. */
struct shape_use {
	int64_t busy_ns, heaviest_ns;
	uint64_t products;
	uint32_t call, kernel, last_root;
};

struct cause {
	struct gemm_alignment alignment;
	uint32_t shape; /* that took most of the time */
	int64_t busy_ns, shape_ns;
	double low_ns, high_ns;
	uint64_t products;
	size_t shapes;
	bool is_measured; /* an aligned twin is in the trace */
};

struct survey {
	struct shape_use *uses; /* by shape */
	int64_t gemm_ns;	/* class GEMM, with or without shapes */
	int64_t witness_ns;	/* kernels whose names show small accesses, without shapes */
	uint32_t witness_kernel, witness_call;
	int64_t silent_ns; /* names that show CUDA cores or full alignment, without shapes */
};

static void survey_kernel(const struct rule_context *context, struct survey *survey,
			  const struct gpu_op *op)
{
	const struct kernel_traits *traits = &context->model->kernels[op->detail].traits;
	int64_t busy_ns = op->end_ns - op->begin_ns;
	uint32_t gemm = model_call_gemm(context->model, op->call);

	if (gemm != MODEL_NONE) {
		struct shape_use *use = &survey->uses[context->model->calls[gemm].detail];

		survey->gemm_ns += busy_ns;
		use->busy_ns += busy_ns;
		if (use->last_root != gemm || !use->products)
			use->products++;
		use->last_root = gemm;
		if (busy_ns > use->heaviest_ns) {
			use->heaviest_ns = busy_ns;
			use->kernel = op->detail;
			use->call = gemm;
		}
		return;
	}
	if (traits->kernel_class != KERNEL_GEMM && traits->kernel_class != KERNEL_CONV)
		return;
	survey->gemm_ns += busy_ns;
	if (traits->is_tensor_op && traits->align_elements && traits->element_bytes &&
	    traits->align_elements * traits->element_bytes < 16) {
		survey->witness_ns += busy_ns;
		if (survey->witness_kernel == MODEL_NONE) {
			survey->witness_kernel = op->detail;
			survey->witness_call = op->call;
		}
	} else if (traits->is_simt || (traits->align_elements && traits->element_bytes)) {
		survey->silent_ns += busy_ns;
	}
}

static void survey_steps(const struct rule_context *context, struct survey *survey)
{
	const struct model *model = context->model;

	for (size_t s = 0; s < model->steps.count; s++) {
		const struct step_window *window = &context->ledger->windows[s];
		size_t first, limit;

		if (model->steps.items[s].kind != STEP_STEADY)
			continue;
		model_ops_between(model, context->device, window->begin_ns, window->end_ns, &first,
				  &limit);
		for (size_t i = first; i < limit; i++) {
			if (model->ops[i].type == GPU_OP_KERNEL)
				survey_kernel(context, survey, &model->ops[i]);
		}
	}
}

/* The kernel's name is the last word: full alignment or CUDA cores there, and the shape is
 * innocent. */
static bool kernel_contradicts(const struct kernel_traits *traits)
{
	if (traits->is_simt)
		return true;
	return traits->align_elements && traits->element_bytes &&
	       traits->align_elements * traits->element_bytes >= 16;
}

static double use_ns_per_flop(const struct survey *survey, const struct gemm_shape *shape,
			      uint32_t index)
{
	const struct shape_use *use = &survey->uses[index];

	return (double)use->busy_ns / ((double)use->products * gemm_flops(shape));
}

/* ns per flop of an aligned product that differs only by the padding; 0 when there is none. */
static double twin_ns_per_flop(const struct rule_context *context, const struct survey *survey,
			       const struct gemm_shape *shape,
			       const struct gemm_alignment *alignment)
{
	const struct model *model = context->model;

	for (uint32_t i = 0; i < model->gemm_count; i++) {
		const struct gemm_shape *other = &model->gemms[i];
		struct gemm_shape like;
		uint32_t extent;

		if (!survey->uses[i].products || gemm_alignment_of(other).fault != GEMM_ALIGNED)
			continue;
		extent = alignment->dimension == 'm'   ? other->m
			 : alignment->dimension == 'n' ? other->n
						       : other->k;
		if (extent <= alignment->extent ||
		    extent > alignment->extent + alignment->extent / 50 + 128)
			continue;
		like = gemm_padded(shape, alignment->dimension, extent);
		if (like.m == other->m && like.n == other->n && like.k == other->k &&
		    like.op_a == other->op_a && like.op_b == other->op_b &&
		    like.type_a == other->type_a && like.type_c == other->type_c &&
		    like.batch == other->batch)
			return use_ns_per_flop(survey, other, i);
	}
	return 0;
}

/* Best time to expect of a shape on this GPU, ns: roofline, with whole waves of 128 x 256 tiles;
 * 0 when the GPU is unknown. */
static double modelled_ns(const struct rule_context *context, const struct gemm_shape *shape)
{
	const struct gpu_row *row = context->gpu.row;
	double peak, compute_ns, memory_ns, tiles, waves, sms;

	if (!row || context->gpu.partition == GPU_VGPU)
		return 0;
	peak = gpu_row_matrix_tflops(row, shape->type_a, shape->math_flags & 1);
	if (peak <= 0 || row->memory_gbs <= 0 || !row->sm_count)
		return 0;
	sms = row->sm_count * context->gpu.sm_share;
	tiles = (double)((shape->m + 127) / 128) * ((shape->n + 255) / 256) * shape->batch;
	waves = tiles / sms;
	if (waves < 1)
		waves = 1;
	compute_ns = gemm_flops(shape) / (peak * 1e3 * context->gpu.sm_share * REACHABLE_SHARE);
	compute_ns *= waves > tiles / sms ? waves * sms / tiles : 1;
	memory_ns = gemm_bytes(shape) / row->memory_gbs;
	return compute_ns > memory_ns ? compute_ns : memory_ns;
}

/* What padding this shape would gain over the steady steps, as a range. */
static void estimate(const struct rule_context *context, const struct survey *survey,
		     uint32_t index, const struct gemm_alignment *alignment, struct cause *cause)
{
	const struct gemm_shape *shape = &context->model->gemms[index];
	const struct shape_use *use = &survey->uses[index];
	bool is_odd = alignment->aligned_bytes <= alignment->element_bytes;
	double busy = (double)use->busy_ns;
	double low = busy * (is_odd ? ODD_LOW : EVEN_LOW);
	double high = busy * (is_odd ? ODD_HIGH : EVEN_HIGH);
	struct gemm_shape padded = *shape;
	double twin, ideal;

	if (alignment->fault == GEMM_EXTENT)
		padded = gemm_padded(shape, alignment->dimension, alignment->padded_best);
	twin = twin_ns_per_flop(context, survey, shape, alignment);
	ideal = modelled_ns(context, &padded) * (double)use->products;
	if (twin > 0) {
		double gain = busy - twin * gemm_flops(&padded) * (double)use->products;

		low = gain * 0.9;
		high = gain * 1.1;
		cause->is_measured = true;
	} else if (ideal > 0) {
		high = busy - ideal;
		if (low > high)
			low = high / 2;
	}
	cause->low_ns += low > 0 ? low : 0;
	cause->high_ns += high > 0 ? high : 0;
}

static bool is_same_cause(const struct gemm_alignment *a, const struct gemm_alignment *b)
{
	return a->fault == b->fault && a->extent == b->extent &&
	       a->element_bytes == b->element_bytes;
}

static struct cause *find_causes(const struct rule_context *context, const struct survey *survey,
				 size_t *count)
{
	const struct model *model = context->model;
	struct cause *causes = NULL;
	size_t capacity = 0;

	*count = 0;
	for (uint32_t i = 0; i < model->gemm_count; i++) {
		const struct shape_use *use = &survey->uses[i];
		struct gemm_alignment alignment = gemm_alignment_of(&model->gemms[i]);
		struct cause *cause = NULL;

		if (!use->products || alignment.fault == GEMM_ALIGNED ||
		    alignment.fault == GEMM_NOT_TENSOR ||
		    kernel_contradicts(&model->kernels[use->kernel].traits))
			continue;
		for (size_t c = 0; c < *count && !cause; c++) {
			if (is_same_cause(&causes[c].alignment, &alignment))
				cause = &causes[c];
		}
		if (!cause) {
			if (*count == capacity)
				causes = array_grow(causes, &capacity, sizeof(*causes));
			cause = &causes[(*count)++];
			memset(cause, 0, sizeof(*cause));
			cause->alignment = alignment;
		}
		if (use->busy_ns > cause->shape_ns) {
			cause->shape_ns = use->busy_ns;
			cause->shape = i;
			cause->alignment = alignment; /* the finding speaks of this one */
		}
		cause->busy_ns += use->busy_ns;
		cause->products += use->products;
		cause->shapes++;
		estimate(context, survey, i, &alignment, cause);
	}
	return causes;
}

static void describe_fault(const struct rule_context *context, struct finding *finding,
			   const struct cause *cause, const struct gemm_shape *shape,
			   const char *kernel)
{
	const struct gemm_alignment *alignment = &cause->alignment;
	double busy_ms = (double)cause->busy_ns / 1e6 / context->steady_steps;
	double percent = rule_percent(context, busy_ms);
	char what[96], least[32] = "";

	if (alignment->fault == GEMM_EXTENT)
		snprintf(what, sizeof(what), "%c = %u is contiguous in %c", alignment->dimension,
			 alignment->extent, alignment->operand);
	else if (alignment->fault == GEMM_LEADING)
		snprintf(what, sizeof(what), "the leading dimension %u of %c", alignment->extent,
			 alignment->operand);
	else
		snprintf(what, sizeof(what), "the pointer to %c", alignment->operand);
	finding_summary(
		finding,
		"%s%s is aligned to %u bytes only (%s); products with it take %.2f ms of each %s "
		"(%.1f %%), the largest m=%u n=%u k=%u op %c%c in %s.",
		what, alignment->fault == GEMM_EXTENT ? " and" : "", alignment->aligned_bytes,
		gemm_type_name(shape->type_a), busy_ms, context->unit, percent, shape->m, shape->n,
		shape->k, shape->op_a, shape->op_b, kernel);
	if (alignment->padded_best != alignment->padded_least)
		snprintf(least, sizeof(least), " (%u at least)", alignment->padded_least);
	if (alignment->fault == GEMM_EXTENT)
		finding_fix(finding,
			    "Pad %u to %u%s: the next multiple of 128 bytes, for instance a "
			    "padded vocabulary or hidden size.",
			    alignment->extent, alignment->padded_best, least);
	else if (alignment->fault == GEMM_LEADING)
		finding_fix(finding, "Allocate rows of %u elements%s instead of %u.",
			    alignment->padded_best, least, alignment->extent);
	else
		finding_fix(finding,
			    "Use a tensor of its own instead of a view with an offset, or an "
			    "offset that is a multiple of 16 bytes.");
}

static void raise(struct rule_context *context, const struct survey *survey,
		  const struct cause *cause)
{
	const struct gemm_shape *shape = &context->model->gemms[cause->shape];
	const struct shape_use *use = &survey->uses[cause->shape];
	const struct model_kernel *kernel = &context->model->kernels[use->kernel];
	struct finding *finding = rule_raise(context, use->call);

	finding->cost_ms = (double)cause->busy_ns / 1e6 / context->steady_steps;
	finding->gain_low_ms = cause->low_ns / 1e6 / context->steady_steps;
	finding->gain_high_ms = cause->high_ns / 1e6 / context->steady_steps;
	finding->draws_from = 1u << LEDGER_GEMM;
	finding->per_step = (double)cause->products / context->steady_steps;
	finding_number(finding, "extent", cause->alignment.extent);
	finding_number(finding, "aligned_bytes", cause->alignment.aligned_bytes);
	finding_number(finding, "padded_extent", cause->alignment.padded_best);
	finding_number(finding, "padded_extent_least", cause->alignment.padded_least);
	finding_number(finding, "m", shape->m);
	finding_number(finding, "n", shape->n);
	finding_number(finding, "k", shape->k);
	finding_number(finding, "batch", shape->batch);
	finding_text(finding, "type", gemm_type_name(shape->type_a));
	finding_text(finding, "kernel", kernel->short_name);
	finding_number(finding, "shapes", (double)cause->shapes);
	finding_number(finding, "gemm_ms_per_step", finding->cost_ms);
	finding_text(finding, "gain_from",
		     cause->is_measured ? "aligned twin in this run"
		     : context->gpu.row ? "tile and wave model"
					: "published range");
	describe_fault(context, finding, cause, shape, kernel->short_name);
	rule_settle(context, finding);
}

static void raise_witness(struct rule_context *context, const struct survey *survey)
{
	const struct model_kernel *kernel = &context->model->kernels[survey->witness_kernel];
	struct finding *finding = rule_raise(context, survey->witness_call);
	double busy_ms = (double)survey->witness_ns / 1e6 / context->steady_steps;
	bool is_odd = kernel->traits.align_elements == 1;

	finding->cost_ms = busy_ms;
	finding->gain_low_ms = busy_ms * (is_odd ? ODD_LOW : EVEN_LOW);
	finding->gain_high_ms = busy_ms * (is_odd ? ODD_HIGH : EVEN_HIGH);
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
		"such as %s; the shapes were not recorded.",
		kernel->traits.align_elements * kernel->traits.element_bytes, busy_ms,
		context->unit, rule_percent(context, busy_ms), kernel->short_name);
	finding_fix(finding, "Pad the contiguous dimensions of these products to multiples of 128 "
			     "bytes (64 elements of fp16 or bf16).");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	struct survey survey = {.witness_kernel = MODEL_NONE, .witness_call = MODEL_NONE};
	double total_ns = (double)context->ledger->steady.length_ns;
	struct cause *causes;
	size_t count, raised = 0;
	int64_t known_ns = 0;

	survey.uses = xcalloc(context->model->gemm_count + 1, sizeof(*survey.uses));
	survey_steps(context, &survey);
	causes = find_causes(context, &survey, &count);
	for (size_t i = 0; i < context->model->gemm_count; i++)
		known_ns += survey.uses[i].busy_ns;
	for (size_t i = 0; i < count; i++) {
		if ((double)causes[i].busy_ns * 100 >= SHARE_PERCENT * total_ns) {
			raise(context, &survey, &causes[i]);
			raised++;
		}
	}
	if ((double)survey.witness_ns * 100 >= SHARE_PERCENT * total_ns) {
		raise_witness(context, &survey);
		raised++;
	}
	known_ns += survey.witness_ns + survey.silent_ns;
	if (!raised && (double)(survey.gemm_ns - known_ns) * 100 >= SHARE_PERCENT * total_ns)
		rule_not_judged(context,
				"the shapes of the matrix products were not recorded, and their "
				"kernels' names do not tell the alignment");
	else if (!raised)
		rule_silent(context, survey.gemm_ns
					     ? "no product with a misaligned contiguous extent "
					       "takes 1 %% of the step"
					     : "there are no matrix products");
	free(causes);
	free(survey.uses);
}

const struct rule rule_unpadded_shape = {
	.name = "unpadded_shape",
	.id = "GT201",
	.title = "unpadded Tensor Core shape",
	.page = "Raised when products with a misaligned operand take at least 1 % of the mean "
		"steady step. An\n"
		"operand is misaligned when its contiguous extent, its leading dimension or its "
		"pointer is no\n"
		"multiple of 16 bytes: 8 elements of fp16 or bf16, 4 of tf32, 16 of fp8 or int8. "
		"By cuBLAS's\n"
		"column-major convention A is contiguous along m (k when transposed), B along k (n "
		"when\n"
		"transposed), C along m. Extents that are contiguous nowhere, such as a batch of "
		"31, are\n"
		"no fault. Products of one misaligned extent are one finding.\n"
		"\n"
		"Witness: a Tensor Core kernel named alignN with N elements below 16 bytes. A name "
		"that says\n"
		"full alignment or CUDA cores (simt) overrules the shape; it is then silent.\n"
		"\n"
		"Advice: the next multiple of 128 bytes (50257 -> 50304, 10922 -> 10944 in fp16).\n"
		"Gain: from an aligned twin in the same run if there is one; else from 10 % of the "
		"products'\n"
		"time (20 % for odd extents), the least that was published, up to what a roofline "
		"with whole\n"
		"waves at 85 % of the dense peak leaves. Unknown GPU: published range only.\n"
		"\n"
		"Not judged: neither shapes nor alignment in the kernels' names.\n"
		"Wrong when: padding means more work elsewhere (a much larger softmax), or an odd "
		"extent is\n"
		"required by an exchange format.\n",
	.run = run,
};
