/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded in front of the shim, or alone: sees what each call of a program into the runtime gives
 * it. Counts the calls whose errno changed, and adds up name, result and last error of all of them
 * in a sum that does not depend on the order of threads. What it has is written to WITNESS_OUT
 * (with .rankN behind it in a rank) when the program ends, with what cudaPeekAtLastError() and
 * cudaGetLastError() say then.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNTIME	      "libcudart.so.13"
#define STRANGE_ERRNO 4321

struct extent { /* dim3, as it is passed by value */
	unsigned int x, y, z;
};

typedef int (*six_words)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
typedef int (*launch)(const void *, struct extent, struct extent, void **, size_t, void *);
typedef int (*ask)(void);

union next {
	void *object;
	six_words six;
	launch launch;
	ask ask;
};

static _Atomic uint64_t calls, failed, sum, changed_errno;
static _Atomic int is_armed;

static union next find_next(const char *name)
{
	union next next = {dlvsym(RTLD_NEXT, name, RUNTIME)};

	if (!next.object) {
		fprintf(stderr, "witness: no %s behind me\n", name);
		abort();
	}
	return next;
}

static void tell(void)
{
	const char *path = getenv("WITNESS_OUT"), *rank = getenv("RANK");
	char name[4096];
	FILE *out = NULL;
	ask peek = find_next("cudaPeekAtLastError").ask, get = find_next("cudaGetLastError").ask;
	int errors[3];

	for (int i = 0; i < 3; i++)
		errors[i] = i ? get() : peek();
	if (path) {
		snprintf(name, sizeof(name), "%s%s%s", path, rank ? ".rank" : "", rank ? rank : "");
		out = fopen(name, "w");
	}

	if (!out)
		return;
	fprintf(out, "calls=%llu failed=%llu sum=%016llx errno_changed=%llu last=%d,%d,%d\n",
		(unsigned long long)calls, (unsigned long long)failed, (unsigned long long)sum,
		(unsigned long long)changed_errno, errors[0], errors[1], errors[2]);
	fclose(out);
}

static void before_call(void)
{
	if (!atomic_exchange(&is_armed, 1))
		atexit(tell);
	errno = STRANGE_ERRNO;
}

static int after_call(const char *name, int result)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	if (errno != STRANGE_ERRNO)
		atomic_fetch_add(&changed_errno, 1);
	for (const char *at = name; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3ull;
	hash = (hash ^ (unsigned int)result) * 0x100000001b3ull;
	hash = (hash ^ (unsigned int)find_next("cudaPeekAtLastError").ask()) * 0x100000001b3ull;
	atomic_fetch_add(&sum, hash);
	atomic_fetch_add(&calls, 1);
	if (result != 0)
		atomic_fetch_add(&failed, 1);
	errno = STRANGE_ERRNO;
	return result;
}

/* What has at most six words as arguments can be passed on without knowing them. */
#define WITNESS(name)                                                                              \
	int name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f);    \
	int name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f)     \
	{                                                                                          \
		six_words next = find_next(#name).six;                                             \
		before_call();                                                                     \
		return after_call(#name, next(a, b, c, d, e, f));                                  \
	}

WITNESS(cudaDeviceEnablePeerAccess)
WITNESS(cudaDeviceGetDefaultMemPool)
WITNESS(cudaDeviceGetPCIBusId)
WITNESS(cudaDeviceSynchronize)
WITNESS(cudaEventCreateWithFlags)
WITNESS(cudaEventDestroy)
WITNESS(cudaEventRecord)
WITNESS(cudaEventSynchronize)
WITNESS(cudaFree)
WITNESS(cudaFreeAsync)
WITNESS(cudaFreeHost)
WITNESS(cudaGetLastError)
WITNESS(cudaGraphDestroy)
WITNESS(cudaGraphExecDestroy)
WITNESS(cudaGraphExecUpdate)
WITNESS(cudaGraphInstantiateWithFlags)
WITNESS(cudaGraphLaunch)
WITNESS(cudaMalloc)
WITNESS(cudaMallocAsync)
WITNESS(cudaMallocHost)
WITNESS(cudaMemGetInfo)
WITNESS(cudaMemPoolSetAttribute)
WITNESS(cudaMemcpy)
WITNESS(cudaMemcpyAsync)
WITNESS(cudaMemcpyPeerAsync)
WITNESS(cudaMemsetAsync)
WITNESS(cudaSetDevice)
WITNESS(cudaStreamBeginCapture)
WITNESS(cudaStreamCreateWithFlags)
WITNESS(cudaStreamDestroy)
WITNESS(cudaStreamEndCapture)
WITNESS(cudaStreamSynchronize)
WITNESS(cudaStreamWaitEvent)

int __cudaLaunchKernel(const void *kernel, struct extent grid, struct extent block,
		       void **arguments, size_t shared_bytes, void *stream);
int __cudaLaunchKernel(const void *kernel, struct extent grid, struct extent block,
		       void **arguments, size_t shared_bytes, void *stream)
{
	launch next = find_next("__cudaLaunchKernel").launch;

	before_call();
	return after_call("__cudaLaunchKernel",
			  next(kernel, grid, block, arguments, shared_bytes, stream));
}
