/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real libc10 with a profiler of its own: every report must reach it with all its numbers, and
 * the shim beside it. TOTAL is the type of totals in that release: int64_t in 1.13, size_t later.
 */
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstdio>
#include <memory>

extern "C" int cudaMalloc(void **memory, size_t bytes);

struct Profiler : c10::MemoryReportingInfoBase {
	void reportMemoryUsage(void *block, int64_t change, TOTAL allocated, TOTAL reserved,
			       c10::Device device) override
	{
		printf("usage %p %lld %lld %lld on %d:%d\n", block, (long long)change,
		       (long long)allocated, (long long)reserved, (int)device.type(),
		       (int)device.index());
	}

	void reportOutOfMemory(int64_t wanted, TOTAL allocated, TOTAL reserved,
			       c10::Device device) override
	{
		printf("out of memory %lld %lld %lld on %d:%d\n", (long long)wanted,
		       (long long)allocated, (long long)reserved, (int)device.type(),
		       (int)device.index());
	}

	bool memoryProfilingEnabled() const override
	{
		return true;
	}
};

int main()
{
	const c10::Device gpu(c10::DeviceType::CUDA, 0), cpu(c10::DeviceType::CPU);
	c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, std::make_shared<Profiler>());
	void *memory = nullptr, *const block = reinterpret_cast<void *>(0x7000000000);

	if (cudaMalloc(&memory, 4096) != 0)
		return 2;
	c10::reportMemoryUsageToProfiler(block, 64 << 20, 96 << 20, 128 << 20, gpu);
	c10::reportMemoryUsageToProfiler(block, 4096, 0, 0, cpu);
	c10::reportMemoryUsageToProfiler(block, -(64 << 20), 32 << 20, 128 << 20, gpu);
	c10::reportOutOfMemoryToProfiler(int64_t(1) << 50, 32 << 20, 128 << 20, gpu);
	return 0;
}
