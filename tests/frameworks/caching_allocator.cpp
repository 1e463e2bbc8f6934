/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for libc10_cuda.so: a caching allocator that does towards CUDA and towards libc10 what
 * PyTorch's does. It keeps what is freed, reports every block while it holds its mutex, and when
 * cudaMalloc fails it gives back its cache and tries again before it reports that memory is out.
 */
#include "caching_allocator.h"

#include <map>
#include <mutex>
#include <vector>

#include <cuda_runtime_api.h>

namespace
{

struct Block {
	size_t bytes;
	int device;
};

std::mutex mutex;
std::map<void *, Block> live, cached;
std::map<int, size_t> allocated, reserved;

void report(Release release, void *block, int64_t change, int device)
{
	c10::Device where = {1, static_cast<int8_t>(device)};
	size_t a = allocated[device], r = reserved[device];

	if (release == Release::before_totals)
		c10::reportMemoryUsageToProfiler(block, change, where);
	else if (release == Release::with_signed)
		c10::reportMemoryUsageToProfiler(block, change, static_cast<int64_t>(a),
						 static_cast<int64_t>(r), where);
	else
		c10::reportMemoryUsageToProfiler(block, change, a, r, where);
}

void report_out_of_memory(Release release, size_t bytes, int device)
{
	c10::Device where = {1, static_cast<int8_t>(device)};
	size_t a = allocated[device], r = reserved[device];

	if (release == Release::with_signed)
		c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(bytes),
						 static_cast<int64_t>(a), static_cast<int64_t>(r),
						 where);
	else if (release == Release::with_unsigned)
		c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(bytes), a, r, where);
}

void empty_cache(int device)
{
	for (auto at = cached.begin(); at != cached.end();) {
		if (at->second.device != device) {
			++at;
			continue;
		}
		cudaFree(at->first);
		reserved[device] -= at->second.bytes;
		at = cached.erase(at);
	}
}

void *from_driver(size_t bytes, int device)
{
	void *memory = nullptr;

	if (cudaMalloc(&memory, bytes) == cudaSuccess)
		return memory;
	cudaGetLastError();
	empty_cache(device);
	if (cudaMalloc(&memory, bytes) == cudaSuccess)
		return memory;
	cudaGetLastError();
	return nullptr;
}

} // namespace

void *caching_malloc(Release release, int device, size_t bytes)
{
	std::lock_guard<std::mutex> guard(mutex);
	void *memory = nullptr;

	cudaSetDevice(device);
	for (auto at = cached.begin(); at != cached.end(); ++at) {
		if (at->second.bytes == bytes && at->second.device == device) {
			memory = at->first;
			cached.erase(at);
			break;
		}
	}
	if (!memory) {
		memory = from_driver(bytes, device);
		if (!memory) {
			report_out_of_memory(release, bytes, device);
			return nullptr;
		}
		reserved[device] += bytes;
	}
	live[memory] = Block{bytes, device};
	allocated[device] += bytes;
	report(release, memory, static_cast<int64_t>(bytes), device);
	return memory;
}

void caching_free(Release release, void *block)
{
	std::lock_guard<std::mutex> guard(mutex);
	Block what = live.at(block);

	live.erase(block);
	cached[block] = what;
	allocated[what.device] -= what.bytes;
	report(release, block, -static_cast<int64_t>(what.bytes), what.device);
}

void report_many(int count)
{
	std::lock_guard<std::mutex> guard(mutex);

	for (int i = 0; i < count; i++)
		report(Release::with_unsigned, nullptr, 512, 0);
}

void report_from_cpu(size_t bytes)
{
	c10::reportMemoryUsageToProfiler(nullptr, static_cast<int64_t>(bytes), bytes, size_t(0),
					 c10::Device{0, 0});
}
