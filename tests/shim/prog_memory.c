/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes and gives back memory in every kind and prints every result code. usage: prog_memory MODE
 *   all      each kind by runtime and driver, in an order that leaves several live at a time
 *   wrong    the same functions with arguments that must be refused
 *   leave    ends with memory of every kind live
 *   reset    the same, but for virtual memory, and then resets the device
 *   share    a child process opens what this one exports
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#define PRINT(call)                                                                                \
	do {                                                                                       \
		errno = 1234;                                                                      \
		int status_ = (int)(call);                                                         \
		printf("%s = %d%s\n", #call, status_, errno == 1234 ? "" : " ERRNO CHANGED");      \
	} while (0)

#define MIB ((size_t)1 << 20)

static bool leaves;

static void plain(void)
{
	void *a, *b, *c;
	size_t pitch;
	struct cudaPitchedPtr pitched;
	CUdeviceptr d, e;

	PRINT(cudaMalloc(&a, 1000));
	PRINT(cudaMallocPitch(&b, &pitch, 300, 7));
	PRINT(cudaMalloc3D(&pitched, (struct cudaExtent){100, 5, 3}));
	PRINT(cuMemAlloc(&d, (size_t)3 << 30));
	PRINT(cuMemAllocPitch(&e, &pitch, 1000, 3, 16));
	PRINT(cudaFree(b));
	PRINT(cudaMallocManaged(&c, 5000, cudaMemAttachGlobal));
	memset(c, 1, 5000);
	PRINT(cudaMemPrefetchAsync(c, 5000, (struct cudaMemLocation){cudaMemLocationTypeDevice, 0},
				   0, NULL));
	PRINT(cuMemFree(d));
	PRINT(cuMemFree(e));
	PRINT(cudaFree(pitched.ptr));
	if (leaves)
		return;
	PRINT(cudaFree(c));
	PRINT(cudaFree(a));
}

static void host(void)
{
	void *a, *b, *c;
	char *own = aligned_alloc(4096, 8192);

	PRINT(cudaMallocHost(&a, 10000));
	PRINT(cudaHostAlloc(&b, 20000, cudaHostAllocMapped));
	PRINT(cuMemHostAlloc(&c, 30000, 0));
	PRINT(cudaHostRegister(own, 8192, 0));
	PRINT(cudaFreeHost(b));
	PRINT(cuMemFreeHost(c));
	if (leaves)
		return;
	PRINT(cudaHostUnregister(own));
	PRINT(cudaFreeHost(a));
	free(own);
}

static void arrays(void)
{
	struct cudaChannelFormatDesc floats = {32, 32, 0, 0, cudaChannelFormatKindFloat};
	CUDA_ARRAY3D_DESCRIPTOR halves = {.Width = 64,
					  .Height = 32,
					  .Depth = 4,
					  .Format = CU_AD_FORMAT_HALF,
					  .NumChannels = 4};
	CUDA_ARRAY_DESCRIPTOR bytes = {100, 10, CU_AD_FORMAT_UNSIGNED_INT8, 1};
	cudaMipmappedArray_t pyramid;
	cudaArray_t line, cube;
	CUarray other, flat;

	PRINT(cudaMallocArray(&line, &floats, 640, 0, 0));
	PRINT(cudaMalloc3DArray(&cube, &floats, (struct cudaExtent){16, 16, 16}, 0));
	PRINT(cudaMallocMipmappedArray(&pyramid, &floats, (struct cudaExtent){64, 64, 0}, 5, 0));
	PRINT(cuArray3DCreate(&other, &halves));
	PRINT(cuArrayCreate(&flat, &bytes));
	PRINT(cudaFreeArray(line));
	PRINT(cuArrayDestroy(other));
	PRINT(cudaFreeMipmappedArray(pyramid));
	if (leaves)
		return;
	PRINT(cuArrayDestroy(flat));
	PRINT(cudaFreeArray(cube));
}

static void pools(void)
{
	struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned,
					      .location = {cudaMemLocationTypeDevice, 0}};
	cudaMemPool_t pool, standard;
	cudaStream_t stream, second;
	uint64_t threshold = UINT64_MAX, now = 0;
	void *a, *b, *c;
	CUdeviceptr d;

	PRINT(cudaStreamCreate(&stream));
	PRINT(cudaStreamCreate(&second));
	PRINT(cudaMemPoolCreate(&pool, &properties));
	PRINT(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
	PRINT(cudaDeviceGetDefaultMemPool(&standard, 0));
	PRINT(cudaMallocAsync(&a, 3 * MIB, stream));
	PRINT(cudaMallocFromPoolAsync(&b, 5 * MIB, pool, stream));
	PRINT(cuMemAllocFromPoolAsync(&d, 100, (CUmemoryPool)pool, (CUstream)second));
	PRINT(cudaFreeAsync(a, stream));
	PRINT(cudaMallocAsync(&c, 3 * MIB, stream));
	printf("the freed address comes back: %d\n", c == a);
	PRINT(cudaStreamSynchronize(stream));
	PRINT(cudaFreeAsync(b, stream));
	PRINT(cudaStreamSynchronize(stream));
	PRINT(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &now));
	printf("the pool keeps what it had: %d\n", now >= 5 * MIB);
	PRINT(cudaMemPoolTrimTo(pool, 0));
	if (leaves)
		return;
	PRINT(cuMemFree(d)); /* pool memory may be given back at once */
	PRINT(cudaFreeAsync(c, stream));
	PRINT(cudaMemPoolDestroy(pool));
	PRINT(cudaStreamDestroy(stream));
	PRINT(cudaStreamDestroy(second));
}

static void virtual_memory(void)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemAccessDesc access = {.location = properties.location,
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle first, second, again;
	char out[64], in[64];
	CUdeviceptr base;

	memset(in, 5, sizeof(in));
	PRINT(cuMemAddressReserve(&base, 64 * MIB, 0, 0, 0));
	PRINT(cuMemCreate(&first, 2 * MIB, &properties, 0));
	PRINT(cuMemCreate(&second, 20 * MIB, &properties, 0));
	PRINT(cuMemMap(base, 2 * MIB, 0, first, 0));
	PRINT(cuMemMap(base + 2 * MIB, 20 * MIB, 0, second, 0));
	PRINT(cuMemSetAccess(base, 22 * MIB, &access, 1));
	PRINT(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)base));
	PRINT(cuMemRelease(first));
	PRINT(cuMemRelease(second)); /* lives on while it is mapped */
	PRINT(cuMemcpyHtoD(base + 2 * MIB - 32, in, 64));
	PRINT(cuMemcpyDtoH(out, base + 2 * MIB - 32, 64));
	printf("bytes cross two mappings: %d\n", memcmp(in, out, 64) == 0);
	if (leaves)
		return;
	PRINT(cuMemUnmap(base, 22 * MIB));
	PRINT(cuMemMap(base, 2 * MIB, 0, again, 0));
	PRINT(cuMemUnmap(base, 2 * MIB));
	PRINT(cuMemRelease(again));
	PRINT(cuMemAddressFree(base, 64 * MIB));
}

static void wrong(void)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	cudaIpcMemHandle_t handle;
	CUipcMemHandle driver_handle;
	void *a = (void *)(uintptr_t)64;
	size_t pitch = 0;
	CUdeviceptr d = 0;

	memset(&handle, 0, sizeof(handle));
	memset(&driver_handle, 0, sizeof(driver_handle));
	PRINT(cudaMalloc(NULL, 10));
	PRINT(cudaMalloc(&a, (size_t)1 << 62));
	PRINT(cudaMallocPitch(&a, NULL, 10, 10));
	PRINT(cudaMallocPitch(NULL, &pitch, 10, 10));
	PRINT(cudaMalloc3D(NULL, (struct cudaExtent){10, 10, 10}));
	PRINT(cudaMallocArray(NULL, NULL, 10, 10, 0));
	PRINT(cudaMallocAsync(NULL, 10, NULL));
	PRINT(cudaMallocAsync(&a, (size_t)1 << 50, NULL));
	PRINT(cudaMallocFromPoolAsync(&a, 10, NULL, NULL));
	PRINT(cudaFreeAsync((void *)(uintptr_t)0x123456, NULL));
	PRINT(cudaFreeArray((cudaArray_t)(uintptr_t)0x1000));
	PRINT(cudaHostUnregister((void *)(uintptr_t)0x1000));
	PRINT(cudaIpcOpenMemHandle(&a, handle, 1));
	PRINT(cudaIpcOpenMemHandle(NULL, handle, 1));
	PRINT(cudaIpcCloseMemHandle((void *)(uintptr_t)0x1000));
	PRINT(cudaMemPoolDestroy(NULL));
	PRINT(cudaMemPoolCreate(NULL, NULL));
	PRINT(cuMemCreate(NULL, 2 * MIB, &properties, 0));
	PRINT(cuMemCreate(&(CUmemGenericAllocationHandle){0}, 100, &properties, 0));
	PRINT(cuMemCreate(&(CUmemGenericAllocationHandle){0}, 2 * MIB, NULL, 0));
	PRINT(cuMemRelease(77));
	PRINT(cuMemMap(0x200000, 2 * MIB, 0, 77, 0));
	PRINT(cuMemUnmap(0x200000, 2 * MIB));
	PRINT(cuMemAddressReserve(NULL, 2 * MIB, 0, 0, 0));
	PRINT(cuMemAddressReserve(&d, 77, 0, 0, 0));
	PRINT(cuMemAddressFree(0x200000, 2 * MIB));
	PRINT(cuMemRetainAllocationHandle(NULL, NULL));
	PRINT(cuMulticastCreate(NULL, NULL));
	PRINT(cuMemImportFromShareableHandle(NULL, NULL, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	PRINT(cuArrayCreate(NULL, NULL));
	PRINT(cuMipmappedArrayCreate(NULL, NULL, 1));
	PRINT(cuArrayDestroy(NULL));
	PRINT(cuIpcOpenMemHandle(NULL, driver_handle, 1));
	printf("nothing was written: %d %d %d\n", a == (void *)(uintptr_t)64, pitch == 0, d == 0);
}

/* ---- two processes ---- */

static void send_descriptor(int to, int descriptor)
{
	char control[CMSG_SPACE(sizeof(int))] = {0}, byte = 0;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
	if (sendmsg(to, &message, 0) != 1)
		exit(2);
}

static int receive_descriptor(int from)
{
	char control[CMSG_SPACE(sizeof(int))] = {0}, byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	int descriptor = -1;

	if (recvmsg(from, &message, 0) == 1)
		memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	return descriptor;
}

static void take_shared(int from)
{
	CUmemGenericAllocationHandle handle;
	cudaIpcMemHandle_t plain_handle;
	CUdeviceptr base;
	int descriptor;
	void *opened;
	char text[16] = "";

	if (read(from, &plain_handle, sizeof(plain_handle)) != sizeof(plain_handle))
		exit(2);
	descriptor = receive_descriptor(from);
	PRINT(cudaIpcOpenMemHandle(&opened, plain_handle, cudaIpcMemLazyEnablePeerAccess));
	PRINT(cudaMemcpy(text, opened, sizeof(text), cudaMemcpyDeviceToHost));
	printf("the child reads \"%s\"\n", text);
	PRINT(cudaMemset(opened, 'x', 3));
	PRINT(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)descriptor,
					     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	PRINT(cuMemAddressReserve(&base, 4 * MIB, 0, 0, 0));
	PRINT(cuMemMap(base, 4 * MIB, 0, handle, 0));
	PRINT(cuMemRelease(handle));
	PRINT(cuMemUnmap(base, 4 * MIB));
	PRINT(cuMemAddressFree(base, 4 * MIB));
	PRINT(cudaIpcCloseMemHandle(opened));
	PRINT(cudaDeviceSynchronize());
}

static void share(void)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .requestedHandleTypes =
						  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
					  .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemGenericAllocationHandle handle;
	cudaIpcMemHandle_t plain_handle;
	int sockets[2], descriptor = -1, status;
	char text[16] = "";
	void *own;
	pid_t child;

	socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		take_shared(sockets[1]);
		exit(0);
	}
	PRINT(cudaMalloc(&own, 3 * MIB));
	PRINT(cudaMemcpy(own, "hello from here", 16, cudaMemcpyHostToDevice));
	PRINT(cudaIpcGetMemHandle(&plain_handle, own));
	PRINT(cuMemCreate(&handle, 4 * MIB, &properties, 0));
	PRINT(cuMemExportToShareableHandle(&descriptor, handle,
					   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	fflush(stdout);
	if (write(sockets[0], &plain_handle, sizeof(plain_handle)) != sizeof(plain_handle))
		exit(2);
	send_descriptor(sockets[0], descriptor);
	close(descriptor);
	waitpid(child, &status, 0);
	printf("child ends with %d\n", status);
	PRINT(cudaMemcpy(text, own, sizeof(text), cudaMemcpyDeviceToHost));
	printf("the parent reads \"%s\"\n", text);
	PRINT(cuMemRelease(handle));
	PRINT(cudaFree(own));
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "all";

	if (!strcmp(mode, "share")) {
		share();
		return 0;
	}
	leaves = !strcmp(mode, "leave") || !strcmp(mode, "reset");
	PRINT(cudaFree(NULL));
	if (!strcmp(mode, "wrong")) {
		wrong();
		return 0;
	}
	plain();
	host();
	arrays();
	pools();
	if (strcmp(mode, "reset") != 0)
		virtual_memory();
	else
		PRINT(cudaDeviceReset());
	PRINT(cudaDeviceSynchronize());
	PRINT(cudaGetLastError());
	return 0;
}
