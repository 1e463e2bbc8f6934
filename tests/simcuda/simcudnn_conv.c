/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a convolution of the simulated cuDNN as the matrix product that it implicitly is:
 * channels_out x (batch x pixels), inner extent channels_in x filter, with channels as the
 * contiguous extents. The model of the simulated cuBLAS says what that costs; tensors with channels
 * first are turned round before and after on Tensor Cores, as cuDNN does. Kernel names have the
 * forms that the real ones have in published profiles; which form a shape gets is a model.
 */
#include "simcudnn_internal.h"

#include <stdio.h>
#include <stdlib.h>

static cudaDataType_t data_type(int type)
{
	switch (type) {
	case CUDNN_DATA_HALF:
		return CUDA_R_16F;
	case CUDNN_DATA_BFLOAT16:
		return CUDA_R_16BF;
	case CUDNN_DATA_DOUBLE:
		return CUDA_R_64F;
	case CUDNN_DATA_INT8:
		return CUDA_R_8I;
	default:
		return CUDA_R_32F;
	}
}

static int64_t pixels(const struct simcudnn_tensor *tensor)
{
	int64_t count = 1;

	for (int i = 2; i < tensor->rank; i++)
		count *= tensor->dims[i];
	return count;
}

static double bytes_of(const struct simcudnn_tensor *tensor)
{
	return (double)tensor->dims[0] * (double)tensor->dims[1] * (double)pixels(tensor) *
	       (double)simblas_type_size(data_type(tensor->type));
}

static bool fits(const struct simcudnn_conv *conv)
{
	const struct simcudnn_tensor *x = &conv->x, *w = &conv->w, *y = &conv->y;

	if (x->rank < 3 || x->rank > 5 || w->rank != x->rank || y->rank != x->rank)
		return false;
	for (int i = 0; i < x->rank; i++) {
		if (x->dims[i] < 1 || w->dims[i] < 1 || y->dims[i] < 1)
			return false;
	}
	if (x->dims[0] != y->dims[0] || w->dims[0] != y->dims[1] || x->dims[1] % w->dims[1])
		return false;
	for (int i = 2; i < x->rank; i++) {
		int64_t reach = (w->dims[i] - 1) * conv->dilation[i - 2] + 1;

		if (conv->stride[i - 2] < 1 ||
		    y->dims[i] !=
			    (x->dims[i] + 2 * conv->pad[i - 2] - reach) / conv->stride[i - 2] + 1)
			return false;
	}
	return true;
}

static bool launch(const struct cublasContext *handle, const char *name,
		   const struct simcuda_cost *cost, unsigned int blocks, const void *const at[3])
{
	void *arguments[3] = {(void *)&at[0], (void *)&at[1], (void *)&at[2]};
	CUfunction function = handle->driver->library_kernel(name, cost);

	return function &&
	       handle->driver->LaunchKernel(function, blocks ? blocks : 1, 1, 1, 256, 1, 1, 0,
					    handle->stream, arguments, NULL) == CUDA_SUCCESS;
}

static void write_name(const struct simcudnn_conv *conv, struct simblas_choice *choice)
{
	static const char *const passes[] = {"", "fprop", "dgrad", "wgrad"};
	const char *type = data_type(conv->x.type) == CUDA_R_16F    ? "f16"
			   : data_type(conv->x.type) == CUDA_R_16BF ? "bf16"
								    : "tf32";
	const char *pass = passes[conv->op];

	if (choice->math <= SIMBLAS_SIMT_COMPLEX)
		snprintf(choice->name, sizeof(choice->name),
			 "cutlass_80_simt_s%s_optimized_%dx%d_8x4_nhwc_align1", pass,
			 choice->tile_m, choice->tile_n);
	else if (choice->align_bytes < 16)
		snprintf(choice->name, sizeof(choice->name),
			 "cutlass_80_tensorop_%s_s16816%s_optimized_%s_%dx%d_32x4_nhwc_align%d",
			 type, pass, type, choice->tile_m, choice->tile_n, choice->align_elements);
	else
		snprintf(choice->name, sizeof(choice->name),
			 "sm80_xmma_%s_implicit_gemm_%s%s_%sf32_f32_nhwckrsc_nhwc_tilesize%dx%dx32_"
			 "stage4_warpsize2x2x1_g1_tensor16x8x16_kernel_cudnn",
			 pass, type, type, type, choice->tile_m, choice->tile_n);
}

static cudnnStatus_t run(const struct cublasContext *handle, const struct simcudnn_conv *conv)
{
	static const float one = 1, zero = 0;
	const void *const at[3] = {conv->at_x, conv->at_w, conv->at_y};
	struct cublasContext how = *handle;
	struct simblas_gemm gemm = {
		.function = conv->function,
		.opa = CUBLAS_OP_T,
		.opb = CUBLAS_OP_N,
		.m = conv->y.dims[1],
		.n = conv->y.dims[0] * pixels(&conv->y),
		.k = conv->w.dims[1] * pixels(&conv->w),
		.lda = conv->w.dims[1],
		.ldb = conv->x.dims[1],
		.ldc = conv->y.dims[1],
		.alpha = &one,
		.beta = &zero,
		.a = conv->at_w,
		.b = conv->at_x,
		.c = (void *)(uintptr_t)conv->at_y,
		.typea = data_type(conv->w.type),
		.typeb = data_type(conv->x.type),
		.typec = data_type(conv->y.type),
		.compute = CUBLAS_COMPUTE_32F,
		.batch = 1,
	};
	struct simblas_choice choice;
	struct simcuda_cost turn = {.fixed_ns = 2000};
	bool is_turned;

	simblas_handle_bind_thread(handle);
	how.math = conv->is_exact ? CUBLAS_PEDANTIC_MATH : CUBLAS_TF32_TENSOR_OP_MATH;
	simblas_model_choose(&how, &gemm, &choice);
	write_name(conv, &choice);
	is_turned = choice.math > SIMBLAS_SIMT_COMPLEX && conv->x.strides[1] != 1;
	turn.bytes = 2 * bytes_of(&conv->x);
	if (is_turned && !launch(&how, "nchwToNhwcKernel", &turn, 1024, at))
		return CUDNN_STATUS_EXECUTION_FAILED;
	if (!launch(&how, choice.name, &choice.cost, (unsigned int)choice.tiles, at))
		return CUDNN_STATUS_EXECUTION_FAILED;
	turn.bytes = 2 * bytes_of(&conv->y);
	if (is_turned && !launch(&how, "nhwcToNchwKernel", &turn, 1024, at))
		return CUDNN_STATUS_EXECUTION_FAILED;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t simcudnn_conv_run(cudnnHandle_t handle, const struct simcudnn_conv *conv)
{
	struct cublasContext *context = (struct cublasContext *)handle;
	cudnnStatus_t status;

	if (!simblas_handle_is_valid(context))
		return CUDNN_STATUS_BAD_PARAM;
	status = fits(conv) ? run(context, conv) : CUDNN_STATUS_BAD_PARAM;
	context->driver->log("dnn", conv->function, (int)status,
			     "op=%d\tn=%lld\tc=%lld\tk=%lld\tgroup_c=%lld\ttype=%d", conv->op,
			     (long long)conv->x.dims[0], (long long)conv->x.dims[1],
			     (long long)conv->y.dims[1], (long long)conv->w.dims[1], conv->x.type);
	return status;
}

cudnnStatus_t simcudnn_layer_run(cudnnHandle_t handle, const char *function, const char *kernel,
				 double bytes)
{
	const struct cublasContext *context = (struct cublasContext *)handle;
	const struct simcuda_cost cost = {.fixed_ns = 2000, .bytes = bytes};
	const void *const at[3] = {NULL, NULL, NULL};
	cudnnStatus_t status;

	if (!simblas_handle_is_valid((cublasHandle_t)handle))
		return CUDNN_STATUS_BAD_PARAM;
	status = launch(context, kernel, &cost, 1024, at) ? CUDNN_STATUS_SUCCESS
							  : CUDNN_STATUS_EXECUTION_FAILED;
	context->driver->log("dnn", function, (int)status, "bytes=%.0f", bytes);
	return status;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *out)
{
	struct cublasContext *handle;

	if (!out)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	handle = calloc(1, sizeof(*handle));
	if (!handle)
		return CUDNN_STATUS_ALLOC_FAILED;
	if (simblas_handle_open(handle) != CUBLAS_STATUS_SUCCESS) {
		free(handle);
		return CUDNN_STATUS_NOT_INITIALIZED;
	}
	*out = (cudnnHandle_t)handle;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
	if (!simblas_handle_is_valid((cublasHandle_t)handle))
		return CUDNN_STATUS_BAD_PARAM;
	((struct cublasContext *)handle)->magic = 0;
	free(handle);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
	if (!simblas_handle_is_valid((cublasHandle_t)handle))
		return CUDNN_STATUS_BAD_PARAM;
	((struct cublasContext *)handle)->stream = stream;
	return CUDNN_STATUS_SUCCESS;
}

size_t cudnnGetVersion(void)
{
	return CUDNN_VERSION;
}
