/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernel a gemm gets and what it costs. This is a model, not cuBLAS: the real heuristics are
 * not public. Its parts and where they come from:
 *
 * - Alignment in bytes: the conditions of cuBLAS's documentation, "Tensor Core usage": contiguous
 *   extents, leading dimensions and pointers of A, B and C in multiples of 16 bytes.
 * - Cost of misalignment: 272.7 against 398.4 TFLOP/s for a feed-forward size of 10922 against
 * 10944 on H100 (stas00/ml-engineering) is a factor 0.684 at 4 bytes. nanoGPT's padding of the
 * vocabulary 50257 to 50304 gained about 25 % of the step, with the head about a quarter of it: a
 * factor 0.5 at 2 bytes. The steps between and below are interpolated.
 * - Peaks: viewer/knowledge/gpus.tsv. Share of the peak that the best measured product reaches:
 *   A100 0.869, H100 0.803, B200 0.776 (ml-engineering), RTX 5090 0.796; elsewhere 0.8 is assumed.
 * - Tiles and waves: NVIDIA's Matrix Multiplication guide. time = waves * time of a tile on one SM;
 *   the order of the tiles' efficiency is the guide's, the factors are assumptions. The model takes
 *   the tile with the least time. No split-K.
 */
#include "simblas_internal.h"

#include <string.h>

#define KERNEL_FIXED_NS 2000.0 /* ramp-up and drain of a small gemm: an assumption */

struct tile {
	int m, n;
	double rate; /* of the best tile's */
};
static const struct tile tensor_tiles[] = {
	{256, 128, 1.00}, {128, 256, 1.00}, {128, 128, 0.95}, {256, 64, 0.90},
	{64, 256, 0.90},  {128, 64, 0.80},  {64, 128, 0.80},  {64, 64, 0.62},
};
static const struct tile simt_tiles[] = {
	{128, 128, 1.00},
	{128, 64, 0.92},
	{64, 64, 0.80},
	{32, 32, 0.45},
};

static int64_t ceil_div(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

/* The largest power of two up to 16 that divides the value. */
static int power_of_two(uint64_t value)
{
	int align = 16;

	while (align > 1 && value % (uint64_t)align)
		align /= 2;
	return align;
}

static int operand_align(const void *pointer, int64_t extent, int64_t ld, int64_t stride,
			 size_t size, bool is_pointer_batch)
{
	/* Where pointers lie in device memory, the library cannot look at them either. */
	uint64_t address = is_pointer_batch ? 0 : (uint64_t)(uintptr_t)pointer;

	return power_of_two(address | (uint64_t)extent * size | (uint64_t)ld * size |
			    (uint64_t)stride * size);
}

static int gemm_align(const struct simblas_gemm *g)
{
	bool is_array = g->is_pointer_batch, is_strided = g->batch > 1;
	int a = operand_align(g->a, g->opa == CUBLAS_OP_N ? g->m : g->k, g->lda,
			      is_strided ? g->stridea : 0, simblas_type_size(g->typea), is_array);
	int b = operand_align(g->b, g->opb == CUBLAS_OP_N ? g->k : g->n, g->ldb,
			      is_strided ? g->strideb : 0, simblas_type_size(g->typeb), is_array);
	int c = operand_align(g->c, g->m, g->ldc, is_strided ? g->stridec : 0,
			      simblas_type_size(g->typec), is_array);

	if (a > b)
		a = b;
	return a < c ? a : c;
}

/* May fp32 data go through TF32 units? */
static bool allows_tf32(const struct cublasContext *handle, const struct simblas_gemm *gemm)
{
	int mode = (int)handle->math & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;

	if (handle->tf32_override >= 0)
		return handle->tf32_override && gemm->compute != CUBLAS_COMPUTE_32F_PEDANTIC;
	switch ((int)gemm->compute) {
	case CUBLAS_COMPUTE_32F_FAST_TF32:
	case CUBLAS_COMPUTE_32F_FAST_16F:
	case CUBLAS_COMPUTE_32F_FAST_16BF:
		return true;
	case CUBLAS_COMPUTE_32F:
		return mode == CUBLAS_TF32_TENSOR_OP_MATH || mode == CUBLAS_TENSOR_OP_MATH;
	default:
		return false;
	}
}

static enum simblas_math choose_math(const struct cublasContext *handle,
				     const struct simblas_gemm *gemm)
{
	const struct simblas_gpu *gpu = &handle->gpu;

	switch ((int)gemm->typea) {
	case CUDA_R_16F:
		return gpu->fp16 > 0 && gpu->major >= 7 ? SIMBLAS_TENSOR_FP16 : SIMBLAS_SIMT_16;
	case CUDA_R_16BF:
		return gpu->bf16 > 0 ? SIMBLAS_TENSOR_BF16 : SIMBLAS_SIMT_16;
	case CUDA_R_8I:
		return gpu->int8 > 0 && gpu->major * 10 + gpu->minor >= 75 ? SIMBLAS_TENSOR_INT8
									   : SIMBLAS_SIMT_32;
	case CUDA_R_32F:
		return gpu->tf32 > 0 && allows_tf32(handle, gemm) ? SIMBLAS_TENSOR_TF32
								  : SIMBLAS_SIMT_32;
	case CUDA_R_64F:
		return gpu->fp64_tensor > 0 ? SIMBLAS_TENSOR_FP64 : SIMBLAS_SIMT_64;
	default:
		return SIMBLAS_SIMT_COMPLEX;
	}
}

/* FP64 outside Tensor Cores, as a share of fp32, by compute capability: 1/2 on the parts for double
 * precision (6.0, 7.0, 8.0, 9.0, 10.0), else 1/32 before Ampere and 1/64 since. */
static double fp64_share(const struct simblas_gpu *gpu)
{
	if (gpu->minor == 0 && gpu->major >= 6 && gpu->major <= 10)
		return 1.0 / 2;
	return gpu->major >= 8 ? 1.0 / 64 : 1.0 / 32;
}

static double peak_flops(const struct simblas_gpu *gpu, enum simblas_math math, cudaDataType_t type)
{
	switch (math) {
	case SIMBLAS_TENSOR_FP16:
		return gpu->fp16 * 1e12;
	case SIMBLAS_TENSOR_BF16:
		return gpu->bf16 * 1e12;
	case SIMBLAS_TENSOR_TF32:
		return gpu->tf32 * 1e12;
	case SIMBLAS_TENSOR_FP64:
		return gpu->fp64_tensor * 1e12;
	case SIMBLAS_TENSOR_INT8:
		return gpu->int8 * 1e12;
	case SIMBLAS_SIMT_64:
		return gpu->fp32 * fp64_share(gpu) * 1e12;
	case SIMBLAS_SIMT_COMPLEX:
		return gpu->fp32 * (type == CUDA_C_64F ? fp64_share(gpu) : 1) * 1e12;
	default:
		return gpu->fp32 * 1e12;
	}
}

static double best_share(const struct simblas_gpu *gpu)
{
	if (gpu->major == 8 && gpu->minor == 0)
		return 0.869;
	if (gpu->major == 9)
		return 0.803;
	if (gpu->major == 10)
		return 0.776;
	return gpu->major == 12 ? 0.796 : 0.8;
}

static double align_factor(const struct simblas_choice *choice)
{
	/* FP64 Tensor Core and CUDA-core kernels load element by element. */
	if (choice->math <= SIMBLAS_SIMT_COMPLEX || choice->math == SIMBLAS_TENSOR_FP64)
		return 1;
	switch (choice->align_bytes) {
	case 16:
		return 1;
	case 8:
		return 0.83;
	case 4:
		return 0.684;
	case 2:
		return 0.5;
	default:
		return 0.35;
	}
}

/* Time of a tile choice in units of (flops of one SM at the best tile's rate). */
static double tile_time(const struct simblas_gemm *g, const struct tile *tile, int sm_count,
			int64_t *tiles, int64_t *waves)
{
	*tiles = ceil_div(g->m, tile->m) * ceil_div(g->n, tile->n) * g->batch;
	*waves = ceil_div(*tiles, sm_count);
	return (double)*waves * tile->m * tile->n / tile->rate;
}

static double choose_tile(const struct simblas_gpu *gpu, const struct simblas_gemm *gemm,
			  struct simblas_choice *choice)
{
	bool is_tensor = choice->math > SIMBLAS_SIMT_COMPLEX;
	const struct tile *tiles = is_tensor ? tensor_tiles : simt_tiles;
	size_t count = is_tensor ? sizeof(tensor_tiles) / sizeof(tensor_tiles[0])
				 : sizeof(simt_tiles) / sizeof(simt_tiles[0]);
	double best = 0;

	/* Wide elements leave room in shared memory for the small tiles only. */
	if (choice->math == SIMBLAS_TENSOR_FP64) {
		tiles = &tensor_tiles[7];
		count = 1;
	} else if (choice->math == SIMBLAS_SIMT_64 || choice->math == SIMBLAS_SIMT_COMPLEX) {
		tiles = &simt_tiles[2];
		count = 2;
	}
	for (size_t i = 0; i < count; i++) {
		int64_t tile_count, waves;
		double time = tile_time(gemm, &tiles[i], gpu->sm_count, &tile_count, &waves);

		if (i && time >= best)
			continue;
		best = time;
		choice->tile_m = tiles[i].m;
		choice->tile_n = tiles[i].n;
		choice->tiles = tile_count;
		choice->waves = waves;
	}
	/* The tile shapes of one kind are all as good as the first of their list at best. */
	return best * (count == 1 ? tiles[0].rate : 1);
}

static double real_value(const void *pointer, cudaDataType_t type, cublasComputeType_t compute)
{
	union {
		uint16_t half;
		float single;
		double real;
		int32_t whole;
	} value = {0};

	if (compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC) {
		memcpy(&value.half, pointer, sizeof(value.half));
		return value.half & 0x7fff;
	}
	if (type == CUDA_R_64F || type == CUDA_C_64F) {
		memcpy(&value.real, pointer, sizeof(value.real));
		return value.real;
	}
	if (type == CUDA_R_32I) {
		memcpy(&value.whole, pointer, sizeof(value.whole));
		return value.whole;
	}
	memcpy(&value.single, pointer, sizeof(value.single));
	return (double)value.single;
}

/* C is read only if beta is not zero; a beta in device memory counts as zero, the usual case. */
static bool reads_c(const struct cublasContext *handle, const struct simblas_gemm *gemm)
{
	return handle->pointer_mode == CUBLAS_POINTER_MODE_HOST &&
	       real_value(gemm->beta, gemm->typec, gemm->compute) != 0;
}

void simblas_model_choose(const struct cublasContext *handle, const struct simblas_gemm *gemm,
			  struct simblas_choice *choice)
{
	const struct simblas_gpu *gpu = &handle->gpu;
	size_t size_a = simblas_type_size(gemm->typea), size_b = simblas_type_size(gemm->typeb),
	       size_c = simblas_type_size(gemm->typec);
	double m = (double)gemm->m, n = (double)gemm->n, k = (double)gemm->k;
	double batch = (double)gemm->batch, time, padded_k;
	bool is_complex = gemm->typea == CUDA_C_32F || gemm->typea == CUDA_C_64F;

	*choice = (struct simblas_choice){.math = choose_math(handle, gemm)};
	choice->align_bytes = gemm_align(gemm);
	choice->align_elements = choice->align_bytes / (int)size_a;
	if (choice->align_elements < 1)
		choice->align_elements = 1;
	time = choose_tile(gpu, gemm, choice);
	simblas_names_write(gpu, gemm, choice);
	padded_k = (double)(ceil_div(gemm->k, choice->tile_k) * choice->tile_k);
	choice->cost = (struct simcuda_cost){
		.fixed_ns = KERNEL_FIXED_NS,
		.bytes = batch * (m * k * (double)size_a + k * n * (double)size_b +
				  m * n * (double)size_c * (reads_c(handle, gemm) ? 2 : 1)),
		.flops = batch * 2 * m * n * k * (is_complex ? 4 : 1),
		.peak_flops = peak_flops(gpu, choice->math, gemm->typea),
		/* Useful share of the work that the waves of whole tiles do. */
		.efficiency = best_share(gpu) * align_factor(choice),
	};
	if (gemm->k > 0)
		choice->cost.efficiency *=
			batch * m * n * k / (time * (double)gpu->sm_count * padded_k);
}
