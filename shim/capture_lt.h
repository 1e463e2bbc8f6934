/* SPDX-License-Identifier: Apache-2.0 */
/* The last column of cublaslt.def, see capture.h. */
#ifndef GPUTRACE_SHIM_CAPTURE_LT_H
#define GPUTRACE_SHIM_CAPTURE_LT_H

#include "capture.h"
#include "lt_describe.h"

void capture_lt_matmul(struct call *call, unsigned int node, const struct lt_product *product,
		       const void *stream);

#endif
