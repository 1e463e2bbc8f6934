/* SPDX-License-Identifier: Apache-2.0 */
/* Registers thousands of kernels and initialises the driver, as importing a framework does. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int limit, void *tid, void *bid, void *block, void *grid, int *size);
int cudaGetDeviceCount(int *count);

static const char stubs[20000];

int main(void)
{
	static struct {
		int magic, version;
		const void *data;
		void *file;
	} binary = {0x466243b1, 1, NULL, NULL};
	void **handle = __cudaRegisterFatBinary(&binary);
	for (int i = 0; i < 20000; i++) {
		char *name = malloc(32);
		snprintf(name, 32, "kernel_%d", i);
		__cudaRegisterFunction(handle, &stubs[i], name, name, -1, NULL, NULL, NULL, NULL,
				       NULL);
	}
	union {
		void *object;
		int (*function)(unsigned int);
	} init = {dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuInit")};
	int count = 0;
	printf("cuInit %d\n", init.function(0));
	printf("cudaGetDeviceCount %d\n", cudaGetDeviceCount(&count));
	return 0;
}
