/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of matrix products and convolutions: each is kept once, and calls refer to it by index.
 */
#include <string.h>

#include "array.h"
#include "map.h"
#include "model_internal.h"

static uint8_t pointer_align(uint64_t pointer)
{
	uint64_t lowest = pointer & (~pointer + 1);

	return lowest > 128 ? 128 : (uint8_t)lowest; /* 0 for NULL: not known */
}

/* Where a shape is kept, or is to be: then *is_new. Shapes are compared as bytes. */
static uint64_t *shape_slot(struct map *known, const void *shapes, const void *shape, size_t bytes,
			    bool *is_new)
{
	for (uint64_t hash = map_hash_bytes(shape, bytes);; hash++) {
		uint64_t *slot = map_slot(known, hash, is_new);

		if (*is_new || !memcmp((const char *)shapes + *slot * bytes, shape, bytes))
			return slot;
	}
}

uint32_t collect_gemm(struct model_builder *builder, const struct record_gemm *record)
{
	struct model *model = builder->model;
	struct gemm_shape shape;
	uint64_t *slot;
	bool is_new;

	memset(&shape, 0, sizeof(shape)); /* padding too */
	shape.m = record->m;
	shape.n = record->n;
	shape.k = record->k;
	shape.lda = record->lda;
	shape.ldb = record->ldb;
	shape.ldc = record->ldc;
	shape.batch = record->batch ? record->batch : 1;
	shape.op_a = record->op_a;
	shape.op_b = record->op_b;
	shape.type_a = record->type_a;
	shape.type_b = record->type_b;
	shape.type_c = record->type_c;
	shape.type_compute = record->type_compute;
	shape.math_flags = record->math_flags;
	shape.align_a = pointer_align(record->a);
	shape.align_b = pointer_align(record->b);
	shape.align_c = pointer_align(record->c);
	slot = shape_slot(&builder->gemms, model->gemms, &shape, sizeof(shape), &is_new);
	if (!is_new)
		return (uint32_t)*slot;
	if (model->gemm_count == builder->gemm_capacity)
		model->gemms =
			array_grow(model->gemms, &builder->gemm_capacity, sizeof(*model->gemms));
	*slot = model->gemm_count;
	model->gemms[model->gemm_count++] = shape;
	return (uint32_t)*slot;
}

uint32_t collect_conv(struct model_builder *builder, const struct record_conv *record)
{
	struct model *model = builder->model;
	struct conv_shape shape;
	uint64_t *slot;
	bool is_new;

	memset(&shape, 0, sizeof(shape)); /* padding too */
	shape.batch = record->batch;
	shape.channels_in = record->channels_in;
	shape.channels_out = record->channels_out;
	shape.groups = record->groups;
	memcpy(shape.in, record->in, sizeof(shape.in));
	memcpy(shape.filter, record->filter, sizeof(shape.filter));
	memcpy(shape.out, record->out, sizeof(shape.out));
	memcpy(shape.stride, record->stride, sizeof(shape.stride));
	memcpy(shape.dilation, record->dilation, sizeof(shape.dilation));
	shape.operations = record->operations;
	shape.dimensions = record->dimensions;
	shape.op = record->op;
	shape.layout_x = record->layout_x;
	shape.layout_w = record->layout_w;
	shape.layout_y = record->layout_y;
	shape.type_x = record->type_x;
	shape.type_w = record->type_w;
	shape.type_y = record->type_y;
	shape.type_compute = record->type_compute;
	shape.math_flags = record->math_flags;
	slot = shape_slot(&builder->convs, model->convs, &shape, sizeof(shape), &is_new);
	if (!is_new)
		return (uint32_t)*slot;
	if (model->conv_count == builder->conv_capacity)
		model->convs =
			array_grow(model->convs, &builder->conv_capacity, sizeof(*model->convs));
	*slot = model->conv_count;
	model->convs[model->conv_count++] = shape;
	return (uint32_t)*slot;
}

/* The nearest call of this kind at or around one. What runs inside another one of its kind, or of
 * one that stands for it, is the same thing. */
static uint32_t nearest(const struct model *model, uint32_t call, uint8_t kind)
{
	while (call != MODEL_NONE &&
	       (model->calls[call].kind != kind || (model->calls[call].flags & CALL_REDUNDANT)))
		call = model->calls[call].parent;
	return call;
}

uint32_t model_call_gemm(const struct model *model, uint32_t call)
{
	return nearest(model, call, RECORD_KIND_gemm);
}

uint32_t model_call_conv(const struct model *model, uint32_t call)
{
	return nearest(model, call, RECORD_KIND_conv);
}
