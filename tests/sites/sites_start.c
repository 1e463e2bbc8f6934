// SPDX-License-Identifier: Apache-2.0
/*
 * Preloaded into a program that has an interpreter linked in but starts something else with it:
 * main() becomes the interpreter's own. For wheel_python.py.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>

typedef int main_function(int argc, char **argv, char **environment);
typedef int start_function(main_function *main, int argc, char **argv, void (*init)(void),
			   void (*fini)(void), void (*loader_fini)(void), void *stack_end);

__attribute__((visibility("default"))) start_function __libc_start_main;

static int run_interpreter(int argc, char **argv, char **environment)
{
	int (*interpreter)(int, char **);

	(void)environment;
	*(void **)&interpreter = dlsym(RTLD_DEFAULT, "Py_BytesMain");
	return interpreter(argc, argv);
}

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
	start_function *start;

	*(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
	if (dlsym(RTLD_DEFAULT, "Py_BytesMain"))
		main = run_interpreter;
	return start(main, argc, argv, init, fini, loader_fini, stack_end);
}
