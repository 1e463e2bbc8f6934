/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds for times. With a year's run, a ledger in sixtieths of a nanosecond stays below 2^62.
 */
#include "event_time.h"

#define TIME_LIMIT_NS	((int64_t)1 << 55)
#define LENGTH_LIMIT_NS ((int64_t)1 << 46)

static int64_t bounded(int64_t ns)
{
	if (ns > TIME_LIMIT_NS)
		return TIME_LIMIT_NS;
	return ns < -TIME_LIMIT_NS ? -TIME_LIMIT_NS : ns;
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
