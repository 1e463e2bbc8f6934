/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported functions: every row of the sim_api_*.def becomes one, with
 * its begin and end (sim_call.c) around the body that the row names.
 */
#include "sim_graph.h"
#if __has_include(<generated_cuda_meta.h>)
#include <generated_cuda_meta.h>
#endif

#include "sim_api_alloc.h"
#include "sim_arguments.inc"

#define SIM_EXPORT(is_twin, flags, name, parameters, body)                                         \
	CUresult CUDAAPI name parameters                                                           \
	{                                                                                          \
		struct sim_call call[1];                                                           \
		SIM_PASSED_##name;                                                                 \
		CUresult result = sim_call_begin(call, #name, flags, is_twin, arguments);          \
                                                                                                   \
		if (result == CUDA_SUCCESS)                                                        \
			result = (body);                                                           \
		return sim_call_end(call, result);                                                 \
	}
#define API(flags, name, parameters, body) SIM_EXPORT(false, flags, name, parameters, body)
#define PTDS(flags, name, parameters, body)                                                        \
	SIM_EXPORT(false, flags, name, parameters, body)                                           \
	SIM_EXPORT(true, flags, name##_ptds, parameters, body)
#define PTSZ(flags, name, parameters, body)                                                        \
	SIM_EXPORT(false, flags, name, parameters, body)                                           \
	SIM_EXPORT(true, flags, name##_ptsz, parameters, body)

#include "sim_api_core.def"
#include "sim_api_graph.def"
#include "sim_api_memory.def"
#include "sim_api_alloc.def"
