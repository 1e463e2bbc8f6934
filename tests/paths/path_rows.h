/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads all tables of wrapped functions: PATH_DRIVER, PATH_RUNTIME, PATH_BLAS, PATH_LT, PATH_CUDNN,
 * PATH_NCCL, PATH_NVTX2 and PATH_C10 choose which, and PATH_ROW(name, params, args) is used for
 * each function and each of its twins, PATH_VOID_ROW where it returns nothing. No include guard: it
 * is read more than once. Tests of every row are made from it, so that a new row is tested as soon
 * as it stands in its table. PATH_TABLE(file) comes before the rows of each table, for those who
 * want to know which one a row is of.
 */
#ifndef PATH_TABLE
#define PATH_TABLE(file)
#endif
#ifndef PATH_VOID_ROW
#define PATH_VOID_ROW PATH_ROW
#endif
#define PATH_ONE(name, params, args)
#define PATH_PTSZ(name, params, args) PATH_ROW(name##_ptsz, params, args)
#define PATH_PTDS(name, params, args) PATH_ROW(name##_ptds, params, args)
#define PATH_EACH(name, twin, params, args)                                                        \
	PATH_ROW(name, params, args) PATH_##twin(name, params, args)
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	PATH_EACH(name, twin, params, args)
#ifdef PATH_DRIVER
PATH_TABLE(driver)
#include "../../shim/api/rows.h"
#include "../../shim/api/driver.def"
#include "../../shim/api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	PATH_EACH(name, twin, params, args)
#endif
#ifdef PATH_RUNTIME
PATH_TABLE(cudart)
#include "../../shim/api/rows.h"
#include "../../shim/api/cudart.def"
#include "../../shim/api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	PATH_EACH(name, twin, params, args)
#endif
#ifdef PATH_BLAS
PATH_TABLE(cublas)
#include "../../shim/api/blas_rows.h"
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	PATH_EACH(name, twin, params, args)
#endif
#ifdef PATH_LT
PATH_TABLE(cublaslt)
#include "../../shim/api/rows.h"
#include "../../shim/api/cublaslt.def"
#include "../../shim/api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	PATH_EACH(name, twin, params, args)
#endif
#ifdef PATH_CUDNN
PATH_TABLE(cudnn)
#include "../../shim/api/rows.h"
#include "../../shim/api/cudnn.def"
#include "../../shim/api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	PATH_EACH(name, twin, params, args)
#endif
#ifdef PATH_NCCL
PATH_TABLE(nccl)
#include "../../shim/api/rows.h"
#include "../../shim/api/nccl.def"
#include "../../shim/api/rows_end.h"
#endif
#ifdef PATH_NVTX2
PATH_TABLE(nvtx2)
#define NVTX2(type, name, params, args, record) PATH_ROW(name, params, args)
#define NVTX2_VOID(name, params, args, record)	PATH_VOID_ROW(name, params, args)
#include "../../shim/api/nvtx2.def"
#undef NVTX2
#undef NVTX2_VOID
#endif
#ifdef PATH_C10
PATH_TABLE(c10)
#define C10(name, params, args, record) PATH_VOID_ROW(name, params, args)
#include "../../shim/api/c10.def"
#undef C10
#endif
#undef ROW
#undef PATH_VOID_ROW
#undef PATH_ONE
#undef PATH_PTSZ
#undef PATH_PTDS
#undef PATH_EACH
#undef PATH_TABLE
