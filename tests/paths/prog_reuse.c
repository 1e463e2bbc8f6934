/* SPDX-License-Identifier: Apache-2.0 */
/* Frees on one thread what another thread allocates again before the free has returned. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

extern _Atomic int reuse_state;
int cudaSetDevice(int device);
int cudaMalloc(void **pointer, size_t size);
int cudaFree(void *pointer);
int cudaMemcpy(void *dst, const void *src, size_t size, int kind);

static void *free_it(void *memory)
{
	cudaSetDevice(0);
	printf("free %d\n", cudaFree(memory));
	return NULL;
}

int main(void)
{
	void *first = NULL, *second = NULL;
	char host[16] = "";
	pthread_t thread;
	int bad = 0;

	bad |= cudaSetDevice(0);
	bad |= cudaMalloc(&first, 100);
	pthread_create(&thread, NULL, free_it, first);
	while (atomic_load(&reuse_state) != 1)
		;
	bad |= cudaMalloc(&second, 200);
	bad |= cudaMemcpy(second, host, 10, 1);
	atomic_store(&reuse_state, 2);
	pthread_join(thread, NULL);
	bad |= cudaMemcpy(second, host, 11, 1);
	bad |= cudaFree(second);
	printf("%s, %s\n", bad ? "a call failed" : "all calls succeeded",
	       first == second ? "the address came again" : "another address");
	return bad;
}
