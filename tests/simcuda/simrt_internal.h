/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the simulated runtime library (libcudart.so.13 and libcudart_static.a). Every public
 * function is one bracket: simrt_begin() finds driver and context and reports sticky errors,
 * simrt_end() sets the thread's last error and writes the exact log.
 *
 * Threads: all of CUDA's. State per thread is in simrt_thread.
 */
#ifndef GPUTRACE_SIMRT_INTERNAL_H
#define GPUTRACE_SIMRT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The shared library exports the public API; the archive hides it, as NVIDIA's archive does, so
 * that a library with the runtime inside does not offer it to others. */
#ifdef SIMRT_SHARED
#pragma GCC visibility push(default)
#endif
#if SIMRT_MAJOR == 12
/* Batches of CUDA 12.8 say which copy failed; the headers of CUDA 13 declare the later form. */
#define cudaMemcpyBatchAsync   cudaMemcpyBatchAsync_of_13
#define cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_of_13
#include <cuda_runtime_api.h>
#undef cudaMemcpyBatchAsync
#undef cudaMemcpy3DBatchAsync
#define SIMRT_FAILED_PARAMETER size_t *failed,
#define SIMRT_FAILED	       failed,
#define SIMRT_VERSION	       12080
#else
#include <cuda_runtime_api.h>
#define SIMRT_FAILED_PARAMETER
#define SIMRT_FAILED
#define SIMRT_VERSION CUDART_VERSION
#endif
#include <cuda_profiler_api.h>
#ifdef SIMRT_SHARED
#pragma GCC visibility pop
#endif
#include <cuda.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#ifdef SIMRT_SHARED
#define SIMRT_API __attribute__((visibility("default")))
#else
#define SIMRT_API __attribute__((visibility("hidden")))
#endif

#define SIMRT_DEVICES_MAX 16

/* The driver as the runtime found it: simrt_driver.c. */
struct simrt_driver {
#define SIMRT_PLAIN(name, version) PFN_cu##name##_v##version name;
#define SIMRT_STREAM(name, version, ptsz_version)
#include "simrt_driver.def"
#undef SIMRT_PLAIN
#undef SIMRT_STREAM
	PFN_cuGetProcAddress_v12000 GetProcAddress;
	/* Of the simulated driver only; NULL elsewhere. */
	void (*log)(const char *tag, const char *function, int result, const char *format, ...)
		__attribute__((format(printf, 4, 5)));
	uint32_t (*runtime_enter)(const char *function);
	void (*runtime_exit)(const char *function, uint32_t correlation, int result);
};

/* Functions that mean another stream by NULL when compiled for per-thread default streams. */
struct simrt_flavour {
	bool is_per_thread;
#define SIMRT_PLAIN(name, version)
#define SIMRT_STREAM(name, version, ptsz_version) PFN_cu##name##_v##version name;
#include "simrt_driver.def"
#undef SIMRT_PLAIN
#undef SIMRT_STREAM
};

extern struct simrt_driver simrt_driver;
extern struct simrt_flavour simrt_legacy, simrt_per_thread;

/* Finds the driver once; the same answer for ever. */
cudaError_t simrt_driver_load(void);

/* Per thread: last error, current device, pushed launch configurations. */
struct simrt_config {
	dim3 grid, block;
	size_t shared_bytes;
	cudaStream_t stream;
};
struct simrt_thread {
	cudaError_t last_error;
	int device;
	unsigned bound_epoch; /* context epoch of `device` at which this thread was bound; 0: never
			       */
	unsigned config_count;
	struct simrt_config config[8];
};
extern _Thread_local struct simrt_thread simrt_thread;

enum simrt_need {
	SIMRT_DRIVER,  /* libcuda found */
	SIMRT_INIT,    /* and cuInit done */
	SIMRT_CONTEXT, /* and a context current to the thread */
};
struct simrt_call {
	const char *function;
	uint32_t correlation;
};

/* Opens a call. Other than cudaSuccess: skip the work, go to simrt_end. */
cudaError_t simrt_begin(struct simrt_call *call, const char *function, enum simrt_need need);
/* Closes it: returns `status` after noting it as the thread's last error. `format` names the values
 * for the log's "rt" line; NULL: the call is not logged. */
cudaError_t simrt_end(const struct simrt_call *call, cudaError_t status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* CUresult to cudaError_t: the numbers are the same since CUDA 10.1. */
static inline cudaError_t simrt_from_driver(CUresult result)
{
	return (cudaError_t)result;
}

static inline unsigned long long simrt_address(const void *pointer)
{
	return (unsigned long long)(uintptr_t)pointer;
}

static inline CUdeviceptr simrt_device_pointer(const void *pointer)
{
	return (CUdeviceptr)(uintptr_t)pointer;
}

/* simrt_context.c: devices and primary contexts. */
cudaError_t simrt_context_bind(void);
cudaError_t simrt_context_select(int device);
cudaError_t simrt_context_reset(void);
/* The primary context of any device, retained but not made current. */
cudaError_t simrt_context_of(int device, CUcontext *context);
cudaError_t simrt_device_count(int *count);
/* A sticky error stays with its device until the process ends. */
cudaError_t simrt_context_sticky(void);
void simrt_context_note(cudaError_t status);

/* simrt_copy.c: what cudaMemcpyDefault means for two addresses, and how the log calls it. */
enum cudaMemcpyKind simrt_copy_kind(enum cudaMemcpyKind kind, const void *to, const void *from);
extern const char *const simrt_copy_directions[];

/* simrt_copy_array.c: three dimensions with an array on a side at least. */
/* Bytes per element of an array; 0 for what is none. */
size_t simrt_element_bytes(cudaArray_const_t array);
cudaError_t simrt_copy_deep_array(const struct simrt_flavour *via, const char *function,
				  const struct cudaMemcpy3DParms *p, cudaStream_t stream,
				  bool is_async);

/* simrt_registry.c: what the compiler registered. */
struct simrt_kernel {
	const void *host_function;
	const char *name;
	struct simrt_binary *binary;
	CUkernel kernel; /* NULL until first used */
};
struct simrt_variable {
	const void *host_variable;
	const char *name;
	size_t size_bytes;
	bool is_managed;
	void **managed_pointer;
	struct simrt_binary *binary;
};
/* Loads the binary on first use (lazy loading). Not found: cudaErrorInvalidDeviceFunction. */
cudaError_t simrt_registry_kernel(const void *host_function, CUkernel *kernel);
/* The registered name of a kernel handle, for the log; "?" if it is none of ours. */
const char *simrt_registry_kernel_name(CUkernel kernel);
/* Not found: cudaErrorInvalidSymbol. Needs a context. */
cudaError_t simrt_registry_symbol(const void *host_variable, CUdeviceptr *address, size_t *bytes);

/* Implementations with the stream flavour and the public name as leading arguments. */
#define SIMRT_TWIN(name, suffix, parameters, arguments)                                            \
	cudaError_t simrt_##name(const struct simrt_flavour *via, const char *function,            \
				 SIMRT_UNPACK parameters);
#define SIMRT_UNPACK(...) __VA_ARGS__
#include "simrt_twins.def"
#undef SIMRT_TWIN

#endif
