/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles only if every row of cublaslt.def has the prototype that the installed header declares.
 */
#include <cublasLt.h>

#include <stddef.h>

#define CHECK_PUBLIC(name, params)                                                                 \
	_Static_assert(__builtin_types_compatible_p(__typeof__(name), cublasStatus_t params),      \
		       #name);
#define CHECK_HIDDEN(name, params)
#define ROW(name, twin, check, effect, params, args, before, ...) CHECK_##check(name, params)
#include "rows.h"
#include "cublaslt.def"
#include "rows_end.h"

/* Numbers that lt_describe.c asks with. */
_Static_assert(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE == 0 && CUBLASLT_MATMUL_DESC_TRANSA == 3 &&
		       CUBLASLT_MATMUL_DESC_TRANSB == 4 && CUBLASLT_MATMUL_DESC_EPILOGUE == 7,
	       "product");
_Static_assert(CUBLASLT_MATRIX_LAYOUT_TYPE == 0 && CUBLASLT_MATRIX_LAYOUT_ORDER == 1 &&
		       CUBLASLT_MATRIX_LAYOUT_ROWS == 2 && CUBLASLT_MATRIX_LAYOUT_COLS == 3 &&
		       CUBLASLT_MATRIX_LAYOUT_LD == 4 && CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT == 5 &&
		       CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET == 6,
	       "layout");
_Static_assert(CUBLASLT_ORDER_COL == 0 && CUBLASLT_ORDER_ROW == 1, "order");
_Static_assert(CUBLASLT_EPILOGUE_DEFAULT == 1, "epilogue");
