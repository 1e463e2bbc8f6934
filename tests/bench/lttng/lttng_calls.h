/* SPDX-License-Identifier: Apache-2.0 */
/* One LTTng-UST event for one call: its duration, its four numbers and its result. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_calls.h"

#if !defined(GPUTRACE_BENCH_LTTNG_CALLS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define GPUTRACE_BENCH_LTTNG_CALLS_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
	bench, call,
	LTTNG_UST_TP_ARGS(uint64_t, ticks, const void *, to, const void *, from, uint64_t, bytes,
			  int32_t, kind, int32_t, result),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint64_t, ticks,
					ticks) lttng_ust_field_integer_hex(uint64_t, to,
									   (uint64_t)(uintptr_t)to)
			lttng_ust_field_integer_hex(uint64_t, from, (uint64_t)(uintptr_t)from)
				lttng_ust_field_integer(uint64_t, bytes, bytes)
					lttng_ust_field_integer(int32_t, kind, kind)
						lttng_ust_field_integer(int32_t, result, result)))

#endif

#include <lttng/tracepoint-event.h>
