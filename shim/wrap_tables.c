/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of wrapped libraries and the names of all API numbers, for look-ups, the trace's names
 * and CUPTI's callbacks.
 */
#include "wrap.h"

const struct wrap_library *const wrap_libraries[WRAP_LIBRARY_COUNT] = {
	&wrap_driver, &wrap_cudart, &wrap_cublas, &wrap_cublaslt,
	&wrap_cudnn,  &wrap_nccl,   &wrap_cupti,
};

static const char *const api_names[API_COUNT] = {
	[API_NONE] = "?",
#define ROW(name, twin, check, effect, params, args, before, ...) [API_##name] = #name,
#include "api/rows.h"
#include "api/cudart.def"
#include "api/driver.def"
#include "api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...) [API_##name] = #name,
#include "api/blas_rows.h"
#define ROW(name, twin, check, effect, params, args, before, ...) [API_##name] = #name,
#include "api/rows.h"
#include "api/nccl.def"
#include "api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...) [API_##name] = #name,
#include "api/rows.h"
#include "api/cublaslt.def"
#include "api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...) [API_##name] = #name,
#include "api/rows.h"
#include "api/cudnn.def"
#include "api/rows_end.h"
	[API_cuGetProcAddress] = "cuGetProcAddress",
	[API_cuGetProcAddress_v2] = "cuGetProcAddress_v2",
	[API___cudaRegisterFunction] = "__cudaRegisterFunction",
};

const char *wrap_api_name(unsigned int api)
{
	return api_names[api < API_COUNT ? api : API_NONE];
}
