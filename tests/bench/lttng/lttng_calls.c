/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nearest thing to the shim that LTTng-UST users would write: a preloaded wrapper that emits an
 * event per call. Only for run.sh, which builds it where liblttng-ust-dev is installed.
 */
#define _GNU_SOURCE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_calls.h"

#include <dlfcn.h>
#include <stddef.h>
#include <x86intrin.h>

int cudaMemcpyAsync(void *dst, const void *src, size_t count, int kind, void *stream);

int cudaMemcpyAsync(void *dst, const void *src, size_t count, int kind, void *stream)
{
	static int (*real)(void *, const void *, size_t, int, void *);
	uint64_t begin;
	int result;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "cudaMemcpyAsync");
	begin = __rdtsc();
	result = real(dst, src, count, kind, stream);
	lttng_ust_tracepoint(bench, call, __rdtsc() - begin, dst, src, count, kind, result);
	return result;
}
