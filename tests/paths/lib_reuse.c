/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime whose first cudaFree() hands the address on before it returns, as a real one may: it
 * waits inside until the program has allocated the address again on another thread.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* 1: the address can be had again; 2: the free may return. */
_Atomic int reuse_state;

static char memory[4096];

int cudaSetDevice(int device);
int cudaMalloc(void **pointer, size_t size);
int cudaFree(void *pointer);
int cudaMemcpy(void *dst, const void *src, size_t size, int kind);

/* As a real runtime does it: the driver's primary context is made current. */
int cudaSetDevice(int device)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
	int (*init)(unsigned int), (*retain)(void **, int), (*set_current)(void *);

	if (!driver)
		return 100;
	memcpy(&init, &(void *){dlsym(driver, "cuInit")}, sizeof(init));
	memcpy(&retain, &(void *){dlsym(driver, "cuDevicePrimaryCtxRetain")}, sizeof(retain));
	memcpy(&set_current, &(void *){dlsym(driver, "cuCtxSetCurrent")}, sizeof(set_current));
	return init(0) || retain(&context, device) || set_current(context);
}

int cudaMalloc(void **pointer, size_t size)
{
	*pointer = memory;
	return size > sizeof(memory);
}

int cudaFree(void *pointer)
{
	int fresh = 0;

	if (atomic_compare_exchange_strong(&reuse_state, &fresh, 1)) {
		while (atomic_load(&reuse_state) != 2)
			;
	}
	return pointer != memory;
}

int cudaMemcpy(void *dst, const void *src, size_t size, int kind)
{
	return dst != memory || !src || !size || kind != 1;
}
