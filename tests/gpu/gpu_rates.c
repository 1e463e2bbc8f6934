/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine can reach, to hold against the knowledge base: copies to and from the GPU out
 * of pinned and pageable memory, and products whose rows are aligned or not. Prints key=value
 * lines. Each is timed over enough work that launching costs nothing, by the host's clock around a
 * wait; of five rounds the best counts, since everything else on the machine only makes a round
 * slower. usage: gpu_rates [MIB [EXTENT]]
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../samples/gpu.h"

enum { ROUNDS = 5, COPIES = 4, PRODUCTS = 4 };

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double copy_gbs(void *device, void *host, size_t bytes, int is_back, gpu_stream stream)
{
	double best = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double begin = now_s();

		for (int i = 0; i < COPIES; i++) {
			if (is_back)
				GPU_TRY(gpu_download_async(host, device, bytes, stream));
			else
				GPU_TRY(gpu_upload_async(device, host, bytes, stream));
		}
		GPU_TRY(gpu_stream_sync(stream));
		double rate = (double)bytes * COPIES / (now_s() - begin) / 1e9;

		best = rate > best ? rate : best;
	}
	return best;
}

static void print_copies(size_t bytes, gpu_stream stream)
{
	void *device, *pinned, *pageable = malloc(bytes);

	GPU_TRY(gpu_alloc(&device, bytes));
	GPU_TRY(gpu_host_alloc(&pinned, bytes));
	if (!pageable)
		exit(1);
	memset(pinned, 1, bytes);
	memset(pageable, 1, bytes);
	printf("h2d_pinned_gbs=%.2f\n", copy_gbs(device, pinned, bytes, 0, stream));
	printf("d2h_pinned_gbs=%.2f\n", copy_gbs(device, pinned, bytes, 1, stream));
	printf("h2d_pageable_gbs=%.2f\n", copy_gbs(device, pageable, bytes, 0, stream));
	printf("d2h_pageable_gbs=%.2f\n", copy_gbs(device, pageable, bytes, 1, stream));
	GPU_TRY(gpu_host_free(pinned));
	GPU_TRY(gpu_free(device));
	free(pageable);
}

/* A product of bf16 matrices with rows of `extent` elements, in TFLOP/s. */
static double product_tflops(void *const *matrices, int extent, int rows, gpu_stream stream)
{
	float one = 1, zero = 0;
	double best = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double begin;

		GPU_TRY(gpu_stream_sync(stream));
		begin = now_s();
		for (int i = 0; i < PRODUCTS; i++)
			GPU_TRY(gpu_gemm(GPU_BLAS_T, GPU_BLAS_N, extent, rows, extent, &one,
					 matrices[0], GPU_BLAS_BF16, extent, matrices[1],
					 GPU_BLAS_BF16, extent, &zero, matrices[2], GPU_BLAS_BF16,
					 extent, GPU_BLAS_COMPUTE_F32, GPU_BLAS_ALGORITHM_DEFAULT));
		GPU_TRY(gpu_stream_sync(stream));
		double flops = 2.0 * extent * rows * extent * PRODUCTS;
		double rate = flops / (now_s() - begin) / 1e12;

		best = rate > best ? rate : best;
	}
	return best;
}

static void print_products(int extent, gpu_stream stream)
{
	size_t bytes = (size_t)extent * (size_t)extent * 2;
	void *matrices[3];

	for (int i = 0; i < 3; i++) {
		GPU_TRY(gpu_alloc(&matrices[i], bytes));
		GPU_TRY(gpu_set_async(matrices[i], 0, bytes, stream));
	}
	GPU_TRY(gpu_gemm_stream(stream));
	/* The same number of rows: the product is smaller by one row of columns only. */
	printf("gemm_aligned_tflops=%.1f\n", product_tflops(matrices, extent, extent, stream));
	printf("gemm_unaligned_tflops=%.1f\n",
	       product_tflops(matrices, extent - 1, extent, stream));
	for (int i = 0; i < 3; i++)
		GPU_TRY(gpu_free(matrices[i]));
}

int main(int argc, char **argv)
{
	size_t bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 256) << 20;
	int extent = argc > 2 ? atoi(argv[2]) : 8192;
	gpu_stream stream;

	if (!bytes || extent < 64) {
		fprintf(stderr, "usage: gpu_rates [MIB [EXTENT]], at least 1 MiB and 64\n");
		return 2;
	}
	gpu_open();
	GPU_TRY(gpu_stream_open(&stream));
	print_copies(bytes, stream);
	print_products(extent, stream);
	GPU_TRY(gpu_stream_close(stream));
	gpu_close();
	return 0;
}
