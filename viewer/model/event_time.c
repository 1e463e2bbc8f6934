/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds for times. A ledger counts in fractions of a nanosecond, and all of the time between the
 * earliest and the latest event must fit into it.
 */
#include "event_time.h"

#include <assert.h>

static_assert(EVENT_LATEST_NS + EVENT_LENGTH_LIMIT_NS - EVENT_EARLIEST_NS <
		      INT64_MAX / LEDGER_UNITS_PER_NS,
	      "a ledger of the longest recording fits into 64 bits");

int64_t event_time_host(const struct model *model, uint64_t ticks)
{
	return event_time_bounded(model->source.host_ns(model->source.context, ticks));
}

int64_t event_time_gpu(const struct model *model, uint64_t gpu_ns)
{
	return event_time_bounded(model->source.gpu_ns(model->source.context, gpu_ns));
}

/* No stretch holds for any time yet. */
static struct event_clock clock_of(const struct model *model, bool is_gpu)
{
	return (struct event_clock){
		.model = model, .is_gpu = is_gpu, .stretch = {.first = 1, .last = 0}};
}

struct event_clock event_clock_host(const struct model *model)
{
	return clock_of(model, false);
}

struct event_clock event_clock_gpu(const struct model *model)
{
	return clock_of(model, true);
}

int64_t event_clock_find(struct event_clock *clock, uint64_t time)
{
	const struct model_source *source = &clock->model->source;
	struct clock_stretch (*find)(void *, uint64_t) =
		clock->is_gpu ? source->gpu_stretch : source->host_stretch;

	if (!find)
		return clock->is_gpu ? event_time_gpu(clock->model, time)
				     : event_time_host(clock->model, time);
	clock->stretch = find(source->context, time);
	return event_time_bounded(clock_stretch_ns(&clock->stretch, time));
}
