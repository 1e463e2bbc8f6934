/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the misaligned products of a device by what is wrong with them, and estimates the gain.
 */
#include "alignment_cause.h"

#include <stdio.h>
#include <string.h>

#include "array.h"
#include "product_model.h"
#include "text.h"

/* Published gains where nothing better is known, as a share of the product's time: 4- and 8-byte
 * aligned shapes 10 to 35 % (d_ff 10922 -> 10944: 31 %; vocabulary 33708: 29 %), odd ones more. */
#define EVEN_LOW  0.10
#define EVEN_HIGH 0.35
#define ODD_LOW	  0.20
#define ODD_HIGH  0.60

double alignment_published_low(bool is_odd)
{
	return is_odd ? ODD_LOW : EVEN_LOW;
}

double alignment_published_high(bool is_odd)
{
	return is_odd ? ODD_HIGH : EVEN_HIGH;
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

static double use_ns_per_flop(const struct work_survey *survey, const struct gemm_shape *shape,
			      uint32_t index)
{
	const struct shape_use *use = &survey->shapes[index];

	return (double)use->busy_ns / ((double)use->products * gemm_flops(shape));
}

/* ns per flop of an aligned product that differs only by the padding; 0 when there is none. */
static double twin_ns_per_flop(const struct rule_context *context, const struct work_survey *survey,
			       const struct gemm_shape *shape,
			       const struct gemm_alignment *alignment)
{
	const struct model *model = context->model;

	for (uint32_t i = 0; i < model->gemm_count; i++) {
		const struct gemm_shape *other = &model->gemms[i];
		struct gemm_shape like;
		uint32_t extent;

		if (!survey->shapes[i].products || gemm_alignment_of(other).fault != GEMM_ALIGNED)
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

/* What padding this shape would gain over the steady steps, as a range. */
static void estimate(const struct rule_context *context, const struct work_survey *survey,
		     uint32_t index, const struct gemm_alignment *alignment,
		     struct alignment_cause *cause)
{
	const struct gemm_shape *shape = &context->model->gemms[index];
	const struct shape_use *use = &survey->shapes[index];
	bool is_odd = alignment->aligned_bytes <= alignment->element_bytes;
	double busy = (double)use->busy_ns;
	double low = busy * alignment_published_low(is_odd);
	double high = busy * alignment_published_high(is_odd);
	struct gemm_shape padded = *shape;
	double twin, ideal;

	if (alignment->fault == GEMM_EXTENT)
		padded = gemm_padded(shape, alignment->dimension, alignment->padded_best);
	twin = twin_ns_per_flop(context, survey, shape, alignment);
	ideal = product_ideal_ns(context, &padded) * (double)use->products;
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

/* Calls of the same product that the library refused before another one did it: then the slow
 * kernel is the fallback, and its name proves nothing. */
static uint64_t refused_like(const struct rule_context *context, const struct gemm_shape *shape)
{
	const struct model *model = context->model;
	uint64_t refused = 0;

	for (uint32_t i = 0; context->work.refused && i < model->gemm_count; i++) {
		const struct gemm_shape *other = &model->gemms[i];

		if (context->work.shapes[i].refused && other->m == shape->m &&
		    other->n == shape->n && other->k == shape->k && other->type_a == shape->type_a)
			refused += context->work.shapes[i].refused;
	}
	return refused;
}

struct alignment_cause *alignment_causes_find(const struct rule_context *context,
					      bool (*is_wanted)(enum gemm_fault fault),
					      size_t *count)
{
	const struct work_survey *survey = &context->work;
	const struct model *model = context->model;
	struct alignment_cause *causes = NULL;
	size_t capacity = 0;

	*count = 0;
	for (uint32_t i = 0; i < model->gemm_count; i++) {
		const struct shape_use *use = &survey->shapes[i];
		struct gemm_alignment alignment = gemm_alignment_of(&model->gemms[i]);
		struct alignment_cause *cause = NULL;
		uint64_t refused = 0;

		if (use->products && is_wanted(alignment.fault))
			refused = refused_like(context, &model->gemms[i]);
		if (!use->products || !is_wanted(alignment.fault) ||
		    (!refused && kernel_contradicts(&model->kernels[use->kernel].traits)))
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
		cause->refused += refused;
		estimate(context, survey, i, &alignment, cause);
	}
	return causes;
}

static void describe_fault(const struct rule_context *context, struct finding *finding,
			   const struct alignment_cause *cause, const struct gemm_shape *shape,
			   const char *kernel)
{
	const struct gemm_alignment *alignment = &cause->alignment;
	double busy_ms = (double)cause->busy_ns / 1e6 / context->steady_steps;
	double percent = rule_percent(context, busy_ms);
	char what[96], least[32] = "", refused[80] = "";

	if (alignment->fault == GEMM_EXTENT)
		snprintf(what, sizeof(what), "%c = %u is contiguous in %c", alignment->dimension,
			 alignment->extent, alignment->operand);
	else if (alignment->fault == GEMM_LEADING)
		snprintf(what, sizeof(what), "the leading dimension %u of %c", alignment->extent,
			 alignment->operand);
	else
		snprintf(what, sizeof(what), "the pointer to %c", alignment->operand);
	if (cause->refused)
		snprintf(refused, sizeof(refused), ", after the library had refused %llu %s",
			 (unsigned long long)cause->refused,
			 text_noun((double)cause->refused, "call", "calls"));
	finding_summary(
		finding,
		"%s%s is aligned to %u bytes only (%s); products with it take %.2f ms of each %s "
		"(%.1f %%), the largest m=%u n=%u k=%u op %c%c in %s%s.",
		what, alignment->fault == GEMM_EXTENT ? " and" : "", alignment->aligned_bytes,
		gemm_type_name(shape->type_a), busy_ms, context->unit, percent, shape->m, shape->n,
		shape->k, shape->op_a ? shape->op_a : '?', shape->op_b ? shape->op_b : '?', kernel,
		refused);
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

void alignment_cause_raise(struct rule_context *context, const struct alignment_cause *cause)
{
	const struct gemm_shape *shape = &context->model->gemms[cause->shape];
	const struct shape_use *use = &context->work.shapes[cause->shape];
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
	product_describe(finding, shape);
	finding_text(finding, "kernel", kernel->short_name);
	finding_number(finding, "shapes", (double)cause->shapes);
	finding_number(finding, "gemm_ms_per_step", finding->cost_ms);
	if (cause->refused)
		finding_number(finding, "refused_calls", (double)cause->refused);
	finding_text(finding, "gain_from",
		     cause->is_measured ? "aligned twin in this run"
		     : context->gpu.row ? "tile and wave model"
					: "published range");
	describe_fault(context, finding, cause, shape, kernel->short_name);
	rule_settle(context, finding);
}
