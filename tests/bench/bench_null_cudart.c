/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime that does nothing, so that the cost of a wrapper is all there is to measure. */
#include <stddef.h>

int cudaMalloc(void **pointer, size_t size);
int cudaMemcpyAsync(void *dst, const void *src, size_t count, int kind, void *stream);
int cudaSetDevice(int device);
int cudaStreamSynchronize(void *stream);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);
int cudaGraphInstantiate(void **executable, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *executable, void *stream);

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

int cudaStreamBeginCapture(void *stream, int mode)
{
	(void)stream;
	(void)mode;
	return 0;
}

int cudaStreamEndCapture(void *stream, void **graph)
{
	*graph = stream;
	return 0;
}

int cudaGraphInstantiate(void **executable, void *graph, unsigned long long flags)
{
	(void)flags;
	*executable = graph;
	return 0;
}

int cudaGraphLaunch(void *executable, void *stream)
{
	(void)executable;
	(void)stream;
	return 0;
}
