/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the real NCCL without a GPU: what needs none succeeds, collectives without a communicator
 * fail after NCCL has named them through NVTX. Prints every result.
 * usage: prog_nccl PATH_OF_LIBNCCL [cuda]     cuda: opens a session first
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

typedef int (*version_function)(int *version);
typedef int (*group_function)(void);
typedef int (*unique_id_function)(void *id);
typedef int (*collective_function)(const void *from, void *to, size_t count, int type, int what,
				   void *communicator, void *stream);
typedef int (*send_function)(const void *from, size_t count, int type, int peer, void *communicator,
			     void *stream);

static void *find(void *library, const char *name)
{
	void *found = dlsym(library, name);
	if (!found)
		printf("no %s\n", name);
	return found;
}

#define FIND(type, name)                                                                           \
	type name = NULL;                                                                          \
	{                                                                                          \
		void *found = find(nccl, #name);                                                   \
		if (!found)                                                                        \
			return 3;                                                                  \
		memcpy(&name, &found, sizeof(found));                                              \
	}

int main(int argc, char **argv)
{
	void *memory = NULL;
	char id[128];
	int version = 0;

	if (argc > 2 && cudaMalloc(&memory, 4096) != cudaSuccess)
		return 1;
	void *nccl = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!nccl)
		return 2;
	FIND(version_function, ncclGetVersion)
	FIND(unique_id_function, ncclGetUniqueId)
	FIND(group_function, ncclGroupStart)
	FIND(group_function, ncclGroupEnd)
	FIND(collective_function, ncclAllReduce)
	FIND(collective_function, ncclBroadcast)
	FIND(send_function, ncclSend)
	printf("version %d", ncclGetVersion(&version));
	printf(" %d\n", version);
	printf("unique id %d\n", ncclGetUniqueId(id));
	printf("group %d\n", ncclGroupStart());
	printf("all-reduce %d\n", ncclAllReduce(memory, memory, 16, 7, 0, NULL, NULL));
	printf("broadcast %d\n", ncclBroadcast(memory, memory, 16, 7, 3, NULL, NULL));
	printf("send %d\n", ncclSend(memory, 8, 7, 5, NULL, NULL));
	printf("end %d\n", ncclGroupEnd());
	return 0;
}
