/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: prog_killed LIBRARY SECONDS [end]. Calls seven times what no library has, opens LIBRARY
 * past every preload and lets it call its own runtime, works for SECONDS, and is killed; with "end"
 * it ends by itself.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime_api.h>

/* The simulated driver has no batches of discards. */
int cuMemDiscardBatchAsync(void *addresses, size_t *sizes, size_t count, unsigned long long flags,
			   void *stream) __attribute__((weak));

#define CALLS 7

int main(int argc, char **argv)
{
	int (*plugin_call)(void);
	void *memory = NULL, *library;
	struct timespec pause = {0, 20000000};
	int refused = 0;

	if (argc < 3 || cudaMalloc(&memory, 4096))
		return 1;
	for (int i = 0; i < CALLS; i++)
		refused += cuMemDiscardBatchAsync &&
			   cuMemDiscardBatchAsync(NULL, NULL, 0, 0, NULL) == 801;
	library = dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND);
	if (!library)
		return 2;
	memcpy(&plugin_call, &(void *){dlsym(library, "plugin_call")}, sizeof(plugin_call));
	printf("%d calls were refused, the library's gave %d\n", refused, plugin_call());
	fflush(stdout);
	for (double left = atof(argv[2]); left > 0; left -= 0.02) {
		cudaMemset(memory, 1, 4096);
		nanosleep(&pause, NULL);
	}
	if (argc == 3)
		raise(SIGKILL);
	return 0;
}
