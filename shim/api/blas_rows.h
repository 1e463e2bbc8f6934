/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads cublas.def twice: plain names with int, then the _64 twins with int64_t. The includer
 * defines ROW as rows.h says; it is undefined afterwards. No include guard on purpose.
 */
#include "rows.h"
#define BLAS_INT	int
#define BLAS_NAME(name) name
#include "cublas.def"
#undef BLAS_INT
#undef BLAS_NAME
#define BLAS_ONLY_GEMMS
#define BLAS_INT	int64_t
#define BLAS_NAME(name) name##_64
#include "cublas.def"
#undef BLAS_ONLY_GEMMS
#undef BLAS_INT
#undef BLAS_NAME
#include "rows_end.h"
