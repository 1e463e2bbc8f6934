/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for libc10.so: keeps what is reported, so that a test sees whether every report arrived
 * with all its numbers. Reports come through the PLT, also from inside of this library.
 */
#include "c10_report.h"

#include <cstdio>

namespace c10
{

static uint64_t reports, checksum;

static void take(uint64_t a, uint64_t b, uint64_t c, uint64_t d, Device device)
{
	reports++;
	checksum = checksum * 31 + a + 3 * b + 5 * c + 7 * d +
		   static_cast<uint64_t>(device.type * 256 + device.index);
}

void reportMemoryUsageToProfiler(void *, int64_t change, Device device)
{
	take(static_cast<uint64_t>(change), 1, 0, 0, device);
}

void reportMemoryUsageToProfiler(void *, int64_t change, int64_t allocated, int64_t reserved,
				 Device device)
{
	take(static_cast<uint64_t>(change), 2, static_cast<uint64_t>(allocated),
	     static_cast<uint64_t>(reserved), device);
}

void reportMemoryUsageToProfiler(void *, int64_t change, size_t allocated, size_t reserved,
				 Device device)
{
	take(static_cast<uint64_t>(change), 3, allocated, reserved, device);
}

void reportOutOfMemoryToProfiler(int64_t wanted, int64_t allocated, int64_t reserved, Device device)
{
	take(static_cast<uint64_t>(wanted), 4, static_cast<uint64_t>(allocated),
	     static_cast<uint64_t>(reserved), device);
}

void reportOutOfMemoryToProfiler(int64_t wanted, size_t allocated, size_t reserved, Device device)
{
	take(static_cast<uint64_t>(wanted), 5, allocated, reserved, device);
}

void print_what_was_reported()
{
	printf("%llu reports, checksum %llx\n", static_cast<unsigned long long>(reports),
	       static_cast<unsigned long long>(checksum));
	fflush(stdout);
}

} // namespace c10
