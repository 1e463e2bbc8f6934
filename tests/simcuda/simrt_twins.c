/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports both stream flavours of every function in simrt_twins.def.
 */
#include "simrt_internal.h"

/* The headers declare a twin only to programs compiled for per-thread streams. */
#define SIMRT_TWIN(name, suffix, parameters, arguments)                                            \
	SIMRT_API cudaError_t name parameters;                                                     \
	SIMRT_API cudaError_t name##suffix parameters;                                             \
	cudaError_t name parameters                                                                \
	{                                                                                          \
		return simrt_##name(&simrt_legacy, #name, SIMRT_UNPACK arguments);                 \
	}                                                                                          \
	cudaError_t name##suffix parameters                                                        \
	{                                                                                          \
		return simrt_##name(&simrt_per_thread, #name #suffix, SIMRT_UNPACK arguments);     \
	}
#include "simrt_twins.def"
