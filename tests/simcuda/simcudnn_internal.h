/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the simulated cuDNN (libcudnn.so.9): descriptors, and one convolution in one form for
 * the API with graphs and the one without. Handles, model and launches are the simulated cuBLAS's.
 *
 * Threads: as cuDNN, one handle and one descriptor by one thread at a time.
 */
#ifndef GPUTRACE_SIMCUDNN_INTERNAL_H
#define GPUTRACE_SIMCUDNN_INTERNAL_H

#include "simblas_internal.h"

#pragma GCC visibility push(default)
#include <cudnn.h>
#pragma GCC visibility pop

#define SIMCUDNN_RANK 8

struct simcudnn_tensor {
	int64_t dims[SIMCUDNN_RANK], strides[SIMCUDNN_RANK], id;
	int rank, type;
};

struct simcudnn_conv {
	const char *function;
	int op; /* 1 forward, 2 data, 3 filter */
	struct simcudnn_tensor x, w, y;
	int64_t pad[3], stride[3], dilation[3];
	bool is_exact; /* CUDNN_FMA_MATH */
	const void *at_x, *at_w, *at_y;
};

/* Checks, launches and logs one convolution. */
cudnnStatus_t simcudnn_conv_run(cudnnHandle_t handle, const struct simcudnn_conv *conv);
/* Launches a kernel that moves `bytes`, for layers without arithmetic worth modelling. */
cudnnStatus_t simcudnn_layer_run(cudnnHandle_t handle, const char *function, const char *kernel,
				 double bytes);

#endif
