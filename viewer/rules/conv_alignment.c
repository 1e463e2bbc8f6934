/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of channels, and its findings: one per number of channels, whatever convolutions have
 * it.
 */
#include "conv_alignment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alignment_cause.h"
#include "array.h"
#include "array_len.h"
#include "gemm_alignment.h"
#include "product_model.h"

#define NEEDED_BYTES 16
#define BEST_BYTES   128
/* Images have so few channels; first layers have kernels of their own for them. */
#define FIRST_LAYER_CHANNELS 4

static bool uses_tensor_cores(const struct conv_shape *shape, const struct kernel_traits *kernel)
{
	switch (shape->type_x) {
	case ELEMENT_F16:
	case ELEMENT_BF16:
	case ELEMENT_TF32:
	case ELEMENT_F8E4M3:
	case ELEMENT_F8E5M2:
	case ELEMENT_I8:
		return !kernel->is_simt && !(shape->math_flags & WORK_MATH_PEDANTIC);
	case ELEMENT_F32:
		/* Whether TF32 was taken only the kernel says. */
		return kernel->is_tensor_op;
	default:
		return false;
	}
}

static void consider(struct conv_alignment *worst, enum conv_fault fault, uint32_t channels,
		     uint32_t element_bytes)
{
	uint64_t bytes = (uint64_t)channels * element_bytes, power = bytes & (~bytes + 1);
	uint32_t least = NEEDED_BYTES / element_bytes, best = BEST_BYTES / element_bytes;

	if (power >= NEEDED_BYTES ||
	    (worst->fault != CONV_ALIGNED && worst->aligned_bytes <= power))
		return;
	worst->fault = fault;
	worst->extent = channels;
	worst->element_bytes = element_bytes;
	worst->aligned_bytes = (uint32_t)power;
	worst->padded_least = (channels / least + 1) * least;
	worst->padded_best = (channels / best + 1) * best;
	/* Channels are few: whole cache lines may be twice the work. */
	if (worst->padded_best - channels > channels / 8)
		worst->padded_best = worst->padded_least;
}

struct conv_alignment conv_alignment_of(const struct conv_shape *shape,
					const struct kernel_traits *kernel)
{
	struct conv_alignment worst = {.fault = CONV_ALIGNED};
	uint32_t x = gemm_element_bytes(shape->type_x), y = gemm_element_bytes(shape->type_y);

	if (!shape->dimensions || shape->groups != 1 || !x || !y ||
	    shape->channels_in > UINT32_MAX / 2 || shape->channels_out > UINT32_MAX / 2) {
		worst.fault = CONV_NOT_JUDGED;
		return worst;
	}
	if (!uses_tensor_cores(shape, kernel)) {
		worst.fault = CONV_NOT_TENSOR;
		return worst;
	}
	/* A name that says full accesses overrules the shape. */
	if (kernel->align_elements && kernel->element_bytes &&
	    kernel->align_elements * kernel->element_bytes >= NEEDED_BYTES)
		return worst;
	if (shape->channels_in > FIRST_LAYER_CHANNELS)
		consider(&worst, CONV_CHANNELS_IN, shape->channels_in, x < 8 ? x : 8);
	if (shape->channels_out > 1)
		consider(&worst, CONV_CHANNELS_OUT, shape->channels_out, y < 8 ? y : 8);
	if (worst.fault == CONV_ALIGNED && shape->channels_in <= FIRST_LAYER_CHANNELS)
		worst.fault = CONV_NOT_JUDGED;
	return worst;
}

bool conv_has_fault(const struct conv_shape *shape, const struct kernel_traits *kernel)
{
	enum conv_fault fault = conv_alignment_of(shape, kernel).fault;

	return fault == CONV_CHANNELS_IN || fault == CONV_CHANNELS_OUT;
}

static double volume(const uint32_t extents[3])
{
	return (double)extents[0] * extents[1] * extents[2];
}

double conv_flops(const struct conv_shape *shape)
{
	double groups = shape->groups ? shape->groups : 1;

	return 2.0 * shape->batch * shape->channels_out * volume(shape->out) * shape->channels_in /
	       groups * volume(shape->filter);
}

double conv_bytes(const struct conv_shape *shape)
{
	double groups = shape->groups ? shape->groups : 1;

	return (double)shape->batch * shape->channels_in * volume(shape->in) *
		       gemm_element_bytes(shape->type_x) +
	       (double)shape->channels_out * shape->channels_in / groups * volume(shape->filter) *
		       gemm_element_bytes(shape->type_w) +
	       (double)shape->batch * shape->channels_out * volume(shape->out) *
		       gemm_element_bytes(shape->type_y);
}

static void add_extents(char *text, size_t size, const char *name, const uint32_t extents[3],
			unsigned int dimensions)
{
	size_t used = strlen(text);

	used += (size_t)snprintf(text + used, size - used, "%s", name);
	for (unsigned int i = 3 - dimensions; i < 3 && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%u",
					 i > 3 - dimensions ? "x" : "", extents[i]);
}

void conv_describe(const struct conv_shape *shape, char *text, size_t size)
{
	static const char *const ops[] = {"?", "forward", "backward data", "backward filter"};
	static const char *const layouts[] = {"layout unknown", "channels first", "channels last",
					      "strided", "vectorized"};
	unsigned int dimensions = shape->dimensions > 3 ? 3 : shape->dimensions;
	size_t used;

	snprintf(text, size, "n=%u c=%u k=%u", shape->batch, shape->channels_in,
		 shape->channels_out);
	add_extents(text, size, " ", shape->in, dimensions);
	add_extents(text, size, " filter ", shape->filter, dimensions);
	used = strlen(text);
	if (shape->groups > 1)
		used += (size_t)snprintf(text + used, size - used, " groups=%u", shape->groups);
	if (used < size)
		snprintf(text + used, size - used, " %s, %s, %s", gemm_type_name(shape->type_x),
			 layouts[shape->layout_x < ARRAY_LEN(layouts) ? shape->layout_x : 0],
			 ops[shape->op < ARRAY_LEN(ops) ? shape->op : 0]);
}

struct channels_cause {
	struct conv_alignment alignment;
	uint32_t shape; /* that took most of the time */
	int64_t busy_ns, shape_ns;
	double low_ns, high_ns;
	uint64_t convs;
	size_t shapes;
	bool is_measured;
};

static struct conv_shape padded(const struct conv_shape *shape, enum conv_fault fault,
				uint32_t channels)
{
	struct conv_shape other = *shape;

	if (fault == CONV_CHANNELS_IN)
		other.channels_in = channels;
	else
		other.channels_out = channels;
	return other;
}

/* ns per flop of an aligned convolution that differs only by the padding; 0 when there is none. */
static double twin_ns_per_flop(const struct rule_context *context, const struct conv_shape *shape,
			       const struct conv_alignment *alignment)
{
	const struct model *model = context->model;

	for (uint32_t i = 0; i < model->conv_count; i++) {
		const struct shape_use *use = &context->work.convs[i];
		const struct conv_shape *other = &model->convs[i];
		uint32_t channels = alignment->fault == CONV_CHANNELS_IN ? other->channels_in
									 : other->channels_out;
		struct conv_shape like;

		if (!use->products || channels <= alignment->extent ||
		    channels > alignment->padded_best + alignment->extent / 8 ||
		    use->kernel == MODEL_NONE ||
		    conv_alignment_of(other, &model->kernels[use->kernel].traits).fault !=
			    CONV_ALIGNED)
			continue;
		like = padded(shape, alignment->fault, channels);
		like.math_flags = other->math_flags;
		if (!memcmp(&like, other, sizeof(like)))
			return (double)use->busy_ns / ((double)use->products * conv_flops(other));
	}
	return 0;
}

/* Best time to expect, ns: the slower of arithmetic and memory; 0 when the GPU is not known. */
static double ideal_ns(const struct rule_context *context, const struct conv_shape *shape)
{
	double peak, memory;

	if (product_why_unknown(context))
		return 0;
	peak = gpu_row_matrix_tflops(context->gpu.row, shape->type_x,
				     shape->type_x == ELEMENT_F32) *
	       context->gpu.sm_share * PRODUCT_REACHABLE_SHARE;
	memory = product_memory_gbs(context);
	if (peak <= 0 || memory <= 0)
		return 0;
	return conv_flops(shape) / (peak * 1e3) > conv_bytes(shape) / memory
		       ? conv_flops(shape) / (peak * 1e3)
		       : conv_bytes(shape) / memory;
}

static void estimate(const struct rule_context *context, uint32_t index,
		     const struct conv_alignment *alignment, struct channels_cause *cause)
{
	const struct conv_shape *shape = &context->model->convs[index];
	const struct shape_use *use = &context->work.convs[index];
	struct conv_shape cured = padded(shape, alignment->fault, alignment->padded_best);
	bool is_odd = alignment->aligned_bytes <= alignment->element_bytes;
	double busy = (double)use->busy_ns, twin = twin_ns_per_flop(context, shape, alignment);
	double low = busy * alignment_published_low(is_odd);
	double high = busy * alignment_published_high(is_odd);
	double ideal = ideal_ns(context, &cured) * (double)use->products;

	if (twin > 0) {
		double gain = busy - twin * conv_flops(&cured) * (double)use->products;

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

static struct channels_cause *cause_of(struct channels_cause **causes, size_t *count,
				       size_t *capacity, const struct conv_alignment *alignment)
{
	struct channels_cause *cause;

	for (size_t c = 0; c < *count; c++) {
		if ((*causes)[c].alignment.extent == alignment->extent &&
		    (*causes)[c].alignment.element_bytes == alignment->element_bytes)
			return &(*causes)[c];
	}
	if (*count == *capacity)
		*causes = array_grow(*causes, capacity, sizeof(**causes));
	cause = &(*causes)[(*count)++];
	memset(cause, 0, sizeof(*cause));
	cause->alignment = *alignment;
	return cause;
}

static void raise_cause(struct rule_context *context, const struct channels_cause *cause)
{
	const struct conv_alignment *alignment = &cause->alignment;
	const struct conv_shape *shape = &context->model->convs[cause->shape];
	const struct shape_use *use = &context->work.convs[cause->shape];
	const char *kernel = context->model->kernels[use->kernel].short_name;
	struct finding *finding = rule_raise(context, use->call);
	const char *which = alignment->fault == CONV_CHANNELS_IN ? "input" : "output";
	char text[160], least[32] = "";

	conv_describe(shape, text, sizeof(text));
	finding->cost_ms = rule_ms(context, cause->busy_ns);
	finding->gain_low_ms = cause->low_ns / 1e6 / context->steady_steps;
	finding->gain_high_ms = cause->high_ns / 1e6 / context->steady_steps;
	finding->draws_from = 1u << LEDGER_CONV | 1u << LEDGER_GEMM;
	finding->per_step = (double)cause->convs / context->steady_steps;
	finding_number(finding, "extent", alignment->extent);
	finding_number(finding, "aligned_bytes", alignment->aligned_bytes);
	finding_number(finding, "padded_extent", alignment->padded_best);
	finding_number(finding, "padded_extent_least", alignment->padded_least);
	finding_text(finding, "convolution", text);
	finding_text(finding, "kernel", kernel);
	finding_number(finding, "shapes", (double)cause->shapes);
	finding_number(finding, "convolution_ms_per_step", finding->cost_ms);
	finding_text(finding, "gain_from",
		     cause->is_measured ? "aligned twin in this run"
		     : context->gpu.row ? "roofline of the table"
					: "published range");
	finding_summary(finding,
			"%u %s channels are aligned to %u bytes only (%s); convolutions with them "
			"take %.2f ms of each %s (%.1f %%), the largest %s in %s.",
			alignment->extent, which, alignment->aligned_bytes,
			gemm_type_name(shape->type_x), finding->cost_ms, context->unit,
			rule_percent(context, finding->cost_ms), text, kernel);
	if (alignment->padded_best != alignment->padded_least)
		snprintf(least, sizeof(least), " (%u at least)", alignment->padded_least);
	finding_fix(finding,
		    "Make %u channels %u%s: Tensor Cores want multiples of 16 bytes, and the "
		    "layout channels last.",
		    alignment->extent, alignment->padded_best, least);
	rule_settle(context, finding);
}

size_t conv_alignment_raise(struct rule_context *context, double share_percent)
{
	const struct model *model = context->model;
	struct channels_cause *causes = NULL;
	size_t count = 0, capacity = 0, raised = 0;

	for (uint32_t i = 0; i < model->conv_count; i++) {
		const struct shape_use *use = &context->work.convs[i];
		struct conv_alignment alignment;
		struct channels_cause *cause;

		if (!use->products || use->kernel == MODEL_NONE)
			continue;
		if (!conv_has_fault(&model->convs[i], &model->kernels[use->kernel].traits))
			continue;
		alignment =
			conv_alignment_of(&model->convs[i], &model->kernels[use->kernel].traits);
		cause = cause_of(&causes, &count, &capacity, &alignment);
		if (use->busy_ns > cause->shape_ns) {
			cause->shape_ns = use->busy_ns;
			cause->shape = i;
			cause->alignment = alignment;
		}
		cause->busy_ns += use->busy_ns;
		cause->convs += use->products;
		cause->shapes++;
		estimate(context, i, &alignment, cause);
	}
	for (size_t c = 0; c < count; c++) {
		if (rule_share(context, causes[c].busy_ns) < share_percent)
			continue;
		raise_cause(context, &causes[c]);
		raised++;
	}
	free(causes);
	return raised;
}
