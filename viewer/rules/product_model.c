/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roofline and tiles of matrix products, from the table of GPUs and the kernels' names.
 */
#include "product_model.h"

#include <math.h>

#define ROOF_SHARE 0.60 /* of the memory's bandwidth */

const char *product_why_unknown(const struct rule_context *context)
{
	if (context->gpu.partition == GPU_VGPU)
		return "a vGPU has a share of unknown size";
	if (!context->gpu.row)
		return "this GPU is not in the table";
	return NULL;
}

uint16_t product_capability(const struct rule_context *context, uint16_t *minor)
{
	const struct record_device *record = context->model->devices[context->device].record;

	if (record && record->cc_major) {
		*minor = record->cc_minor;
		return record->cc_major;
	}
	*minor = context->gpu.row ? context->gpu.row->cc_minor : 0;
	return context->gpu.row ? context->gpu.row->cc_major : 0;
}

double product_peak_tflops(const struct rule_context *context, const struct gemm_shape *shape,
			   const struct kernel_traits *traits)
{
	const struct gpu_row *row = context->gpu.row;

	if (product_why_unknown(context))
		return 0;
	if (shape->type_a == ELEMENT_F32 && traits->is_simt)
		return row->fp32_tflops * context->gpu.sm_share;
	if (!traits->is_tensor_op)
		return 0;
	return gpu_row_matrix_tflops(row, shape->type_a, shape->type_a == ELEMENT_F32) *
	       context->gpu.sm_share;
}

double product_memory_gbs(const struct rule_context *context)
{
	return product_why_unknown(context) ? 0
					    : context->gpu.row->memory_gbs * context->gpu.sm_share;
}

double product_sms(const struct rule_context *context)
{
	const struct record_device *record = context->model->devices[context->device].record;

	if (context->gpu.partition == GPU_VGPU)
		return 0;
	if (record && record->sm_count)
		return record->sm_count;
	return context->gpu.row ? context->gpu.row->sm_count * context->gpu.sm_share : 0;
}

double product_ideal_ns(const struct rule_context *context, const struct gemm_shape *shape)
{
	const struct gpu_row *row = context->gpu.row;
	double peak, compute_ns, memory_ns, tiles, waves, sms;

	if (product_why_unknown(context))
		return 0;
	peak = gpu_row_matrix_tflops(row, shape->type_a, shape->math_flags & 1);
	if (peak <= 0 || row->memory_gbs <= 0 || !row->sm_count)
		return 0;
	sms = row->sm_count * context->gpu.sm_share;
	/* The libraries choose smaller tiles for small products: 128 x 256 is the largest. */
	tiles = (double)((shape->m + 127) / 128) * ((shape->n + 255) / 256) * shape->batch;
	waves = tiles / sms;
	if (waves < 1)
		waves = 1;
	compute_ns =
		gemm_flops(shape) / (peak * 1e3 * context->gpu.sm_share * PRODUCT_REACHABLE_SHARE);
	compute_ns *= waves > tiles / sms ? waves * sms / tiles : 1;
	memory_ns = gemm_bytes(shape) / product_memory_gbs(context);
	return compute_ns > memory_ns ? compute_ns : memory_ns;
}

static double tiles_of(double m, double n, double tile_m, double tile_n)
{
	return ceil(m / tile_m) * ceil(n / tile_n);
}

struct product_tiles product_tiles_of(const struct gemm_shape *shape,
				      const struct kernel_traits *traits)
{
	double as_named, turned;

	if (!traits->tile_m || !traits->tile_n)
		return (struct product_tiles){0, 0};
	as_named = tiles_of(shape->m, shape->n, traits->tile_m, traits->tile_n) * shape->batch;
	turned = tiles_of(shape->m, shape->n, traits->tile_n, traits->tile_m) * shape->batch;
	return (struct product_tiles){as_named < turned ? as_named : turned,
				      as_named < turned ? turned : as_named};
}

bool product_is_memory_bound(const struct rule_context *context, const struct gemm_shape *shape,
			     const struct kernel_traits *traits)
{
	double peak = product_peak_tflops(context, shape, traits);
	double roof = product_memory_gbs(context);

	return peak > 0 && roof > 0 && gemm_bytes(shape) / roof > gemm_flops(shape) / (peak * 1e3);
}

bool product_is_at_memory_roof(const struct rule_context *context, uint32_t index)
{
	const struct gemm_shape *shape = &context->model->gemms[index];
	const struct shape_use *use = &context->work.shapes[index];
	double roof = product_memory_gbs(context);

	if (roof <= 0 || use->busy_ns <= 0)
		return false;
	return gemm_bytes(shape) * (double)use->products / (double)use->busy_ns >=
	       ROOF_SHARE * roof;
}

void product_describe(struct finding *finding, const struct gemm_shape *shape)
{
	finding_number(finding, "m", shape->m);
	finding_number(finding, "n", shape->n);
	finding_number(finding, "k", shape->k);
	finding_number(finding, "batch", shape->batch);
	finding_text(finding, "type", gemm_type_name(shape->type_a));
}
