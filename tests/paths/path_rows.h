/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads all tables of wrapped functions: PATH_DRIVER, PATH_RUNTIME, PATH_BLAS, PATH_LT and
 * PATH_NCCL choose which, and PATH_ROW(name, params, args) is used for each function and each of
 * its twins. No include guard: it is read more than once. Tests of every row are made from it, so
 * that a new row is tested as soon as it stands in its table.
 */
#define PATH_ONE(name, params, args)
#define PATH_PTSZ(name, params, args) PATH_ROW(name##_ptsz, params, args)
#define PATH_PTDS(name, params, args) PATH_ROW(name##_ptds, params, args)
#define PATH_EACH(name, twin, params, args)                                                        \
	PATH_ROW(name, params, args) PATH_##twin(name, params, args)
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	PATH_EACH(name, twin, params, args)
#ifdef PATH_DRIVER
#include "../../shim/api/rows.h"
#include "../../shim/api/driver.def"
#include "../../shim/api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	PATH_EACH(name, twin, params, args)
#endif
#ifdef PATH_RUNTIME
#include "../../shim/api/rows.h"
#include "../../shim/api/cudart.def"
#include "../../shim/api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	PATH_EACH(name, twin, params, args)
#endif
#ifdef PATH_BLAS
#include "../../shim/api/blas_rows.h"
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	PATH_EACH(name, twin, params, args)
#endif
#ifdef PATH_LT
#include "../../shim/api/rows.h"
#include "../../shim/api/cublaslt.def"
#include "../../shim/api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	PATH_EACH(name, twin, params, args)
#endif
#ifdef PATH_NCCL
#include "../../shim/api/rows.h"
#include "../../shim/api/nccl.def"
#include "../../shim/api/rows_end.h"
#endif
#undef ROW
#undef PATH_ONE
#undef PATH_PTSZ
#undef PATH_PTDS
#undef PATH_EACH
