/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces malloc by one that calls CUDA, as allocators with pinned memory do: the shim must
 * neither recurse nor need malloc.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

static _Alignas(16) unsigned char pool[64 << 20];
static _Atomic size_t pool_used;
static _Atomic int calls, armed, inside;

void *malloc(size_t size)
{
	if (armed && !inside) {
		void *device = NULL;
		inside = 1;
		cudaMalloc(&device, 555);
		cudaFree(device);
		inside = 0;
		calls++;
	}
	size_t at = (pool_used += (size + 31) & ~(size_t)15) - ((size + 31) & ~(size_t)15);
	if (at + size + 16 > sizeof(pool))
		return NULL;
	memcpy(pool + at, &size, sizeof(size));
	return pool + at + 16;
}

void free(void *pointer)
{
	(void)pointer;
}

void *calloc(size_t count, size_t size)
{
	void *fresh = malloc(count * size);
	return fresh ? memset(fresh, 0, count * size) : NULL;
}

void *realloc(void *old, size_t size)
{
	void *fresh = malloc(size);
	if (fresh && old) {
		size_t old_size;
		memcpy(&old_size, (unsigned char *)old - 16, sizeof(old_size));
		memcpy(fresh, old, old_size < size ? old_size : size);
	}
	return fresh;
}

int main(void)
{
	void *device = NULL;
	armed = 1;
	printf("first %d\n", cudaMalloc(&device, 100) ? 1 : 0);
	for (int i = 0; i < 3; i++)
		free(malloc(10));
	armed = 0;
	printf("done, more than two calls: %d\n", calls > 2);
	return 0;
}
