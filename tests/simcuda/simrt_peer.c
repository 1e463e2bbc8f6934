/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of devices in the simulated runtime: peer access, copies between devices, and what names a
 * device from outside (its PCI address).
 */
#include "simrt_internal.h"

static cudaError_t find_pair(int first, int second, CUdevice *one, CUdevice *two)
{
	int count = 0;
	cudaError_t status = simrt_device_count(&count);

	if (status != cudaSuccess)
		return status;
	if (first < 0 || first >= count || second < 0 || second >= count)
		return cudaErrorInvalidDevice;
	status = simrt_from_driver(simrt_driver.DeviceGet(one, first));
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.DeviceGet(two, second));
	return status;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_INIT);
	CUdevice one = 0, two = 0;

	if (status == cudaSuccess && !can)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = find_pair(device, peer, &one, &two);
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.DeviceCanAccessPeer(can, one, two));
	return simrt_end(&call, status, NULL);
}

/* cudaDeviceP2PAttr has the numbers of CUdevice_P2PAttribute. */
cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int device,
				      int peer)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_INIT);
	CUdevice one = 0, two = 0;

	if (status == cudaSuccess && !value)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = find_pair(device, peer, &one, &two);
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.DeviceGetP2PAttribute(
			value, (CUdevice_P2PAttribute)attribute, one, two));
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUcontext context = NULL;

	if (status == cudaSuccess && flags)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = simrt_context_of(peer, &context);
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.CtxEnablePeerAccess(context, 0));
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUcontext context = NULL;

	if (status == cudaSuccess)
		status = simrt_context_of(peer, &context);
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.CtxDisablePeerAccess(context));
	return simrt_end(&call, status, NULL);
}

/* A copy between two devices, in rows where it has any. */
struct peer_copy {
	void *to;
	const void *from;
	int to_device, from_device;
	size_t bytes, element; /* element: bytes of what the width counts */
	const struct cudaMemcpy3DPeerParms *shape;
	cudaStream_t stream;
	bool is_async;
};

static CUresult copy_shape(const struct simrt_flavour *via, const struct peer_copy *copy,
			   CUcontext to, CUcontext from)
{
	const struct cudaMemcpy3DPeerParms *p = copy->shape;
	const CUDA_MEMCPY3D_PEER shape = {
		.srcXInBytes = p->srcPos.x * (p->srcArray ? copy->element : 1),
		.srcY = p->srcPos.y,
		.srcZ = p->srcPos.z,
		.srcMemoryType = p->srcArray ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE,
		.srcArray = (CUarray)p->srcArray,
		.srcDevice = simrt_device_pointer(p->srcPtr.ptr),
		.srcContext = from,
		.srcPitch = p->srcPtr.pitch,
		.srcHeight = p->srcPtr.ysize,
		.dstXInBytes = p->dstPos.x * (p->dstArray ? copy->element : 1),
		.dstY = p->dstPos.y,
		.dstZ = p->dstPos.z,
		.dstMemoryType = p->dstArray ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE,
		.dstArray = (CUarray)p->dstArray,
		.dstDevice = simrt_device_pointer(p->dstPtr.ptr),
		.dstContext = to,
		.dstPitch = p->dstPtr.pitch,
		.dstHeight = p->dstPtr.ysize,
		.WidthInBytes = p->extent.width * copy->element,
		.Height = p->extent.height,
		.Depth = p->extent.depth,
	};

	return copy->is_async ? via->Memcpy3DPeerAsync(&shape, copy->stream)
			      : via->Memcpy3DPeer(&shape);
}

static cudaError_t run_peer(const struct simrt_flavour *via, const char *function,
			    cudaError_t wrong, const struct peer_copy *copy)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	CUdeviceptr to = simrt_device_pointer(copy->to), from = simrt_device_pointer(copy->from);
	CUcontext to_context = NULL, from_context = NULL;
	CUresult result;

	if (status == cudaSuccess)
		status = wrong;
	if (status == cudaSuccess)
		status = simrt_context_of(copy->to_device, &to_context);
	if (status == cudaSuccess)
		status = simrt_context_of(copy->from_device, &from_context);
	if (status == cudaSuccess && copy->bytes > 0) {
		if (copy->shape)
			result = copy_shape(via, copy, to_context, from_context);
		else if (copy->is_async)
			result = via->MemcpyPeerAsync(to, to_context, from, from_context,
						      copy->bytes, copy->stream);
		else
			result = via->MemcpyPeer(to, to_context, from, from_context, copy->bytes);
		status = simrt_from_driver(result);
	}
	return simrt_end(&call, status,
			 "dst=0x%llx\tsrc=0x%llx\tbytes=%zu\tstream=0x%llx\tasync=%d\tto=%d\t"
			 "from=%d\tdirection=peer",
			 simrt_address(copy->to), simrt_address(copy->from), copy->bytes,
			 simrt_address(copy->stream), copy->is_async, copy->to_device,
			 copy->from_device);
}

cudaError_t cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
	const struct peer_copy copy = {.to = dst,
				       .from = src,
				       .to_device = dstDevice,
				       .from_device = srcDevice,
				       .bytes = count};

	return run_peer(&simrt_legacy, __func__, cudaSuccess, &copy);
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
				size_t count, cudaStream_t stream)
{
	const struct peer_copy copy = {.to = dst,
				       .from = src,
				       .to_device = dstDevice,
				       .from_device = srcDevice,
				       .bytes = count,
				       .stream = stream,
				       .is_async = true};

	return run_peer(&simrt_legacy, __func__, cudaSuccess, &copy);
}

static cudaError_t run_parms(const struct simrt_flavour *via, const char *function,
			     const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream,
			     bool is_async)
{
	struct peer_copy copy = {.element = 1, .shape = p, .stream = stream, .is_async = is_async};
	cudaError_t wrong = cudaSuccess;

	if (!p) {
		wrong = cudaErrorInvalidValue;
	} else {
		cudaArray_const_t array = p->dstArray ? p->dstArray : p->srcArray;

		copy.to = p->dstArray ? (void *)p->dstArray : p->dstPtr.ptr;
		copy.from = p->srcArray ? (void *)p->srcArray : p->srcPtr.ptr;
		copy.element = array ? simrt_element_bytes(array) : 1;
		if (!copy.element || (p->srcArray && p->srcPtr.ptr) ||
		    (p->dstArray && p->dstPtr.ptr) ||
		    (p->srcArray && simrt_element_bytes(p->srcArray) != copy.element))
			wrong = cudaErrorInvalidValue;
		copy.to_device = p->dstDevice;
		copy.from_device = p->srcDevice;
		copy.bytes = p->extent.width * p->extent.height * p->extent.depth * copy.element;
	}
	return run_peer(via, function, wrong, &copy);
}

cudaError_t simrt_cudaMemcpy3DPeer(const struct simrt_flavour *via, const char *function,
				   const struct cudaMemcpy3DPeerParms *p)
{
	return run_parms(via, function, p, NULL, false);
}

cudaError_t simrt_cudaMemcpy3DPeerAsync(const struct simrt_flavour *via, const char *function,
					const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
	return run_parms(via, function, p, stream, true);
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int device)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_INIT);
	CUdevice handle = 0;

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.DeviceGet(&handle, device));
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.DeviceGetPCIBusId(text, size, handle));
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_INIT);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.DeviceGetByPCIBusId(device, text));
	return simrt_end(&call, status, NULL);
}
