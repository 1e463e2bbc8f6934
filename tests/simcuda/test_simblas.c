/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated cuBLAS: argument checks, which kernel a shape gets, what it costs, and the exact
 * log. Each case runs in a process of its own on the GPU that it names.
 */
#include "simtest_child.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

static cublasHandle_t handle;
static char *memory; /* device addresses, never touched */

static void start(void)
{
	SIMTEST_EQUAL(cudaMalloc((void **)&memory, (size_t)1 << 30), cudaSuccess);
	SIMTEST_EQUAL(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
}

/* C = A B with the leading dimensions that the shape needs. */
static cublasStatus_t gemm(cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k,
			   cudaDataType_t type, cublasComputeType_t compute, size_t offset)
{
	const float alpha = 1, beta = 0;

	return cublasGemmEx(handle, opa, opb, m, n, k, &alpha, memory + offset, type,
			    opa == CUBLAS_OP_N && m ? m : k, memory, type,
			    opb == CUBLAS_OP_N ? k : n, &beta, memory, type, m ? m : 1, compute,
			    CUBLAS_GEMM_DEFAULT);
}

static void check_arguments(void)
{
	const float one = 1;

	SIMTEST_EQUAL(cublasSgemm(NULL, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, NULL, 1, NULL, 1,
				  &one, NULL, 1),
		      CUBLAS_STATUS_NOT_INITIALIZED);
	start();
	SIMTEST_EQUAL(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, -1, 1, 1, &one, NULL, 1, NULL,
				  1, &one, NULL, 1),
		      CUBLAS_STATUS_INVALID_VALUE);
	/* lda is against m without, against k with transposition. */
	SIMTEST_EQUAL(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 8, 4, &one, (float *)memory,
				  63, (float *)memory, 4, &one, (float *)memory, 64),
		      CUBLAS_STATUS_INVALID_VALUE);
	SIMTEST_EQUAL(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, 64, 8, 4, &one, (float *)memory,
				  4, (float *)memory, 4, &one, (float *)memory, 64),
		      CUBLAS_STATUS_SUCCESS);
	SIMTEST_EQUAL(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 8, 4, NULL, (float *)memory,
				  64, (float *)memory, 4, &one, (float *)memory, 64),
		      CUBLAS_STATUS_INVALID_VALUE);
	SIMTEST_EQUAL(
		gemm((cublasOperation_t)9, CUBLAS_OP_N, 8, 8, 8, CUDA_R_16F, CUBLAS_COMPUTE_32F, 0),
		CUBLAS_STATUS_INVALID_VALUE);
	SIMTEST_EQUAL(gemm(CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, CUDA_R_64F, CUBLAS_COMPUTE_32F, 0),
		      CUBLAS_STATUS_NOT_SUPPORTED);
	SIMTEST_EQUAL(gemm(CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, CUDA_R_16BF, CUBLAS_COMPUTE_16F, 0),
		      CUBLAS_STATUS_NOT_SUPPORTED);
	SIMTEST_EQUAL(gemm(CUBLAS_OP_N, CUBLAS_OP_N, 0, 8, 8, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 0),
		      CUBLAS_STATUS_SUCCESS);
	SIMTEST_EQUAL(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
}

static void bad_arguments_give_the_documented_status(void **state)
{
	struct simtest_log *log;

	(void)state;
	assert_int_equal(simtest_child_run(check_arguments, NULL), 0);
	log = simtest_log_read();
	/* Of all these calls one launched: the transposed one. */
	assert_int_equal(simtest_log_count(log, "call", "cuLaunchKernel"), 1);
	simtest_log_free(log);
}

static void run_shapes(void)
{
	const float alpha = 1, beta = 0;

	start();
	gemm(CUBLAS_OP_T, CUBLAS_OP_N, 50304, 8192, 768, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 0);
	gemm(CUBLAS_OP_T, CUBLAS_OP_N, 50257, 8192, 768, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 0);
	gemm(CUBLAS_OP_N, CUBLAS_OP_T, 10922, 4096, 4096, CUDA_R_16F, CUBLAS_COMPUTE_32F, 0);
	gemm(CUBLAS_OP_T, CUBLAS_OP_N, 768, 31, 768, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 0);
	gemm(CUBLAS_OP_N, CUBLAS_OP_N, 4096, 4096, 4096, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 8);
	gemm(CUBLAS_OP_N, CUBLAS_OP_N, 4096, 4096, 4096, CUDA_R_32F, CUBLAS_COMPUTE_32F, 0);
	gemm(CUBLAS_OP_N, CUBLAS_OP_N, 4096, 4096, 4096, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32,
	     0);
	gemm(CUBLAS_OP_N, CUBLAS_OP_N, 1001, 1001, 1001, CUDA_R_32F, CUBLAS_COMPUTE_32F, 0);
	cublasGemmStridedBatchedEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1024, 1024, 64, &alpha, memory,
				   CUDA_R_16F, 64, 65536, memory, CUDA_R_16F, 64, 65536, &beta,
				   memory, CUDA_R_16F, 1024, 1048576, 96, CUBLAS_COMPUTE_32F,
				   CUBLAS_GEMM_DEFAULT);
}

static const char *launched(const struct simtest_log *log, size_t n)
{
	const struct simtest_line *line = simtest_log_find(log, "call", "cuLaunchKernel", n);

	assert_non_null(line);
	return simtest_log_value(line, "name");
}

static void assert_has(const char *name, const char *part)
{
	if (!strstr(name, part))
		fail_msg("\"%s\" is not in the kernel name %s", part, name);
}

static void kernel_names_on_ampere_follow_type_and_alignment(void **state)
{
	struct simtest_log *log;

	(void)state;
	assert_int_equal(simtest_child_run(run_shapes, NULL), 0);
	log = simtest_log_read();
	assert_string_equal(launched(log, 0),
			    "ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_tn");
	assert_has(launched(log, 1), "cutlass_75_tensorop_bf16_s1688gemm_bf16_");
	assert_has(launched(log, 1), "_tn_align1");
	assert_has(launched(log, 2), "cutlass_80_tensorop_f16_s16816gemm_f16_");
	assert_has(launched(log, 2), "_nt_align2");
	/* A batch of 31 is contiguous nowhere. */
	assert_has(launched(log, 3), "ampere_bf16_s16816gemm_bf16_");
	assert_has(launched(log, 4), "_nn_align4"); /* the pointer is 8 bytes off */
	assert_has(launched(log, 5), "ampere_sgemm_");
	assert_has(launched(log, 6), "f32f32_tf32f32_f32_nn_n_tilesize");
	assert_has(launched(log, 7), "cutlass_80_simt_sgemm_");
	assert_has(launched(log, 8), "ampere_fp16_s16816gemm_fp16_");
	simtest_log_free(log);
}

static void kernel_names_on_hopper_follow_type_and_alignment(void **state)
{
	const char *const settings[] = {"SIMCUDA_GPU=h100-sxm", NULL};
	struct simtest_log *log;

	(void)state;
	assert_int_equal(simtest_child_run(run_shapes, settings), 0);
	log = simtest_log_read();
	assert_has(launched(log, 0), "nvjet_sm90_tst_");
	assert_has(launched(log, 1), "cutlass_75_tensorop_bf16_s1688gemm_bf16_");
	assert_has(launched(log, 2), "cutlass_80_tensorop_f16_s16816gemm_f16_");
	assert_has(launched(log, 5), "sgemm");
	assert_has(launched(log, 6), "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize");
	simtest_log_free(log);
}

static void kernels_fit_every_architecture(void **state)
{
	static const char *const gpus[] = {"SIMCUDA_GPU=rtx4090", "SIMCUDA_GPU=Tesla T4",
					   "SIMCUDA_GPU=Tesla V100-SXM2-16GB", "SIMCUDA_GPU=A10",
					   "SIMCUDA_GPU=Tesla P100-SXM2-16GB"};
	struct simtest_log *log;

	(void)state;
	for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
		const char *const settings[] = {gpus[i], NULL};

		assert_int_equal(simtest_child_run(run_shapes, settings), 0);
		log = simtest_log_read();
		for (size_t n = 0; n < 9; n++) {
			const struct simtest_line *line =
				simtest_log_find(log, "call", "cuLaunchKernel", n);

			assert_string_equal(simtest_log_field(line, 4), "0");
			assert_true(strlen(launched(log, n)) > 8);
		}
		simtest_log_free(log);
	}
}

static void log_has_every_argument_of_every_call(void **state)
{
	struct simtest_log *log;
	const struct simtest_line *line;

	(void)state;
	assert_int_equal(simtest_child_run(run_shapes, NULL), 0);
	log = simtest_log_read();
	line = simtest_log_find(log, "blas", "cublasGemmEx", 1);
	assert_non_null(line);
	assert_string_equal(simtest_log_field(line, 4), "0");
	assert_string_equal(simtest_log_value(line, "m"), "50257");
	assert_string_equal(simtest_log_value(line, "n"), "8192");
	assert_string_equal(simtest_log_value(line, "k"), "768");
	assert_string_equal(simtest_log_value(line, "lda"), "768");
	assert_string_equal(simtest_log_value(line, "ldb"), "768");
	assert_string_equal(simtest_log_value(line, "ldc"), "50257");
	assert_string_equal(simtest_log_value(line, "opa"), "1");
	assert_string_equal(simtest_log_value(line, "opb"), "0");
	assert_string_equal(simtest_log_value(line, "typea"), "14"); /* CUDA_R_16BF */
	assert_string_equal(simtest_log_value(line, "batch"), "1");
	line = simtest_log_find(log, "blas", "cublasGemmStridedBatchedEx", 0);
	assert_string_equal(simtest_log_value(line, "batch"), "96");
	simtest_log_free(log);
}

/* How long the n-th kernel took, by the log. */
static double kernel_ms(const struct simtest_log *log, size_t n)
{
	for (size_t i = 0; i < log->count; i++) {
		const struct simtest_line *line = &log->lines[i];

		if (!strcmp(simtest_log_field(line, 0), "gpu") &&
		    !strcmp(simtest_log_field(line, 2), "kernel") && n-- == 0)
			return 1e-6 * (double)(strtoull(simtest_log_field(line, 4), NULL, 10) -
					       strtoull(simtest_log_field(line, 3), NULL, 10));
	}
	fail_msg("the log has too few kernels");
	return 0;
}

static void run_bf16(int m, int n, int k)
{
	SIMTEST_EQUAL(gemm(CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 0),
		      CUBLAS_STATUS_SUCCESS);
	SIMTEST_EQUAL(cudaDeviceSynchronize(), cudaSuccess);
}

static void run_feed_forward(void)
{
	start();
	run_bf16(10922, 16384, 4096);
	run_bf16(10944, 16384, 4096);
}

/* 10922 against 10944 on H100: 272.7 and 398.4 TFLOP/s (ml-engineering). */
static void unpadded_feed_forward_costs_what_was_published(void **state)
{
	const char *const settings[] = {"SIMCUDA_GPU=h100-sxm", NULL};
	struct simtest_log *log;
	double slowdown;

	(void)state;
	assert_int_equal(simtest_child_run(run_feed_forward, settings), 0);
	log = simtest_log_read();
	slowdown = kernel_ms(log, 0) / kernel_ms(log, 1);
	simtest_log_free(log);
	assert_true(slowdown > 398.4 / 272.7 * 0.98 && slowdown < 398.4 / 272.7 * 1.02);
}

static void run_waves(void)
{
	start();
	run_bf16(256 * 12, 128 * 9, 8192);
	run_bf16(256 * 12, 128 * 9 + 128, 8192);
	run_bf16(256 * 108, 128 * 16, 8192);
}

static void cost_follows_tiles_waves_and_peak(void **state)
{
	struct simtest_log *log;
	double one_wave, more_waves, tflops;

	(void)state;
	assert_int_equal(simtest_child_run(run_waves, NULL), 0);
	log = simtest_log_read();
	one_wave = kernel_ms(log, 0);
	more_waves = kernel_ms(log, 1);
	tflops = 2e-9 * 256 * 108 * 128 * 16 * 8192 / kernel_ms(log, 2);
	simtest_log_free(log);
	/* 108 tiles of 256x128 are one wave of A100. Twelve more would be a second one, so that 240
	 * smaller tiles in three waves are the better choice: 3 / 2 / 0.95 of the time for a ninth
	 * more work. */
	assert_true(more_waves > 1.55 * one_wave && more_waves < 1.59 * one_wave);
	/* What fills the GPU reaches the measured share of its 312 TFLOP/s, 0.869. */
	assert_true(tflops > 312 * 0.865 && tflops < 312 * 0.87);
}

/* For C the header declares no functions on halves. */
struct half {
	uint16_t bits;
};
cublasStatus_t cublasHgemm(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
			   const struct half *, const struct half *, int, const struct half *, int,
			   const struct half *, struct half *, int);
cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int,
					 int, int, const struct half *, const struct half *, int,
					 long long, const struct half *, int, long long,
					 const struct half *, struct half *, int, long long, int);
cublasStatus_t cublasHgemmBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
				  int, const struct half *, const struct half *const[], int,
				  const struct half *const[], int, const struct half *,
				  struct half *const[], int, int);

#define OPS handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64

static void run_every_function(void)
{
	const float one = 1;
	const double real_one = 1;
	const struct half half_one = {0x3c00};
	const cuComplex complex_one = {1, 0};
	const cuDoubleComplex double_complex_one = {1, 0};
	void *m;

	start();
	m = memory;
	cublasSgemm_v2(OPS, &one, m, 64, m, 64, &one, m, 64);
	cublasSgemm_v2_64(OPS, &one, m, 64, m, 64, &one, m, 64);
	cublasDgemm_v2(OPS, &real_one, m, 64, m, 64, &real_one, m, 64);
	cublasCgemm_v2(OPS, &complex_one, m, 64, m, 64, &complex_one, m, 64);
	cublasZgemm_v2(OPS, &double_complex_one, m, 64, m, 64, &double_complex_one, m, 64);
	cublasHgemm(OPS, &half_one, m, 64, m, 64, &half_one, m, 64);
	cublasSgemmEx(OPS, &one, m, CUDA_R_16F, 64, m, CUDA_R_16F, 64, &one, m, CUDA_R_32F, 64);
	cublasGemmEx_64(OPS, &one, m, CUDA_R_32F, 64, m, CUDA_R_32F, 64, &one, m, CUDA_R_32F, 64,
			CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
	cublasGemmBatchedEx(OPS, &one, m, CUDA_R_16BF, 64, m, CUDA_R_16BF, 64, &one, m, CUDA_R_16BF,
			    64, 7, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
	cublasGemmStridedBatchedEx_64(OPS, &one, m, CUDA_R_16BF, 64, 4096, m, CUDA_R_16BF, 64, 4096,
				      &one, m, CUDA_R_16BF, 64, 4096, 7, CUBLAS_COMPUTE_32F,
				      CUBLAS_GEMM_DEFAULT);
	cublasSgemmStridedBatched(OPS, &one, m, 64, 4096, m, 64, 4096, &one, m, 64, 4096, 7);
	cublasDgemmStridedBatched(OPS, &real_one, m, 64, 4096, m, 64, 4096, &real_one, m, 64, 4096,
				  7);
	cublasHgemmStridedBatched(OPS, &half_one, m, 64, 4096, m, 64, 4096, &half_one, m, 64, 4096,
				  7);
	cublasSgemmBatched(OPS, &one, m, 64, m, 64, &one, m, 64, 7);
	cublasDgemmBatched(OPS, &real_one, m, 64, m, 64, &real_one, m, 64, 7);
	cublasHgemmBatched(OPS, &half_one, m, 64, m, 64, &half_one, m, 64, 7);
}

static void every_gemm_function_launches_what_its_type_needs(void **state)
{
	static const struct {
		const char *function, *batch, *part_of_kernel;
	} expected[] = {
		{"cublasSgemm_v2", "1", "sgemm"},
		{"cublasSgemm_v2_64", "1", "sgemm"},
		{"cublasDgemm_v2", "1", "d884gemm"},
		{"cublasCgemm_v2", "1", "cgemm"},
		{"cublasZgemm_v2", "1", "zgemm"},
		{"cublasHgemm", "1", "h16816gemm"},
		{"cublasSgemmEx", "1", "s16816gemm_fp32"},
		{"cublasGemmEx_64", "1", "sgemm"},
		{"cublasGemmBatchedEx", "7", "bf16"},
		{"cublasGemmStridedBatchedEx_64", "7", "bf16"},
		{"cublasSgemmStridedBatched", "7", "sgemm"},
		{"cublasDgemmStridedBatched", "7", "d884gemm"},
		{"cublasHgemmStridedBatched", "7", "h16816gemm"},
		{"cublasSgemmBatched", "7", "sgemm"},
		{"cublasDgemmBatched", "7", "d884gemm"},
		{"cublasHgemmBatched", "7", "h16816gemm"},
	};
	struct simtest_log *log;

	(void)state;
	assert_int_equal(simtest_child_run(run_every_function, NULL), 0);
	log = simtest_log_read();
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct simtest_line *line =
			simtest_log_find(log, "blas", expected[i].function, 0);

		if (!line)
			fail_msg("no log line of %s", expected[i].function);
		assert_string_equal(simtest_log_field(line, 4), "0");
		assert_string_equal(simtest_log_value(line, "m"), "64");
		assert_string_equal(simtest_log_value(line, "batch"), expected[i].batch);
		assert_has(launched(log, i), expected[i].part_of_kernel);
	}
	simtest_log_free(log);
}

static void *run_in_thread(void *status)
{
	*(cublasStatus_t *)status =
		gemm(CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, CUDA_R_32F, CUBLAS_COMPUTE_32F, 0);
	return NULL;
}

static void check_fresh_thread(void)
{
	cublasStatus_t status = CUBLAS_STATUS_INTERNAL_ERROR;
	pthread_t thread;

	start();
	SIMTEST_EQUAL(pthread_create(&thread, NULL, run_in_thread, &status), 0);
	SIMTEST_EQUAL(pthread_join(thread, NULL), 0);
	SIMTEST_EQUAL(status, CUBLAS_STATUS_SUCCESS);
}

static void thread_without_context_uses_that_of_the_handle(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_fresh_thread, NULL), 0);
}

static void check_handle(void)
{
	cublasMath_t mode;
	cudaStream_t stream = NULL, got = NULL;
	cublasPointerMode_t pointer_mode;
	int version = 0;

	start();
	SIMTEST_EQUAL(cublasGetVersion(handle, &version), CUBLAS_STATUS_SUCCESS);
	SIMTEST_EQUAL(version, CUBLAS_VERSION);
	SIMTEST_EQUAL(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH), CUBLAS_STATUS_SUCCESS);
	SIMTEST_EQUAL(cublasGetMathMode(handle, &mode), CUBLAS_STATUS_SUCCESS);
	SIMTEST_EQUAL(mode, CUBLAS_TF32_TENSOR_OP_MATH);
	SIMTEST_EQUAL(cublasSetMathMode(handle, (cublasMath_t)12), CUBLAS_STATUS_INVALID_VALUE);
	SIMTEST_EQUAL(cudaStreamCreate(&stream), cudaSuccess);
	SIMTEST_EQUAL(cublasSetStream(handle, stream), CUBLAS_STATUS_SUCCESS);
	SIMTEST_EQUAL(cublasGetStream(handle, &got), CUBLAS_STATUS_SUCCESS);
	SIMTEST_CHECK(got == stream);
	SIMTEST_EQUAL(cublasGetPointerMode(handle, &pointer_mode), CUBLAS_STATUS_SUCCESS);
	SIMTEST_EQUAL(pointer_mode, CUBLAS_POINTER_MODE_HOST);
	SIMTEST_EQUAL(cublasSetWorkspace(handle, memory, 1 << 20), CUBLAS_STATUS_SUCCESS);
	SIMTEST_EQUAL(cublasSetWorkspace(handle, memory + 8, 1 << 20), CUBLAS_STATUS_INVALID_VALUE);
	gemm(CUBLAS_OP_N, CUBLAS_OP_N, 4096, 4096, 4096, CUDA_R_32F, CUBLAS_COMPUTE_32F, 0);
	SIMTEST_EQUAL(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
	SIMTEST_CHECK(!strcmp(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED),
			      "CUBLAS_STATUS_NOT_SUPPORTED"));
}

static void math_mode_and_stream_reach_the_launch(void **state)
{
	struct simtest_log *log;
	const struct simtest_line *line;

	(void)state;
	assert_int_equal(simtest_child_run(check_handle, NULL), 0);
	log = simtest_log_read();
	assert_has(launched(log, 0), "tf32");
	line = simtest_log_find(log, "call", "cuLaunchKernel", 0);
	assert_string_not_equal(simtest_log_value(line, "stream"), "0x0");
	/* The workspace is device memory and is given back. */
	line = simtest_log_find(log, "call", "cuMemAlloc_v2", 1);
	assert_string_equal(simtest_log_value(line, "bytes"), "4194304");
	assert_int_equal(simtest_log_count(log, "call", "cuMemFree_v2"), 1);
	simtest_log_free(log);
}

static void tf32_override_turns_tensor_cores_off(void **state)
{
	const char *const settings[] = {"NVIDIA_TF32_OVERRIDE=0", NULL};
	struct simtest_log *log;

	(void)state;
	assert_int_equal(simtest_child_run(check_handle, settings), 0);
	log = simtest_log_read();
	assert_has(launched(log, 0), "ampere_sgemm_");
	simtest_log_free(log);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_arguments_give_the_documented_status),
		cmocka_unit_test(kernel_names_on_ampere_follow_type_and_alignment),
		cmocka_unit_test(kernel_names_on_hopper_follow_type_and_alignment),
		cmocka_unit_test(kernels_fit_every_architecture),
		cmocka_unit_test(log_has_every_argument_of_every_call),
		cmocka_unit_test(every_gemm_function_launches_what_its_type_needs),
		cmocka_unit_test(unpadded_feed_forward_costs_what_was_published),
		cmocka_unit_test(cost_follows_tiles_waves_and_peak),
		cmocka_unit_test(thread_without_context_uses_that_of_the_handle),
		cmocka_unit_test(math_mode_and_stream_reach_the_launch),
		cmocka_unit_test(tf32_override_turns_tensor_cores_off),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
