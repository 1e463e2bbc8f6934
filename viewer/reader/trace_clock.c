/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds two lines: ticks against CLOCK_MONOTONIC_RAW, then GPU time against the first line. Clock
 * records come from a hostile file, so points that would run backwards are left out. Only the GPU's
 * clock, which is the calendar's by default, may be set forwards or back.
 */
#include "trace_clock.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define NS_PER_SECOND 1e9
/* A clock that is only disciplined runs at most a thousandth faster or slower; the reading of two
 * clocks on a busy machine is late by less than the rest. */
#define STEP_LEAST_NS	 2e6
#define STEP_LEAST_SHARE 0.02
#define LEAST_RATES	 3  /* between neighbours, to know the rate */
#define PARTS_MAX	 64 /* a file that says more is not believed */

int trace_clock_add(struct trace_clock *clock, const struct record_clock *record)
{
	if (clock->count == clock->capacity) {
		size_t capacity = clock->capacity ? clock->capacity * 2 : 256;
		struct record_clock *grown =
			realloc(clock->records, capacity * sizeof(*clock->records));

		if (!grown)
			return -ENOMEM;
		clock->records = grown;
		clock->capacity = capacity;
	}
	clock->records[clock->count++] = *record;
	return 0;
}

static int compare_ticks(const void *one, const void *two)
{
	const struct record_clock *left = one;
	const struct record_clock *right = two;

	return left->ticks < right->ticks ? -1 : left->ticks > right->ticks;
}

/* Appends a point unless one of its coordinates does not grow. */
static void line_append(struct clock_line *line, uint64_t from, int64_t to_ns)
{
	const struct clock_point *last = line->count ? &line->points[line->count - 1] : NULL;

	if (last && (from <= last->from || to_ns <= last->to_ns))
		return;
	line->points[line->count++] = (struct clock_point){.from = from, .to_ns = to_ns};
}

static uint64_t distance_of(const struct clock_line *line, size_t part, uint64_t from)
{
	size_t limit = part + 1 < line->part_count ? line->parts[part + 1] : line->count;
	uint64_t first = line->points[line->parts[part]].from;
	uint64_t last = line->points[limit - 1].from;

	return from < first ? first - from : from > last ? from - last : 0;
}

/* The stretch of the line that a time is on, as [*low, *high). */
static void find_part(const struct clock_line *line, uint64_t from, size_t *low, size_t *high)
{
	size_t nearest = 0;

	*low = 0;
	*high = line->count;
	if (line->part_count < 2)
		return;
	for (size_t part = 1; part < line->part_count; part++) {
		if (distance_of(line, part, from) <= distance_of(line, nearest, from))
			nearest = part;
	}
	*low = line->parts[nearest];
	if (nearest + 1 < line->part_count)
		*high = line->parts[nearest + 1];
}

struct clock_stretch trace_clock_stretch(const struct clock_line *line, uint64_t from)
{
	const struct clock_point *points = line->points;
	struct clock_stretch stretch = {.last = UINT64_MAX, .slope = line->default_slope};
	size_t low, high, begin, limit;

	if (line->count == 0)
		return stretch;
	find_part(line, from, &low, &high);
	begin = low;
	limit = high;
	while (high - low > 1) { /* the last point at or before `from`, else the first */
		size_t middle = low + (high - low) / 2;

		if (points[middle].from <= from)
			low = middle;
		else
			high = middle;
	}
	stretch.from = points[low].from;
	stretch.to_ns = points[low].to_ns;
	if (low > begin)
		stretch.first = points[low].from;
	if (low + 1 < limit)
		stretch.last = points[low + 1].from - 1;
	/* Which part is the nearest depends on each time. */
	if (line->part_count > 1)
		stretch.first = stretch.last = from;
	if (limit - begin > 1) {
		size_t left = low + 1 < limit ? low : low - 1;

		stretch.slope = (double)(points[left + 1].to_ns - points[left].to_ns) /
				(double)(points[left + 1].from - points[left].from);
	}
	return stretch;
}

int64_t trace_clock_ns(const struct clock_line *line, uint64_t from)
{
	struct clock_stretch stretch = trace_clock_stretch(line, from);

	return clock_stretch_ns(&stretch, from);
}

/* Sessions of the collector: ticks against CLOCK_MONOTONIC_RAW; the first record that also has the
 * calendar time says where the session's start is. */
static void settle_host(struct trace_clock *clock, uint64_t start_ticks, double ticks_per_second)
{
	uint64_t start_monotonic_ns = 0;

	clock->host.default_slope = ticks_per_second > 0 ? NS_PER_SECOND / ticks_per_second : 1.0;
	for (size_t i = 0; i < clock->count; i++) {
		const struct record_clock *record = &clock->records[i];

		if (record->monotonic_ns == 0)
			continue;
		if (start_monotonic_ns == 0)
			start_monotonic_ns =
				record->realtime_ns && clock->start_realtime_ns
					? record->monotonic_ns -
						  (record->realtime_ns - clock->start_realtime_ns)
					: record->monotonic_ns;
		line_append(&clock->host, record->ticks,
			    (int64_t)(record->monotonic_ns - start_monotonic_ns));
	}
	/* A file that was cut short before its first clock record. */
	if (clock->host.count == 0 && start_ticks != 0)
		line_append(&clock->host, start_ticks, 0);
}

/* Imports: a tick is a nanosecond, and the first record says which one is the start. */
static void settle_import(struct trace_clock *clock)
{
	clock->host.default_slope = 1.0;
	if (clock->count == 0)
		return;
	line_append(&clock->host, clock->records[0].ticks, 0);
	if (clock->records[0].realtime_ns)
		clock->start_realtime_ns = clock->records[0].realtime_ns;
}

static int compare_rates(const void *one, const void *two)
{
	const double *left = one, *right = two;

	return (*left > *right) - (*left < *right);
}

/* How fast the GPU's clock runs beside the host's: the median over neighbours, which single steps
 * do not move. 0: too few records to tell a step from a rate. */
static double gpu_rate(const struct clock_line *line)
{
	double rate, *rates = calloc(line->count, sizeof(*rates));
	size_t count = 0;

	for (size_t i = 1; rates && i < line->count; i++) {
		const struct clock_point *left = &line->points[i - 1], *right = &line->points[i];

		if (right->to_ns > left->to_ns)
			rates[count++] = ((double)right->from - (double)left->from) /
					 ((double)right->to_ns - (double)left->to_ns);
	}
	if (count > 0)
		qsort(rates, count, sizeof(*rates), compare_rates);
	rate = count >= LEAST_RATES ? rates[count / 2] : 0;
	free(rates);
	return rate;
}

/* Whether the GPU's clock was set between two records. */
static bool has_step(const struct clock_point *left, const struct clock_point *right, double rate)
{
	double went_ns = (double)(right->to_ns - left->to_ns);
	double step_ns = ((double)right->from - (double)left->from) - rate * went_ns;

	if (rate <= 0)
		return right->from <= left->from;
	return fabs(step_ns) > STEP_LEAST_NS + STEP_LEAST_SHARE * rate * went_ns;
}

/* All points lie in `points`, by ticks; keeps those that make lines, and where lines begin. */
static int cut_into_parts(struct clock_line *line)
{
	double rate = gpu_rate(line);
	size_t count = line->count;

	line->parts = calloc(PARTS_MAX, sizeof(*line->parts));
	if (!line->parts)
		return -ENOMEM;
	line->count = 0;
	line->part_count = count > 0;
	for (size_t i = 0; i < count; i++) {
		struct clock_point point = line->points[i];
		const struct clock_point *last =
			line->count ? &line->points[line->count - 1] : NULL;

		if (last && point.to_ns <= last->to_ns)
			continue;
		if (last && has_step(last, &point, rate)) {
			if (line->part_count == PARTS_MAX)
				continue;
			line->parts[line->part_count++] = line->count;
		} else if (last && point.from <= last->from) {
			continue;
		}
		line->points[line->count++] = point;
	}
	return 0;
}

static int settle_gpu(struct trace_clock *clock, uint32_t clock_kind)
{
	int rc;

	clock->gpu.default_slope = 1.0;
	for (size_t i = 0; i < clock->count; i++) {
		const struct record_clock *record = &clock->records[i];

		if (record->gpu_ns == 0)
			continue;
		clock->gpu.points[clock->gpu.count++] = (struct clock_point){
			record->gpu_ns, trace_clock_ns(&clock->host, record->ticks)};
	}
	rc = cut_into_parts(&clock->gpu);
	if (rc)
		return rc;
	if (clock->gpu.count > 0)
		clock->last_gpu_ns = clock->gpu.points[clock->gpu.count - 1].from;
	if (clock->gpu.part_count > 1)
		clock->gpu_steps = clock->gpu.part_count - 1;
	if (clock->gpu.count > 0)
		return 0;
	/* Nothing ties the GPU's clock to the host's. Imports have one time line; CUPTI's default
	 * clock is near the calendar time, which at least keeps the order of magnitude. */
	if (clock_kind == 0 && clock->host.count > 0)
		line_append(&clock->gpu, clock->host.points[0].from, clock->host.points[0].to_ns);
	else if (clock_kind != 0)
		line_append(&clock->gpu, clock->start_realtime_ns, 0);
	return 0;
}

int trace_clock_settle(struct trace_clock *clock, uint32_t clock_kind, uint64_t start_realtime_ns,
		       uint64_t start_ticks, double ticks_per_second)
{
	size_t room = clock->count + 1;
	int rc;

	clock->start_realtime_ns = start_realtime_ns;
	clock->host.points = calloc(room, sizeof(*clock->host.points));
	clock->gpu.points = calloc(room, sizeof(*clock->gpu.points));
	if (!clock->host.points || !clock->gpu.points)
		return -ENOMEM;
	if (clock->count > 0)
		qsort(clock->records, clock->count, sizeof(*clock->records), compare_ticks);
	if (clock_kind == 0)
		settle_import(clock);
	else
		settle_host(clock, start_ticks, ticks_per_second);
	rc = settle_gpu(clock, clock_kind);
	free(clock->records);
	clock->records = NULL;
	clock->capacity = 0;
	return rc;
}

void trace_clock_fini(struct trace_clock *clock)
{
	free(clock->records);
	free(clock->host.points);
	free(clock->gpu.points);
	free(clock->gpu.parts);
	*clock = (struct trace_clock){0};
}
