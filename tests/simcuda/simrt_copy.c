/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and sets of the simulated runtime. A kind that names its direction takes the driver
 * function of that direction; cudaMemcpyDefault and host-to-host take the unified one.
 */
#include "simrt_internal.h"

#include <string.h>

const char *const simrt_copy_directions[] = {
	[cudaMemcpyHostToHost] = "h2h",
	[cudaMemcpyHostToDevice] = "h2d",
	[cudaMemcpyDeviceToHost] = "d2h",
	[cudaMemcpyDeviceToDevice] = "d2d",
};

struct copy {
	void *dst;
	const void *src;
	size_t bytes;
	enum cudaMemcpyKind kind;
	cudaStream_t stream;
	bool is_async;
};

static bool is_on_device(const void *pointer)
{
	unsigned type = CU_MEMORYTYPE_HOST;

	return simrt_driver.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
						simrt_device_pointer(pointer)) == CUDA_SUCCESS &&
	       type == CU_MEMORYTYPE_DEVICE;
}

enum cudaMemcpyKind simrt_copy_kind(enum cudaMemcpyKind kind, const void *to, const void *from)
{
	if (kind != cudaMemcpyDefault)
		return kind;
	if (is_on_device(to))
		return is_on_device(from) ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
	return is_on_device(from) ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

static CUresult copy_async(const struct simrt_flavour *via, const struct copy *copy)
{
	CUdeviceptr dst = simrt_device_pointer(copy->dst), src = simrt_device_pointer(copy->src);

	switch ((int)copy->kind) {
	case cudaMemcpyHostToDevice:
		return via->MemcpyHtoDAsync(dst, copy->src, copy->bytes, copy->stream);
	case cudaMemcpyDeviceToHost:
		return via->MemcpyDtoHAsync(copy->dst, src, copy->bytes, copy->stream);
	case cudaMemcpyDeviceToDevice:
		return via->MemcpyDtoDAsync(dst, src, copy->bytes, copy->stream);
	default:
		return via->MemcpyAsync(dst, src, copy->bytes, copy->stream);
	}
}

static CUresult copy_blocking(const struct simrt_flavour *via, const struct copy *copy)
{
	CUdeviceptr dst = simrt_device_pointer(copy->dst), src = simrt_device_pointer(copy->src);

	switch ((int)copy->kind) {
	case cudaMemcpyHostToDevice:
		return via->MemcpyHtoD(dst, copy->src, copy->bytes);
	case cudaMemcpyDeviceToHost:
		return via->MemcpyDtoH(copy->dst, src, copy->bytes);
	case cudaMemcpyDeviceToDevice:
		return via->MemcpyDtoD(dst, src, copy->bytes);
	default:
		return via->Memcpy(dst, src, copy->bytes);
	}
}

/* `status` is what the caller found so far; the call ends here. */
static cudaError_t run_copy(const struct simrt_flavour *via, const struct simrt_call *call,
			    cudaError_t status, const struct copy *copy)
{
	enum cudaMemcpyKind kind = cudaMemcpyHostToHost;

	if (status == cudaSuccess && (unsigned)copy->kind > cudaMemcpyDefault)
		status = cudaErrorInvalidMemcpyDirection;
	if (status == cudaSuccess && copy->bytes && (!copy->dst || !copy->src))
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess && copy->bytes) {
		kind = simrt_copy_kind(copy->kind, copy->dst, copy->src);
		status = simrt_from_driver(copy->is_async ? copy_async(via, copy)
							  : copy_blocking(via, copy));
	}
	return simrt_end(call, status,
			 "dst=0x%llx\tsrc=0x%llx\tbytes=%zu\tstream=0x%llx\tasync=%d\tdirection=%s",
			 simrt_address(copy->dst), simrt_address(copy->src), copy->bytes,
			 simrt_address(copy->stream), copy->is_async, simrt_copy_directions[kind]);
}

cudaError_t simrt_cudaMemcpy(const struct simrt_flavour *via, const char *function, void *dst,
			     const void *src, size_t count, enum cudaMemcpyKind kind)
{
	const struct copy copy = {dst, src, count, kind, NULL, false};
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	return run_copy(via, &call, status, &copy);
}

cudaError_t simrt_cudaMemcpyAsync(const struct simrt_flavour *via, const char *function, void *dst,
				  const void *src, size_t count, enum cudaMemcpyKind kind,
				  cudaStream_t stream)
{
	const struct copy copy = {dst, src, count, kind, stream, true};
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	return run_copy(via, &call, status, &copy);
}

/* Where `offset` bytes into a symbol lie, if `count` more bytes fit. */
static cudaError_t locate(const void *symbol, size_t offset, size_t count, char **address)
{
	CUdeviceptr start = 0;
	size_t bytes = 0;
	cudaError_t status = simrt_registry_symbol(symbol, &start, &bytes);

	if (status != cudaSuccess)
		return status;
	if (offset > bytes || count > bytes - offset)
		return cudaErrorInvalidValue;
	*address = (char *)(uintptr_t)start + offset;
	return cudaSuccess;
}

static cudaError_t copy_to_symbol(const struct simrt_flavour *via, const char *function,
				  const void *symbol, size_t offset, struct copy *copy)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	char *address = NULL;

	if (status == cudaSuccess && copy->kind != cudaMemcpyHostToDevice &&
	    copy->kind != cudaMemcpyDeviceToDevice && copy->kind != cudaMemcpyDefault)
		status = cudaErrorInvalidMemcpyDirection;
	if (status == cudaSuccess)
		status = locate(symbol, offset, copy->bytes, &address);
	copy->dst = address;
	return run_copy(via, &call, status, copy);
}

static cudaError_t copy_from_symbol(const struct simrt_flavour *via, const char *function,
				    const void *symbol, size_t offset, struct copy *copy)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	char *address = NULL;

	if (status == cudaSuccess && copy->kind != cudaMemcpyDeviceToHost &&
	    copy->kind != cudaMemcpyDeviceToDevice && copy->kind != cudaMemcpyDefault)
		status = cudaErrorInvalidMemcpyDirection;
	if (status == cudaSuccess)
		status = locate(symbol, offset, copy->bytes, &address);
	copy->src = address;
	return run_copy(via, &call, status, copy);
}

cudaError_t simrt_cudaMemcpyToSymbol(const struct simrt_flavour *via, const char *function,
				     const void *symbol, const void *src, size_t count,
				     size_t offset, enum cudaMemcpyKind kind)
{
	struct copy copy = {NULL, src, count, kind, NULL, false};

	return copy_to_symbol(via, function, symbol, offset, &copy);
}

cudaError_t simrt_cudaMemcpyToSymbolAsync(const struct simrt_flavour *via, const char *function,
					  const void *symbol, const void *src, size_t count,
					  size_t offset, enum cudaMemcpyKind kind,
					  cudaStream_t stream)
{
	struct copy copy = {NULL, src, count, kind, stream, true};

	return copy_to_symbol(via, function, symbol, offset, &copy);
}

cudaError_t simrt_cudaMemcpyFromSymbol(const struct simrt_flavour *via, const char *function,
				       void *dst, const void *symbol, size_t count, size_t offset,
				       enum cudaMemcpyKind kind)
{
	struct copy copy = {dst, NULL, count, kind, NULL, false};

	return copy_from_symbol(via, function, symbol, offset, &copy);
}

cudaError_t simrt_cudaMemcpyFromSymbolAsync(const struct simrt_flavour *via, const char *function,
					    void *dst, const void *symbol, size_t count,
					    size_t offset, enum cudaMemcpyKind kind,
					    cudaStream_t stream)
{
	struct copy copy = {dst, NULL, count, kind, stream, true};

	return copy_from_symbol(via, function, symbol, offset, &copy);
}

cudaError_t cudaGetSymbolAddress(void **address, const void *symbol)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUdeviceptr found = 0;
	size_t bytes = 0;

	if (status == cudaSuccess && !address)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = simrt_registry_symbol(symbol, &found, &bytes);
	if (status == cudaSuccess)
		*address = (void *)(uintptr_t)found;
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUdeviceptr found = 0;
	size_t bytes = 0;

	if (status == cudaSuccess && !size)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = simrt_registry_symbol(symbol, &found, &bytes);
	if (status == cudaSuccess)
		*size = bytes;
	return simrt_end(&call, status, NULL);
}

cudaError_t simrt_cudaMemset(const struct simrt_flavour *via, const char *function, void *address,
			     int value, size_t count)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	if (status == cudaSuccess && count)
		status = simrt_from_driver(
			via->MemsetD8(simrt_device_pointer(address), (unsigned char)value, count));
	return simrt_end(&call, status, "dst=0x%llx\tbytes=%zu\tvalue=%d\tstream=0x0\tasync=0",
			 simrt_address(address), count, value & 0xff);
}

cudaError_t simrt_cudaMemsetAsync(const struct simrt_flavour *via, const char *function,
				  void *address, int value, size_t count, cudaStream_t stream)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	if (status == cudaSuccess && count)
		status = simrt_from_driver(via->MemsetD8Async(simrt_device_pointer(address),
							      (unsigned char)value, count, stream));
	return simrt_end(&call, status, "dst=0x%llx\tbytes=%zu\tvalue=%d\tstream=0x%llx\tasync=1",
			 simrt_address(address), count, value & 0xff, simrt_address(stream));
}
