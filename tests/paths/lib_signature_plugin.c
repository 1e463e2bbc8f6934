/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the functions of signatures.h as a library that was compiled for one CUDA major does:
 * linked, and by dlsym on that major's runtime. Prints what they wrote.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "signatures.h"

#define DECLARE(name, params, args, arrived, answer) int name params;
SIGNATURES(DECLARE)

static struct arena arena;
int plugin_call(void);
int plugin_look_up(void);

static void prepare(void)
{
	memset(&arena, 0, sizeof(arena));
	for (unsigned int i = 0; i < COPIES; i++) {
		arena.sources[i] = arena.from[i];
		arena.destinations[i] = arena.to[i];
		arena.sizes[i] = (i + 1) * 100;
	}
}

static void tell(void)
{
	printf("%d: executable %p, error node %p, log %d, update %d %p %p, %.1f ms, failed %zu\n",
	       MAJOR, arena.executable, arena.error_node, arena.log[62], arena.info.result,
	       arena.info.node, arena.info.from, (double)arena.ms, arena.failed);
	fflush(stdout);
}

int plugin_call(void)
{
	int status = 0;

	prepare();
#define CALL(name, params, args, arrived, answer) status |= name args;
	SIGNATURES(CALL)
#undef CALL
	tell();
	return status;
}

int plugin_look_up(void)
{
	const char *runtime = MAJOR == 11   ? "libcudart.so.11.0"
			      : MAJOR == 12 ? "libcudart.so.12"
					    : "libcudart.so.13";
	void *library = dlopen(runtime, RTLD_NOW | RTLD_NOLOAD);
	int status = 0;

	if (!library)
		return -1;
	prepare();
#define CALL(name, params, args, arrived, answer)                                                  \
	{                                                                                          \
		int(*function) params;                                                             \
		memcpy(&function, &(void *){dlsym(library, #name)}, sizeof(function));             \
		status |= function ? function args : 2;                                            \
	}
	SIGNATURES(CALL)
#undef CALL
	tell();
	return status;
}
