/* SPDX-License-Identifier: Apache-2.0 */
/* Launches in two ways and prints every result code; built against several runtimes. */
#include <cstdio>

template <class T> __global__ void axpy(T *x, T a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] *= a;
}

int main()
{
	float *device = nullptr;
	cudaError_t error = cudaMalloc(&device, 4096);
	printf("malloc %d %s\n", error, cudaGetErrorName(error));
	axpy<<<4, 256>>>(device, 2.f, 1024);
	printf("launch %d\n", cudaGetLastError());
	cudaLaunchConfig_t config = {};
	config.gridDim = dim3(2);
	config.blockDim = dim3(64);
	error = cudaLaunchKernelEx(&config, axpy<float>, device, 3.f, 128);
	printf("launch ex %d %d\n", error, cudaGetLastError());
	float factor = 1.f;
	int count = 96;
	void *arguments[] = {&device, &factor, &count};
	error = cudaLaunchKernel(reinterpret_cast<const void *>(axpy<float>), dim3(3), dim3(32),
				 arguments, 0, nullptr);
	printf("launch by stub %d\n", error);
	error = cudaDeviceSynchronize();
	printf("sync %d\n", error);
	printf("free %d\n", cudaFree(device));
	return error;
}
