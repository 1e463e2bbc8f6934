/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the simulated cuBLAS's kernels, in the forms that the real library's kernels have in
 * published profiles (CUTLASS's profiler.md, cutlass issues 1025 and 2286, PyTorch and TensorRT-LLM
 * traces). Which form a shape gets is a model: family by architecture and element type, tile from
 * simblas_model.c, alignN from the operands.
 */
#include "simblas_internal.h"

#include <stdio.h>

static const char *short_name(cudaDataType_t type)
{
	switch ((int)type) {
	case CUDA_R_16F:
		return "f16";
	case CUDA_R_16BF:
		return "bf16";
	case CUDA_R_64F:
		return "f64";
	case CUDA_R_8I:
		return "s8";
	case CUDA_R_32I:
		return "s32";
	default:
		return "f32";
	}
}

/* Legacy cuBLAS kernels write fp16 where CUTLASS writes f16. */
static const char *legacy_name(cudaDataType_t type)
{
	switch ((int)type) {
	case CUDA_R_16F:
		return "fp16";
	case CUDA_R_16BF:
		return "bf16";
	default:
		return "fp32";
	}
}

static char nvjet_letter(cudaDataType_t type)
{
	switch ((int)type) {
	case CUDA_R_16F:
		return 'h';
	case CUDA_R_16BF:
		return 't';
	default:
		return 's';
	}
}

static char operation_letter(cublasOperation_t operation)
{
	return operation == CUBLAS_OP_N ? 'n' : operation == CUBLAS_OP_T ? 't' : 'c';
}

static bool is_half_compute(const struct simblas_gemm *gemm)
{
	return gemm->compute == CUBLAS_COMPUTE_16F || gemm->compute == CUBLAS_COMPUTE_16F_PEDANTIC;
}

static const char *family(const struct simblas_gpu *gpu)
{
	if (gpu->major >= 8)
		return "ampere";
	if (gpu->major == 7)
		return gpu->minor >= 5 ? "turing" : "volta";
	return "maxwell";
}

struct naming {
	const struct simblas_gpu *gpu;
	const struct simblas_gemm *gemm;
	struct simblas_choice *choice;
	char layout[3];
};

static void write_cutlass(const struct naming *n, int arch, const char *instruction, int tile_k,
			  int stages)
{
	struct simblas_choice *c = n->choice;
	/* CUTLASS leaves out the output type where it is the accumulator's. */
	const char *out = n->gemm->typec == CUDA_R_32F || n->gemm->typec == CUDA_R_32I
				  ? ""
				  : short_name(n->gemm->typec);

	c->tile_k = tile_k;
	c->stages = stages;
	c->threads = c->tile_m * c->tile_n >= 256 * 128 ? 256 : 128;
	if (c->math == SIMBLAS_TENSOR_TF32)
		snprintf(c->name, sizeof(c->name), "cutlass_%d_tensorop_%s_%dx%d_%dx%d_%s_align%d",
			 arch, instruction, c->tile_m, c->tile_n, tile_k, stages, n->layout,
			 c->align_elements);
	else
		snprintf(c->name, sizeof(c->name),
			 "cutlass_%d_tensorop_%s%s%s_%s_%dx%d_%dx%d_%s_align%d", arch, out,
			 *out ? "_" : "", instruction, short_name(n->gemm->typea), c->tile_m,
			 c->tile_n, tile_k, stages, n->layout, c->align_elements);
}

static void write_legacy(const struct naming *n, const char *shape, int tile_k, int stages)
{
	struct simblas_choice *c = n->choice;
	char depth[32] = "";

	c->tile_k = tile_k;
	c->stages = stages;
	c->threads = c->tile_m * c->tile_n >= 256 * 128 ? 256 : 128;
	if (n->gpu->major >= 8)
		snprintf(depth, sizeof(depth), "stages_%dx%d_", tile_k, stages);
	if (is_half_compute(n->gemm))
		snprintf(c->name, sizeof(c->name), "%s_h%sgemm_%dx%d_ldg8_%s%s", family(n->gpu),
			 shape, c->tile_m, c->tile_n, depth, n->layout);
	else
		snprintf(c->name, sizeof(c->name), "%s_%s_s%sgemm_%s_%dx%d_ldg8_f2f_%s%s",
			 family(n->gpu), legacy_name(n->gemm->typea), shape,
			 legacy_name(n->gemm->typec), c->tile_m, c->tile_n, depth, n->layout);
}

/* Hopper's and data centre Blackwell's own kernels load by TMA, which needs 16 bytes, and are
 * persistent: one block per SM walks over the tiles. */
static void write_nvjet(const struct naming *n)
{
	struct simblas_choice *c = n->choice;
	char in = nvjet_letter(n->gemm->typea), out = nvjet_letter(n->gemm->typec);
	bool is_wide = c->tile_n > c->tile_m;

	c->tile_k = 64;
	c->stages = 4;
	c->threads = 384;
	c->is_persistent = true;
	snprintf(c->name, sizeof(c->name), "nvjet_sm%d_%c%c%c_%dx%d_64x4_%s_%c_bz_coop%c_%c%c%c",
		 n->gpu->major * 10, in, is_half_compute(n->gemm) ? 'h' : 's', out, c->tile_m,
		 c->tile_n, is_wide ? "1x2" : "2x1", is_wide ? 'h' : 'v', is_wide ? 'B' : 'A',
		 n->layout[0] == 'n' ? 'N' : 'T', n->layout[1] == 'n' ? 'N' : 'T', 'N');
}

static void write_16_bit(const struct naming *n)
{
	struct simblas_choice *c = n->choice;
	const struct simblas_gpu *gpu = n->gpu;
	const char *half = is_half_compute(n->gemm) ? "h16816gemm" : "s16816gemm";
	bool is_aligned = c->align_bytes == 16;

	if (gpu->major == 7) {
		const char *shape = gpu->minor >= 5 ? "1688" : "884";
		char instruction[16];

		if (is_aligned) {
			write_legacy(n, shape, 32, 2);
			return;
		}
		snprintf(instruction, sizeof(instruction), "%c%sgemm",
			 is_half_compute(n->gemm) ? 'h' : 's', shape);
		write_cutlass(n, gpu->minor >= 5 ? 75 : 70, instruction, 32, 2);
	} else if (is_aligned && (gpu->major == 9 || gpu->major == 10)) {
		write_nvjet(n);
	} else if (is_aligned && gpu->major == 8) {
		/* 8.6 and 8.9 have 99 KiB of shared memory for a block, 8.0 has 163. */
		bool is_large = gpu->minor == 0;

		write_legacy(n, "16816", is_large ? 64 : 32, is_large ? 3 : 4);
	} else if (c->align_elements >= 2) {
		/* cp.async copies 4 bytes at least: two elements (CUTLASS's generator). */
		write_cutlass(n, 80, half, 32, is_aligned ? 3 : 4);
	} else {
		/* One element at a time: the Turing kernel (cutlass issue 2286, on an A30). */
		write_cutlass(n, 75, is_half_compute(n->gemm) ? "h1688gemm" : "s1688gemm", 32, 2);
	}
}

static void write_tf32(const struct naming *n)
{
	struct simblas_choice *c = n->choice;

	if (c->align_bytes < 16 || n->gpu->major == 12) {
		write_cutlass(n, 80, "s1688gemm", 16, 3);
		return;
	}
	c->tile_k = n->gpu->major >= 9 ? 32 : 16;
	c->stages = n->gpu->major >= 9 ? 3 : 4;
	c->threads = n->gpu->major >= 9 ? 384 : 128;
	if (n->gpu->major >= 9)
		snprintf(c->name, sizeof(c->name),
			 "sm%d_xmma_gemm_f32f32_tf32f32_f32_%s_n_tilesize%dx%dx32_"
			 "warpgroupsize1x1x1_"
			 "execute_segment_k_off_kernel__5x_cublas",
			 n->gpu->major * 10, n->layout, c->tile_m, c->tile_n);
	else
		snprintf(c->name, sizeof(c->name),
			 "sm80_xmma_gemm_f32f32_tf32f32_f32_%s_n_tilesize%dx%dx16_stage4_"
			 "warpsize2x2x1_tensor16x8x8_kernel",
			 n->layout, c->tile_m, c->tile_n);
}

/* CUDA-core kernels; the letter is that of BLAS: s, d, c, z, and h for 16-bit input. */
static void write_simt(const struct naming *n, char letter)
{
	struct simblas_choice *c = n->choice;

	c->tile_k = 8;
	c->stages = 2;
	c->threads = c->tile_m >= 128 && c->tile_n >= 128 ? 256 : 128;
	if (n->gpu->major >= 8 && c->align_bytes < 16 && letter == 's') {
		c->stages = 5;
		snprintf(c->name, sizeof(c->name), "cutlass_80_simt_sgemm_%dx%d_8x5_%s_align1",
			 c->tile_m, c->tile_n, n->layout);
	} else {
		snprintf(c->name, sizeof(c->name), "%s_%cgemm_%dx%d_%s", family(n->gpu), letter,
			 c->tile_m, c->tile_n, n->layout);
	}
}

void simblas_names_write(const struct simblas_gpu *gpu, const struct simblas_gemm *gemm,
			 struct simblas_choice *choice)
{
	const struct naming n = {
		gpu, gemm, choice, {operation_letter(gemm->opa), operation_letter(gemm->opb), 0}};

	switch (choice->math) {
	case SIMBLAS_TENSOR_FP16:
	case SIMBLAS_TENSOR_BF16:
		write_16_bit(&n);
		break;
	case SIMBLAS_TENSOR_TF32:
		write_tf32(&n);
		break;
	case SIMBLAS_TENSOR_FP64:
		choice->align_elements = 1;
		choice->tile_k = 16;
		choice->stages = 4;
		choice->threads = 128;
		snprintf(choice->name, sizeof(choice->name),
			 "cutlass_80_tensorop_d884gemm_%dx%d_16x4_%s_align1", choice->tile_m,
			 choice->tile_n, n.layout);
		break;
	case SIMBLAS_TENSOR_INT8:
		write_cutlass(&n, gpu->major >= 8 ? 80 : 75,
			      gpu->major >= 8 ? "i16832gemm" : "i8816gemm", 64, 3);
		break;
	case SIMBLAS_SIMT_16:
		write_simt(&n, 'h');
		break;
	case SIMBLAS_SIMT_64:
		write_simt(&n, 'd');
		break;
	case SIMBLAS_SIMT_COMPLEX:
		write_simt(&n, gemm->typea == CUDA_C_64F ? 'z' : 'c');
		break;
	default:
		write_simt(&n, 's');
	}
}
