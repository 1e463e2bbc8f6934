/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of libc10.so that matters here, for the stand-in: the same names and types as PyTorch's,
 * so the same mangled symbols. All releases' variants are overloads of each other.
 */
#ifndef GPUTRACE_TESTS_C10_REPORT_H
#define GPUTRACE_TESTS_C10_REPORT_H

#include <cstddef>
#include <cstdint>

#define C10_PUBLIC __attribute__((visibility("default")))

namespace c10
{

struct Device {
	int8_t type; /* 0 CPU, 1 CUDA */
	int8_t index;
};

/* before 1.10, 1.13, since 2.0 */
C10_PUBLIC void reportMemoryUsageToProfiler(void *block, int64_t change, Device device);
C10_PUBLIC void reportMemoryUsageToProfiler(void *block, int64_t change, int64_t allocated,
					    int64_t reserved, Device device);
C10_PUBLIC void reportMemoryUsageToProfiler(void *block, int64_t change, size_t allocated,
					    size_t reserved, Device device);
C10_PUBLIC void reportOutOfMemoryToProfiler(int64_t wanted, int64_t allocated, int64_t reserved,
					    Device device);
C10_PUBLIC void reportOutOfMemoryToProfiler(int64_t wanted, size_t allocated, size_t reserved,
					    Device device);

/* Of the stand-in alone: what its "profiler" has been told. */
C10_PUBLIC void print_what_was_reported();

} // namespace c10

#endif
