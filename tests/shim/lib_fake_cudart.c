/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime of one CUDA major that only says which one it is. -DMAJOR=11 (or 12, 13) */
#include <signal.h>
#include <stddef.h>

int cudaMalloc(void **pointer, size_t size);
int cudaFree(void *pointer);

int cudaMalloc(void **pointer, size_t size)
{
	(void)pointer;
	(void)size;
	return 1000 + MAJOR;
}

int cudaFree(void *pointer)
{
	if (pointer)
		raise(SIGUSR1); /* interrupts the call that it is in */
	return 2000 + MAJOR;
}
