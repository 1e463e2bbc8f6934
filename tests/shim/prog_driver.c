/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver-API program that finds its functions in one way only and prints every result code.
 * usage: prog_driver dlsym|gpa|gpa1|next [wrong]
 *   dlsym  dlopen and dlsym per function;  gpa, gpa1  cuGetProcAddress_v2 / cuGetProcAddress only
 *   next   dlsym(RTLD_NEXT) after a global dlopen;  wrong  also calls with bad arguments
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long device_address;

static void *library;
static const char *mode;
static int (*get_proc_v2)(const char *, void **, int, uint64_t, int *);
static int (*get_proc_v1)(const char *, void **, int, uint64_t);

/* Driver functions by exported name; cuGetProcAddress takes the plain name. */
static void *find(const char *name)
{
	char plain[64];
	void *found = NULL;
	if (!strcmp(mode, "dlsym"))
		return dlsym(library, name);
	if (!strcmp(mode, "next"))
		return dlsym(RTLD_NEXT, name);
	snprintf(plain, sizeof(plain), "%s", name);
	char *suffix = strstr(plain, "_v");
	if (suffix)
		*suffix = '\0';
	if (get_proc_v2)
		get_proc_v2(plain, &found, 12000, 0, NULL);
	else
		get_proc_v1(plain, &found, 11080, 0);
	return found;
}

#define CALL(name, params, ...)                                                                    \
	do {                                                                                       \
		union {                                                                            \
			void *object;                                                              \
			int(*function) params;                                                     \
		} f = {find(#name)};                                                               \
		errno = 1234;                                                                      \
		int status = f.object ? f.function(__VA_ARGS__) : -1;                              \
		printf("%s %d%s\n", #name, status, errno == 1234 ? "" : " ERRNO CHANGED");         \
	} while (0)

static void call_wrongly(void)
{
	CALL(cuMemAlloc_v2, (device_address *, size_t), NULL, 16);
	CALL(cuMemAlloc_v2, (device_address *, size_t), &(device_address){0}, (size_t)1 << 50);
	CALL(cuMemFree_v2, (device_address), 0x1234000);
	CALL(cuMemHostAlloc, (void **, size_t, unsigned int), NULL, 16, 0);
	CALL(cuMemcpyHtoD_v2, (device_address, const void *, size_t), 0x1000, "x", 1);
	CALL(cuStreamDestroy_v2, (void *), NULL);
	CALL(cuEventCreate, (void **, unsigned int), NULL, 0);
	CALL(cuLaunchKernelEx, (const void *, void *, void **, void **), NULL, NULL, NULL, NULL);
	CALL(cuMemcpy2D_v2, (const void *), NULL);
}

static void use_driver(void)
{
	device_address device = 0, other = 0, managed = 0;
	void *context = NULL, *pinned = NULL, *stream = NULL, *event = NULL;
	char *pageable = malloc(1 << 20), *registered = aligned_alloc(4096, 1 << 20);
	int version = 0;

	CALL(cuInit, (unsigned int), 0);
	CALL(cuDriverGetVersion, (int *), &version);
	CALL(cuDevicePrimaryCtxRetain, (void **, int), &context, 0);
	CALL(cuCtxSetCurrent, (void *), context);
	CALL(cuMemAlloc_v2, (device_address *, size_t), &device, 1 << 20);
	CALL(cuMemAlloc_v2, (device_address *, size_t), &other, 1 << 20);
	CALL(cuMemAllocManaged, (device_address *, size_t, unsigned int), &managed, 4096, 1);
	CALL(cuMemHostAlloc, (void **, size_t, unsigned int), &pinned, 1 << 20, 0);
	CALL(cuMemHostRegister_v2, (void *, size_t, unsigned int), registered, 1 << 20, 0);
	CALL(cuStreamCreate, (void **, unsigned int), &stream, 1);
	CALL(cuEventCreate, (void **, unsigned int), &event, 0);
	memset(pageable, 7, 1 << 20);
	CALL(cuMemcpyHtoD_v2, (device_address, const void *, size_t), device, pageable, 1 << 20);
	CALL(cuMemcpyHtoDAsync_v2, (device_address, const void *, size_t, void *), device, pinned,
	     1000, stream);
	CALL(cuMemcpyHtoDAsync_v2, (device_address, const void *, size_t, void *), device,
	     registered + 4096, 2000, stream);
	CALL(cuMemcpyDtoDAsync_v2, (device_address, device_address, size_t, void *), other, device,
	     3000, stream);
	CALL(cuMemcpyDtoHAsync_v2, (void *, device_address, size_t, void *), pinned, other, 4000,
	     stream);
	CALL(cuMemcpy, (device_address, device_address, size_t), other,
	     (device_address)(uintptr_t)pinned, 5000);
	CALL(cuMemcpyDtoD_v2, (device_address, device_address, size_t), device, managed, 600);
	CALL(cuMemsetD8_v2, (device_address, unsigned char, size_t), device, 1, 64);
	CALL(cuMemsetD32Async, (device_address, unsigned int, size_t, void *), device, 1, 64,
	     stream);
	CALL(cuEventRecord, (void *, void *), event, stream);
	CALL(cuStreamWaitEvent, (void *, void *, unsigned int), stream, event, 0);
	CALL(cuStreamSynchronize, (void *), stream);
	CALL(cuEventSynchronize, (void *), event);
	CALL(cuCtxSynchronize, (void));
	CALL(cuMemHostUnregister, (void *), registered);
	CALL(cuMemcpyHtoD_v2, (device_address, const void *, size_t), device, registered, 7000);
	CALL(cuMemFreeHost, (void *), pinned);
	CALL(cuMemFree_v2, (device_address), managed);
	CALL(cuMemFree_v2, (device_address), other);
	CALL(cuMemFree_v2, (device_address), device);
	CALL(cuEventDestroy_v2, (void *), event);
	CALL(cuStreamDestroy_v2, (void *), stream);
	free(pageable);
	free(registered);
}

int main(int argc, char **argv)
{
	union {
		void *object;
		int (*v1)(const char *, void **, int, uint64_t);
		int (*v2)(const char *, void **, int, uint64_t, int *);
	} first;
	mode = argc > 1 ? argv[1] : "dlsym";
	library = dlopen("libcuda.so.1",
			 RTLD_NOW | (strcmp(mode, "next") ? RTLD_LOCAL : RTLD_GLOBAL));
	if (!library) {
		puts("no driver");
		return 1;
	}
	if (!strcmp(mode, "gpa")) {
		first.object = dlsym(library, "cuGetProcAddress_v2");
		get_proc_v2 = first.v2;
		/* As the runtime does: the look-up function fetched through itself is the one used.
		 */
		void *again = NULL;
		get_proc_v2("cuGetProcAddress", &again, 12000, 0, NULL);
		first.object = again;
		get_proc_v2 = first.v2;
	} else if (!strcmp(mode, "gpa1")) {
		first.object = dlsym(library, "cuGetProcAddress");
		get_proc_v1 = first.v1;
	}
	use_driver();
	if (argc > 2 && !strcmp(argv[2], "wrong"))
		call_wrongly();
	return 0;
}
