/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin linked to one CUDA major's runtime. */
#include <dlfcn.h>
#include <stddef.h>

int cudaMalloc(void **pointer, size_t size);
int plugin_call(void);
int plugin_look_up(void);

int plugin_call(void)
{
	void *pointer = NULL;
	return cudaMalloc(&pointer, 8);
}

/* The function as the plugin's own scope has it. */
int plugin_look_up(void)
{
	void *pointer = NULL;
	union {
		void *object;
		int (*function)(void **, size_t);
	} found = {dlsym(RTLD_DEFAULT, "cudaMalloc")};
	return found.object ? found.function(&pointer, 8) : -1;
}
