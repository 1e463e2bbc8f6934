/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver (with -DDRIVER) and a runtime that accept copies with arrays and move nothing, so that
 * these can be of any size. The runtime makes the driver's copy inside of its own only when
 * ELEMENTS_INSIDE is set: a real one may have ways into the driver that nobody sees.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../shim/api/cuda_abi.h"

/* Array 1 has elements of 16 bytes, array 2 of 2 bytes, array 3 of a format that nobody knows. */
#define ARRAY(number) ((void *)(uintptr_t)(0x1000 * (number)))

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *description, const void *array);
EXPORT int cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy);
EXPORT int cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy);
EXPORT int cuMemcpy3DBatchAsync_v2(size_t count, struct batch_copy *copies,
				   unsigned long long flags, void *stream);

#ifdef DRIVER
EXPORT unsigned int elements_asked;
EXPORT int cuDeviceGetCount(int *count);
EXPORT int cuStreamBeginCapture_v2(void *stream, int mode);
EXPORT int cuStreamEndCapture(void *stream, void **graph);

int cuDeviceGetCount(int *count)
{
	*count = 1;
	return 0;
}

int cuStreamBeginCapture_v2(void *stream, int mode)
{
	(void)stream;
	return mode;
}

int cuStreamEndCapture(void *stream, void **graph)
{
	*graph = stream;
	return 0;
}

int cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *description, const void *array)
{
	elements_asked++;
	memset(description, 0, sizeof(*description));
	description->Format = array == ARRAY(1) ? 0x20 : array == ARRAY(2) ? 0x10 : 0x91;
	description->NumChannels = array == ARRAY(1) ? 4 : 1;
	return 0;
}

int cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy)
{
	return !copy->WidthInBytes;
}

int cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy)
{
	return !copy->WidthInBytes;
}

int cuMemcpy3DBatchAsync_v2(size_t count, struct batch_copy *copies, unsigned long long flags,
			    void *stream)
{
	return !count || !copies || flags || !stream;
}
#else
EXPORT int cudaMemcpy3D(const struct cudaMemcpy3DParms *p);
EXPORT int cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p);
EXPORT int cudaMemcpy3DBatchAsync(size_t count, struct batch_copy *copies, unsigned long long flags,
				  void *stream);

/* Only the size differs from what a program would find in its arrays: blocks of 8 bytes. */
#define BLOCK_BYTES 8u

int cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D copy = {.WidthInBytes = p->extent.width * BLOCK_BYTES,
			      .Height = p->extent.height,
			      .Depth = p->extent.depth};

	if (!p->extent.width)
		return 1;
	return getenv("ELEMENTS_INSIDE") ? cuMemcpy3D_v2(&copy) : 0;
}

int cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
	CUDA_MEMCPY3D_PEER copy = {.WidthInBytes = p->extent.width * BLOCK_BYTES,
				   .Height = p->extent.height,
				   .Depth = p->extent.depth};

	return getenv("ELEMENTS_INSIDE") ? cuMemcpy3DPeer(&copy) : 0;
}

int cudaMemcpy3DBatchAsync(size_t count, struct batch_copy *copies, unsigned long long flags,
			   void *stream)
{
	return getenv("ELEMENTS_INSIDE") ? cuMemcpy3DBatchAsync_v2(count, copies, flags, stream)
					 : 0;
}
#endif
