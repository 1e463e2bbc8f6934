/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA C++ program for test_simrt_program: kernels by <<<>>>, as a template, through
 * cudaLaunchKernelEx and cudaLaunchKernel, variables and a managed one, copies that must come back
 * byte for byte, errors. It prints one line per fact; nothing in it knows of the simulation.
 */
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

__constant__ int constant_numbers[16];
__device__ float device_numbers[1000];
__managed__ int managed_numbers[4];

__global__ void add_one(float *numbers, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		numbers[i] += 1;
}

template <typename T> __global__ void scale(T *numbers, T factor)
{
	numbers[blockIdx.x] *= factor;
}

static void say(const char *what, cudaError_t status)
{
	printf("%s %s\n", what, cudaGetErrorName(status));
}

static bool copies_are_exact(cudaStream_t stream)
{
	enum { BYTES = 1 << 20 };
	unsigned char *host = (unsigned char *)malloc(BYTES),
		      *back = (unsigned char *)malloc(BYTES);
	unsigned char *pinned = nullptr;
	void *device = nullptr, *other = nullptr;
	bool is_exact = true;

	for (int i = 0; i < BYTES; i++)
		host[i] = (unsigned char)(i * 131 + (i >> 8));
	cudaMalloc(&device, BYTES);
	cudaMalloc(&other, BYTES);
	cudaMallocHost((void **)&pinned, BYTES);
	memset(back, 0, BYTES);
	cudaMemcpy(device, host, BYTES, cudaMemcpyHostToDevice);
	cudaMemcpyAsync(other, device, BYTES, cudaMemcpyDeviceToDevice, stream);
	cudaMemcpyAsync(pinned, other, BYTES, cudaMemcpyDefault, stream);
	cudaStreamSynchronize(stream);
	is_exact = is_exact && !memcmp(pinned, host, BYTES);
	cudaMemset(device, 0x5a, 1000);
	cudaMemcpy(back, device, BYTES, cudaMemcpyDefault);
	for (int i = 0; i < BYTES; i++)
		is_exact = is_exact && back[i] == (i < 1000 ? 0x5a : host[i]);
	cudaFree(device);
	cudaFree(other);
	cudaFreeHost(pinned);
	free(host);
	free(back);
	return is_exact;
}

static bool symbols_are_exact()
{
	int numbers[16], back[16] = {};
	float value = 2.5f, value_back = 0;
	size_t size = 0;
	void *address = nullptr;

	for (int i = 0; i < 16; i++)
		numbers[i] = i * i;
	cudaMemcpyToSymbol(constant_numbers, numbers, sizeof(numbers));
	cudaMemcpyFromSymbol(back, constant_numbers, sizeof(back));
	cudaMemcpyToSymbol(device_numbers, &value, sizeof(value), 999 * sizeof(float));
	cudaGetSymbolAddress(&address, device_numbers);
	cudaGetSymbolSize(&size, device_numbers);
	cudaMemcpy(&value_back, (char *)address + 999 * sizeof(float), sizeof(value_back),
		   cudaMemcpyDeviceToHost);
	managed_numbers[2] = 7;
	return !memcmp(numbers, back, sizeof(numbers)) && value == value_back &&
	       size == sizeof(float) * 1000 && managed_numbers[2] == 7;
}

int main()
{
	cudaStream_t stream;
	cudaEvent_t start, stop;
	cudaDeviceProp properties;
	cudaFuncAttributes attributes;
	float *numbers = nullptr, milliseconds = -1;
	int blocks = 0, count = 1000;
	double factor = 3;

	say("properties", cudaGetDeviceProperties(&properties, 0));
	printf("name %s\n", properties.name);
	say("stream", cudaStreamCreate(&stream));
	cudaEventCreate(&start);
	cudaEventCreate(&stop);
	say("malloc", cudaMalloc(&numbers, count * sizeof(float)));
	cudaEventRecord(start, stream);
	add_one<<<dim3(4, 2), 256, 512, stream>>>(numbers, count);
	say("launch", cudaGetLastError());
	scale<double><<<7, 32>>>(nullptr, factor);
	cudaLaunchConfig_t config = {};
	config.gridDim = dim3(3);
	config.blockDim = dim3(64);
	config.stream = stream;
	say("launch-ex", cudaLaunchKernelEx(&config, add_one, numbers, count));
	void *arguments[] = {&numbers, &count};
	say("launch-by-address",
	    cudaLaunchKernel((const void *)add_one, dim3(5), dim3(128), arguments, 0, stream));
	cudaEventRecord(stop, stream);
	say("synchronize", cudaDeviceSynchronize());
	say("elapsed", cudaEventElapsedTime(&milliseconds, start, stop));
	printf("time %s\n", milliseconds > 0 ? "positive" : "none");
	say("attributes", cudaFuncGetAttributes(&attributes, add_one));
	say("occupancy", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add_one, 256, 0));
	printf("blocks %s\n", blocks > 0 ? "some" : "none");
	printf("copies %s\n", copies_are_exact(stream) ? "exact" : "wrong");
	printf("symbols %s\n", symbols_are_exact() ? "exact" : "wrong");
	add_one<<<1, 2000>>>(numbers, count);
	say("too-large-block", cudaGetLastError());
	say("error-is-gone", cudaGetLastError());
	say("unknown-kernel", cudaLaunchKernel((const void *)main, 1, 1, nullptr, 0, 0));
	say("free", cudaFree(numbers));
	say("stream-destroy", cudaStreamDestroy(stream));
	return 0;
}
