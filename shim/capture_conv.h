/* SPDX-License-Identifier: Apache-2.0 */
/* The last column of cudnn.def, see capture.h. */
#ifndef GPUTRACE_SHIM_CAPTURE_CONV_H
#define GPUTRACE_SHIM_CAPTURE_CONV_H

#include "capture.h"
#include "cudnn_shadow.h"

/* A convolution of the API without graphs. */
struct conv_call {
	enum conv_op op;
	unsigned int operations; /* the convolution and what is fused with it */
	const void *x_desc, *w_desc, *conv_desc, *y_desc;
	const void *x, *w, *y;
};

void capture_conv(struct call *call, unsigned int node, const void *handle,
		  const struct conv_call *conv);
/* An execution of a plan: a convolution, a matrix product, or a call. */
void capture_cudnn_plan(struct call *call, const void *handle, const void *plan, const void *pack);
/* Work without a shape. */
void capture_cudnn(struct call *call, const void *handle);

#endif
