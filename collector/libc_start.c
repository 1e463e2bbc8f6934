/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets the program start on old C libraries: the start code of a recent glibc asks for
 * __libc_start_main@GLIBC_2.34, and nothing else in the collector is younger than 2.17. The linker
 * turns that request (--wrap) into the function here, which asks for the oldest version; glibc
 * keeps it for ever and treats absent init and fini functions alike in both.
 */
#if defined(__x86_64__)
__asm__(".symver libc_start_main_oldest, __libc_start_main@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver libc_start_main_oldest, __libc_start_main@GLIBC_2.17");
#else
#error "libc_start.c knows x86-64 and aarch64 only"
#endif

typedef int main_fn(int argc, char **argv, char **envp);

int libc_start_main_oldest(main_fn *main, int argc, char **argv, void (*init)(void),
			   void (*fini)(void), void (*loader_fini)(void), void *stack_end);
int __wrap___libc_start_main(main_fn *main, int argc, char **argv, void (*init)(void),
			     void (*fini)(void), void (*loader_fini)(void), void *stack_end);

__attribute__((no_stack_protector)) int
__wrap___libc_start_main(main_fn *main, int argc, char **argv, void (*init)(void),
			 void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
	return libc_start_main_oldest(main, argc, argv, init, fini, loader_fini, stack_end);
}
