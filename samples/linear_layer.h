/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three matrix products of a linear layer y = x W', as PyTorch asks cuBLAS for them, in bf16
 * with fp32 accumulation. Row-major here, column-major there, so cuBLAS's m is the layer's width.
 * Which extents are contiguous in memory, and so have to be aligned: `in` and `out`, never `rows`.
 */
#ifndef GPUTRACE_SAMPLES_LINEAR_LAYER_H
#define GPUTRACE_SAMPLES_LINEAR_LAYER_H

#include "gpu.h"

struct linear_layer {
	int in, out;  /* weight is out x in, row-major */
	void *weight; /* bf16 */
	void *gradient;
};

#define LINEAR_BYTES_PER_ELEMENT 2u

static const float linear_one = 1.0f, linear_zero = 0.0f;

static inline size_t linear_weights(const struct linear_layer *layer)
{
	return (size_t)layer->in * (size_t)layer->out;
}

static inline void linear_open(struct linear_layer *layer, long in, long out)
{
	layer->in = (int)in;
	layer->out = (int)out;
	GPU_TRY(gpu_alloc(&layer->weight, linear_weights(layer) * LINEAR_BYTES_PER_ELEMENT));
	GPU_TRY(gpu_alloc(&layer->gradient, linear_weights(layer) * LINEAR_BYTES_PER_ELEMENT));
}

static inline void linear_close(struct linear_layer *layer)
{
	GPU_TRY(gpu_free(layer->weight));
	GPU_TRY(gpu_free(layer->gradient));
}

/* y (rows x out) = x (rows x in) W' */
static inline void linear_forward(const struct linear_layer *layer, int rows, void *y,
				  const void *x)
{
	GPU_TRY(gpu_gemm(GPU_BLAS_T, GPU_BLAS_N, layer->out, rows, layer->in, &linear_one,
			 layer->weight, GPU_BLAS_BF16, layer->in, x, GPU_BLAS_BF16, layer->in,
			 &linear_zero, y, GPU_BLAS_BF16, layer->out, GPU_BLAS_COMPUTE_F32,
			 GPU_BLAS_ALGORITHM_DEFAULT));
}

/* dx (rows x in) = dy (rows x out) W;  dW (out x in) = dy' x */
static inline void linear_backward(const struct linear_layer *layer, int rows, void *dx,
				   const void *dy, const void *x)
{
	GPU_TRY(gpu_gemm(GPU_BLAS_N, GPU_BLAS_N, layer->in, rows, layer->out, &linear_one,
			 layer->weight, GPU_BLAS_BF16, layer->in, dy, GPU_BLAS_BF16, layer->out,
			 &linear_zero, dx, GPU_BLAS_BF16, layer->in, GPU_BLAS_COMPUTE_F32,
			 GPU_BLAS_ALGORITHM_DEFAULT));
	GPU_TRY(gpu_gemm(GPU_BLAS_N, GPU_BLAS_T, layer->in, layer->out, rows, &linear_one, x,
			 GPU_BLAS_BF16, layer->in, dy, GPU_BLAS_BF16, layer->out, &linear_zero,
			 layer->gradient, GPU_BLAS_BF16, layer->in, GPU_BLAS_COMPUTE_F32,
			 GPU_BLAS_ALGORITHM_DEFAULT));
}

#endif
