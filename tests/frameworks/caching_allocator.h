/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's caching allocator: see caching_allocator.cpp. */
#ifndef GPUTRACE_TESTS_CACHING_ALLOCATOR_H
#define GPUTRACE_TESTS_CACHING_ALLOCATOR_H

#include <cstddef>

#include "c10_report.h"

enum class Release { before_totals, with_signed, with_unsigned };

/* NULL: out of memory, also after the cache was given back. */
C10_PUBLIC void *caching_malloc(Release release, int device, size_t bytes);
C10_PUBLIC void caching_free(Release release, void *block);
/* Reports of one block over and over, without any call to CUDA. */
C10_PUBLIC void report_many(int count);
/* A report as the CPU's allocator makes it while a profiler runs. */
C10_PUBLIC void report_from_cpu(size_t bytes);

#endif
