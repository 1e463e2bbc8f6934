/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime that does nothing, so that the cost of a wrapper is all there is to measure. */
#include <stddef.h>

int cudaMalloc(void **pointer, size_t size);
int cudaMemcpyAsync(void *dst, const void *src, size_t count, int kind, void *stream);
int cudaSetDevice(int device);
int cudaStreamSynchronize(void *stream);

int cudaMalloc(void **pointer, size_t size)
{
	static char memory[64];
	(void)size;
	*pointer = memory;
	return 0;
}

int cudaMemcpyAsync(void *dst, const void *src, size_t count, int kind, void *stream)
{
	(void)dst;
	(void)src;
	(void)count;
	(void)kind;
	(void)stream;
	return 0;
}

int cudaStreamSynchronize(void *stream)
{
	(void)stream;
	return 0;
}

int cudaSetDevice(int device)
{
	(void)device;
	return 0;
}
