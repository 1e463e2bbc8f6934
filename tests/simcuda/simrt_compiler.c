/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry points that nvcc's generated code calls: registration from static constructors, the
 * launch configuration of <<<>>>, and the kernel handle that its stubs fetch once. They are
 * declared in the toolkit's crt/host_runtime.h for nvcc only; these are declarations of our own.
 */
#include "simrt_registry.h"

#define FATBIN_WRAPPER_MAGIC 0x466243b1

/* __fatBinC_Wrapper_t of the toolkit's fatbinary_section.h. */
struct fatbin_wrapper {
	int magic;
	int version;
	const void *data;
	void *prelinked;
};

SIMRT_API void **__cudaRegisterFatBinary(void *fat_binary);
SIMRT_API void __cudaRegisterFatBinaryEnd(void **handle);
SIMRT_API void __cudaUnregisterFatBinary(void **handle);
SIMRT_API void __cudaRegisterFunction(void **handle, const char *host_function,
				      char *device_function, const char *device_name,
				      int thread_limit, uint3 *thread_id, uint3 *block_id,
				      dim3 *block_dim, dim3 *grid_dim, int *warp_size);
SIMRT_API void __cudaRegisterVar(void **handle, char *host_variable, char *device_address,
				 const char *device_name, int is_extern, size_t size,
				 int is_constant, int is_global);
SIMRT_API void __cudaRegisterManagedVar(void **handle, void **host_pointer, char *device_address,
					const char *device_name, int is_extern, size_t size,
					int is_constant, int is_global);
SIMRT_API char __cudaInitModule(void **handle);
SIMRT_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
					       struct CUstream_st *stream);
SIMRT_API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes,
						 void *stream);
SIMRT_API cudaError_t __cudaGetKernel(cudaKernel_t *handle, const void *host_function);

void **__cudaRegisterFatBinary(void *fat_binary)
{
	const struct fatbin_wrapper *wrapper = fat_binary;
	const void *image =
		wrapper && wrapper->magic == FATBIN_WRAPPER_MAGIC ? wrapper->data : fat_binary;

	return (void **)simrt_registry_add_binary(image);
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
	if (handle)
		simrt_registry_remove_binary((struct simrt_binary *)handle);
}

void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
			    const char *device_name, int thread_limit, uint3 *thread_id,
			    uint3 *block_id, dim3 *block_dim, dim3 *grid_dim, int *warp_size)
{
	(void)device_function, (void)thread_limit, (void)thread_id, (void)block_id;
	(void)block_dim, (void)grid_dim, (void)warp_size;
	if (handle)
		simrt_registry_add_kernel((struct simrt_binary *)handle, host_function,
					  device_name);
}

void __cudaRegisterVar(void **handle, char *host_variable, char *device_address,
		       const char *device_name, int is_extern, size_t size, int is_constant,
		       int is_global)
{
	const struct simrt_variable variable = {
		.host_variable = host_variable,
		.name = device_name,
		.size_bytes = size,
		.binary = (struct simrt_binary *)handle,
	};

	(void)device_address, (void)is_extern, (void)is_constant, (void)is_global;
	if (handle)
		simrt_registry_add_variable(&variable);
}

void __cudaRegisterManagedVar(void **handle, void **host_pointer, char *device_address,
			      const char *device_name, int is_extern, size_t size, int is_constant,
			      int is_global)
{
	const struct simrt_variable variable = {
		.host_variable = host_pointer,
		.name = device_name,
		.size_bytes = size,
		.is_managed = true,
		.managed_pointer = host_pointer,
		.binary = (struct simrt_binary *)handle,
	};

	(void)device_address, (void)is_extern, (void)is_constant, (void)is_global;
	if (handle)
		simrt_registry_add_variable(&variable);
}

/* Called before the first access to a __managed__ variable of the module; the result goes unused.
 */
char __cudaInitModule(void **handle)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, "__cudaInitModule", SIMRT_CONTEXT);

	if (status == cudaSuccess && handle)
		status = simrt_registry_init_managed((struct simrt_binary *)handle);
	return simrt_end(&call, status, NULL) == cudaSuccess;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
				     struct CUstream_st *stream)
{
	struct simrt_thread *thread = &simrt_thread;

	if (thread->config_count == sizeof(thread->config) / sizeof(thread->config[0]))
		return cudaErrorInvalidConfiguration;
	thread->config[thread->config_count++] =
		(struct simrt_config){grid, block, shared_bytes, stream};
	return cudaSuccess;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
	struct simrt_thread *thread = &simrt_thread;
	const struct simrt_config *top;

	if (!thread->config_count)
		return cudaErrorMissingConfiguration;
	top = &thread->config[--thread->config_count];
	*grid = top->grid;
	*block = top->block;
	*shared_bytes = top->shared_bytes;
	*(cudaStream_t *)stream = top->stream;
	return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *handle, const void *host_function)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, "__cudaGetKernel", SIMRT_CONTEXT);
	CUkernel kernel = NULL;

	if (status == cudaSuccess)
		status = simrt_registry_kernel(host_function, &kernel);
	if (status == cudaSuccess)
		*handle = (cudaKernel_t)kernel;
	return simrt_end(&call, status, NULL);
}
