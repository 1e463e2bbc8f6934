/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an allocator tells a profiler what it did, by the functions of PyTorch's libc10, which
 * gputrace listens to. They are weak: without a profiler they are not there and nothing is said.
 */
#ifndef GPUTRACE_SAMPLES_ALLOCATOR_REPORT_H
#define GPUTRACE_SAMPLES_ALLOCATOR_REPORT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Looked up at run time also where code is not position independent; see gputrace.h. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define ALLOCATOR_WEAK __attribute__((weak, noplt))
#endif
#endif
#ifndef ALLOCATOR_WEAK
#define ALLOCATOR_WEAK __attribute__((weak))
#endif
void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *block, int64_t change,
							   size_t allocated, size_t reserved,
							   uint64_t device) ALLOCATOR_WEAK;
void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t wanted, size_t allocated,
							 size_t reserved,
							 uint64_t device) ALLOCATOR_WEAK;
#undef ALLOCATOR_WEAK

#ifdef __cplusplus
}
#endif

enum { ALLOCATOR_CUDA_DEVICE_0 = 1 }; /* c10::Device: type 1, index 0 */

static inline void allocator_report(void *block, int64_t change, size_t allocated, size_t reserved)
{
	if (_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE)
		_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(
			block, change, allocated, reserved, ALLOCATOR_CUDA_DEVICE_0);
}

static inline void allocator_report_failure(size_t wanted, size_t allocated, size_t reserved)
{
	if (_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE)
		_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(
			(int64_t)wanted, allocated, reserved, ALLOCATOR_CUDA_DEVICE_0);
}

#endif
