/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates 1 MiB by a call that a preload sees, and 3 MiB by a library opened with RTLD_DEEPBIND,
 * whose calls it does not see. usage: prog_deep LIBRARY
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

int main(int argc, char **argv)
{
	int (*allocate)(CUdeviceptr *, size_t) = NULL;
	int (*give_back)(CUdeviceptr) = NULL;
	CUdeviceptr seen = 0, unseen = 0;
	CUcontext context;
	void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);

	if (!library || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) ||
	    cuCtxSetCurrent(context))
		return 1;
	*(void **)&allocate = dlsym(library, "deep_allocate");
	*(void **)&give_back = dlsym(library, "deep_free");
	printf("seen %d\n", (int)cuMemAlloc(&seen, 1 << 20));
	printf("unseen %d\n", allocate(&unseen, 3 << 20));
	printf("free %d %d\n", give_back(unseen), (int)cuMemFree(seen));
	return 0;
}
