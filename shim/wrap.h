/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the rows of shim/api into exported functions, and names every row and every slot. A slot is
 * one real function: one name of a library, per version node. One wrapper belongs to one slot.
 */
#ifndef GPUTRACE_SHIM_WRAP_H
#define GPUTRACE_SHIM_WRAP_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Any function; real pointers are kept in this type and cast to their own before the call. */
typedef void (*wrap_function)(void);

#define WRAP_EXPORT    __attribute__((visibility("default")))
#define WRAP_NODES_MAX 3

/* What a call means to the session: the second column of the tables. */
enum wrap_effect {
	EFFECT_QUIET = 0,
	EFFECT_KEPT = 0,  /* the same; the wrapper is followed also while nothing is recorded */
	EFFECT_OPENS = 1, /* bit: opens the session */
	EFFECT_WAITS = 2, /* bit: wants CUPTI's correlation id */
	EFFECT_WORK = EFFECT_OPENS | EFFECT_WAITS,
};

/* NAME_API numbers; a twin has the number of its row. 0 is no function. */
enum api_number {
	API_NONE,
#define ROW(name, twin, check, effect, params, args, before, ...) API_##name,
#include "api/rows.h"
#include "api/cudart.def"
#include "api/driver.def"
#include "api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...) API_##name,
#include "api/blas_rows.h"
#define ROW(name, twin, check, effect, params, args, before, ...) API_##name,
#include "api/rows.h"
#include "api/nccl.def"
#include "api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...) API_##name,
#include "api/rows.h"
#include "api/cublaslt.def"
#include "api/rows_end.h"
#define ROW(name, twin, check, effect, params, args, before, ...) API_##name,
#include "api/rows.h"
#include "api/cudnn.def"
#include "api/rows_end.h"
	/* wrap_lookup.c */
	API_cuGetProcAddress,
	API_cuGetProcAddress_v2,
	API___cudaRegisterFunction,
	API_COUNT
};

/* One exported name of a wrapped library. */
struct wrap_row {
	const char *name;
	uint16_t api;	/* enum api_number */
	uint8_t effect; /* enum wrap_effect */
	uint8_t twin;	/* 1: a per-thread-default-stream twin */
	wrap_function wrapper[WRAP_NODES_MAX];
};

struct wrap_library {
	const char *module_prefix;  /* start of the file name of every library of this kind */
	const char *const *sonames; /* as loaded; one per node */
	const char *const *nodes;   /* version nodes; NULL: unversioned symbols */
	unsigned int node_count;
	unsigned int row_count;
	const struct wrap_row *rows;
	wrap_function _Atomic *real; /* [node][row], NULL not resolved */
	wrap_function not_supported; /* stands in for a function that no library has */
};

extern const struct wrap_library wrap_cudart, wrap_driver, wrap_cublas, wrap_nccl;
extern const struct wrap_library wrap_cublaslt, wrap_cudnn, wrap_cupti;
extern const struct wrap_library *const wrap_libraries[];
#define WRAP_LIBRARY_COUNT 7u

/* Name of an API number, "?" outside the tables. */
const char *wrap_api_name(unsigned int api);

/* ---- expanding rows ---- */

#define WRAP_FLAGS_PLAIN 0
#define WRAP_FLAGS_TWIN	 CALL_PER_THREAD_STREAM

/* An exported wrapper. `symbol` is the name in the object file, `slot` its place in the real table.
 */
#define WRAP_DEFINE(symbol, library, node, slot, api, flags, effect, params, args, before, ...)    \
	WRAP_EXPORT int symbol params;                                                             \
	int symbol params                                                                          \
	{                                                                                          \
		wrap_function found =                                                              \
			atomic_load_explicit(&library##_real[node][slot], memory_order_acquire);   \
		if (__builtin_expect(!found, 0))                                                   \
			found = real_resolve(&wrap_##library, node, slot);                         \
		int(*const real) params = (int(*) params)found;                                    \
		struct call call_here, *const call = &call_here;                                   \
		if (!call_begin(call, api, flags, effect, __builtin_frame_address(0)))             \
			return real args;                                                          \
		before;                                                                            \
		call_start(call);                                                                  \
		const int status = real args;                                                      \
		call_end(call, status);                                                            \
		__VA_ARGS__;                                                                       \
		if (__builtin_expect(status != 0, 0))                                              \
			call_failed(call);                                                         \
		return status;                                                                     \
	}

#endif
