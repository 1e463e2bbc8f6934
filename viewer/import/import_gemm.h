/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which operators of PyTorch are matrix products, and their shape from the operands' dimensions as
 * a recording states them.
 */
#ifndef GPUTRACE_IMPORT_GEMM_H
#define GPUTRACE_IMPORT_GEMM_H

#include <stdbool.h>

#include "json_text.h"
#include "record.h"

/*
 * Fills m, n, k, batch, types, and where strides are known op_a, op_b and the leading dimensions,
 * as cuBLAS counts them: PyTorch's row-major C(M x N) = A(M x K) * B(K x N) is column-major C'(N x
 * M) = B' * A', so m is N, n is M, and operand a is B. False: not a product or no dimensions.
 */
bool import_gemm_shape(const struct json_slice *name, const struct json_slice *dims,
		       const struct json_slice *types, const struct json_slice *strides,
		       struct record_gemm *out);

#endif
