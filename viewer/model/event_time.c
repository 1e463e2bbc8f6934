/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds for times. A ledger counts in fractions of a nanosecond, and all of the time between the
 * earliest and the latest event must fit into it.
 */
#include "event_time.h"

#include <assert.h>

#define EARLIEST_NS	(-((int64_t)1 << 50))
#define LATEST_NS	((int64_t)1 << 54)
#define LENGTH_LIMIT_NS ((int64_t)1 << 46)

static_assert(LATEST_NS + LENGTH_LIMIT_NS - EARLIEST_NS < INT64_MAX / LEDGER_UNITS_PER_NS,
	      "a ledger of the longest recording fits into 64 bits");

static int64_t bounded(int64_t ns)
{
	if (ns > LATEST_NS)
		return LATEST_NS;
	return ns < EARLIEST_NS ? EARLIEST_NS : ns;
}

int64_t event_time_host(const struct model *model, uint64_t ticks)
{
	return bounded(model->source.host_ns(model->source.context, ticks));
}

int64_t event_time_gpu(const struct model *model, uint64_t gpu_ns)
{
	return bounded(model->source.gpu_ns(model->source.context, gpu_ns));
}

int64_t event_time_end(int64_t begin_ns, int64_t end_ns)
{
	if (end_ns < begin_ns)
		return begin_ns;
	return end_ns - begin_ns > LENGTH_LIMIT_NS ? begin_ns + LENGTH_LIMIT_NS : end_ns;
}
