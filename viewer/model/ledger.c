/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: one sweep over each device's operations. A lane is active until the latest end of its
 * operations so far, so a sweep needs no heap: between two events the set of active lanes is fixed,
 * and the time between them goes to one part (shared equally among compute classes).
 */
#include "ledger.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "map.h"
#include "model_internal.h"
#include "xmalloc.h"

/* Lanes: the compute classes, communication, then the copies. */
enum { LANE_COMM = LEDGER_COMPUTE_PARTS, LANE_COPY, LANE_COUNT = LANE_COPY + COPY_LANE_COUNT };

static const char *const part_keys[LEDGER_PART_COUNT] = {
#define PART(name, key, label) [LEDGER_##name] = key,
	LEDGER_PARTS(PART)
#undef PART
};

static const char *const part_labels[LEDGER_PART_COUNT] = {
#define PART(name, key, label) [LEDGER_##name] = label,
	LEDGER_PARTS(PART)
#undef PART
};

const char *ledger_part_key(enum ledger_part part)
{
	return part_keys[part];
}

const char *ledger_part_label(enum ledger_part part)
{
	return part_labels[part];
}

/* The state of one sweep over one device. */
struct sweep {
	struct model *model;
	struct model_device *device;
	int64_t lane_end[LANE_COUNT];
	uint32_t active;       /* bits of lanes that may not have ended */
	size_t opened, closed; /* ranges whose first operation, whose limit is known */
	size_t step;	       /* whose window holds or follows the time reached */
	struct map charges;    /* hash of part, site and call name -> index */
	size_t charge_capacity;
};

static int lane_of(const struct model *model, const struct gpu_op *op)
{
	const struct transfer *transfer;

	if (model_op_has_kernel(op))
		return op->kernel_class == KERNEL_COMMUNICATION ? LANE_COMM : op->kernel_class;
	transfer = &model->transfers[op->detail];
	switch (transfer->direction) {
	case COPY_PEER:
		return LANE_COMM;
	case COPY_H2D:
	case COPY_UNKNOWN:
		return LANE_COPY + (transfer->source_kind == MEMORY_PAGEABLE
					    ? COPY_LANE_H2D_PAGEABLE
					    : COPY_LANE_H2D_OTHER);
	case COPY_D2H:
	case COPY_H2H:
		return LANE_COPY + (transfer->destination_kind == MEMORY_PAGEABLE
					    ? COPY_LANE_D2H_PAGEABLE
					    : COPY_LANE_D2H_OTHER);
	default: /* memset, device to device */
		return LEDGER_MEMORY_BOUND;
	}
}

enum ledger_part ledger_part_of_op(const struct model *model, const struct gpu_op *op)
{
	int lane = lane_of(model, op);

	return lane >= LANE_COPY ? LEDGER_COPY : (enum ledger_part)lane;
}

static void add_share(struct ledger *to, enum ledger_part part, int64_t length_ns)
{
	to->part[part] += length_ns * LEDGER_UNITS_PER_NS;
	to->length_ns += length_ns;
}

#define LANE_BIT(lane) (1u << (lane))
#define COMPUTE_LANES  (LANE_BIT(LEDGER_COMPUTE_PARTS) - 1)
#define COPY_LANES     (LANE_BIT(LANE_COUNT) - LANE_BIT(LANE_COPY))

static int count_lanes(uint32_t lanes)
{
	int count = 0;

	for (; lanes; lanes &= lanes - 1)
		count++;
	return count;
}

/* Puts a stretch with a fixed set of active lanes into one ledger. */
static void add_busy(struct ledger *to, uint32_t active, int64_t length_ns)
{
	int64_t units = length_ns * LEDGER_UNITS_PER_NS;
	uint32_t lanes = active & COMPUTE_LANES;
	bool is_one = !(lanes & (lanes - 1)); /* and no division is needed */

	to->length_ns += length_ns;
	if (lanes) {
		int64_t share = is_one ? units : units / count_lanes(lanes);

		for (; lanes; lanes &= lanes - 1)
			to->part[__builtin_ctz(lanes)] += share;
	} else if (active & LANE_BIT(LANE_COMM)) {
		to->part[LEDGER_COMM] += units;
	} else {
		int64_t share = units / count_lanes(active & COPY_LANES);

		to->part[LEDGER_COPY] += units;
		for (lanes = active & COPY_LANES; lanes; lanes &= lanes - 1)
			to->copy_lane[__builtin_ctz(lanes) - LANE_COPY] += share;
	}
}

static void charge_idle(struct sweep *sweep, const struct gap_verdict *verdict, int64_t length_ns)
{
	struct device_ledger *ledger = &sweep->device->ledger;
	const struct host_call *call;
	uint64_t key, *slot;
	bool is_new;

	if (verdict->call == MODEL_NONE)
		return;
	call = &sweep->model->calls[verdict->call];
	key = map_mix(model_call_site(sweep->model, verdict->call),
		      (uint64_t)call->api << 16 | (uint64_t)verdict->part << 2 |
			      (uint64_t)verdict->is_readback << 1 | verdict->is_sync_call);
	slot = map_slot(&sweep->charges, key, &is_new);
	if (is_new) {
		if (ledger->charge_count == sweep->charge_capacity)
			ledger->charges = array_grow(ledger->charges, &sweep->charge_capacity,
						     sizeof(*ledger->charges));
		*slot = ledger->charge_count;
		ledger->charges[ledger->charge_count++] = (struct idle_charge){
			.part = (uint8_t)verdict->part,
			.is_readback = verdict->is_readback,
			.is_sync_call = verdict->is_sync_call,
			.call = verdict->call,
			.launch_call = verdict->launch_call,
		};
	}
	ledger->charges[*slot].gaps++;
	ledger->charges[*slot].idle_ns += length_ns;
	/* A gap that crosses a step's end is charged in pieces. */
	ledger->charges[*slot].other_ns +=
		verdict->other_ns < length_ns ? verdict->other_ns : length_ns;
}

/* Adds [begin, end) to the whole and to the step windows that it crosses. active 0: idle. */
static void sweep_emit(struct sweep *sweep, int64_t begin_ns, int64_t end_ns, uint32_t active,
		       const struct gap_verdict *verdict)
{
	struct device_ledger *ledger = &sweep->device->ledger;
	const struct step_list *steps = &sweep->model->steps;

	if (active)
		add_busy(&ledger->whole, active, end_ns - begin_ns);
	else
		add_share(&ledger->whole, verdict->part, end_ns - begin_ns);
	while (sweep->step < steps->count && begin_ns < end_ns) {
		const struct step_window *window = &ledger->windows[sweep->step];
		int64_t from_ns = begin_ns > window->begin_ns ? begin_ns : window->begin_ns;
		int64_t to_ns = end_ns < window->end_ns ? end_ns : window->end_ns;

		if (window->end_ns == window->begin_ns) { /* the device did nothing in it */
			sweep->step++;
			continue;
		}
		if (from_ns < to_ns) {
			if (active) {
				add_busy(&ledger->steps[sweep->step], active, to_ns - from_ns);
			} else {
				add_share(&ledger->steps[sweep->step], verdict->part,
					  to_ns - from_ns);
				if (steps->items[sweep->step].kind == STEP_STEADY)
					charge_idle(sweep, verdict, to_ns - from_ns);
			}
		}
		if (window->end_ns > end_ns)
			return;
		sweep->step++;
	}
}

/* Emits everything from `from_ns` to `to_ns`, during which no operation begins. */
static void sweep_advance(struct sweep *sweep, int64_t from_ns, int64_t to_ns,
			  const struct gpu_op *next)
{
	while (from_ns < to_ns) {
		int64_t until_ns = to_ns;

		for (uint32_t lanes = sweep->active; lanes; lanes &= lanes - 1) {
			int lane = __builtin_ctz(lanes);

			if (sweep->lane_end[lane] <= from_ns)
				sweep->active &= ~LANE_BIT(lane);
			else if (sweep->lane_end[lane] < until_ns)
				until_ns = sweep->lane_end[lane];
		}
		if (sweep->active) {
			sweep_emit(sweep, from_ns, until_ns, sweep->active, NULL);
		} else {
			struct gap_verdict verdict =
				idle_gap_judge(sweep->model, from_ns, until_ns, next);

			sweep_emit(sweep, from_ns, until_ns, 0, &verdict);
		}
		from_ns = until_ns;
	}
}

static int compare_charges(const void *left, const void *right)
{
	const struct idle_charge *a = left, *b = right;

	if (a->idle_ns != b->idle_ns)
		return a->idle_ns < b->idle_ns ? 1 : -1;
	return (a->call > b->call) - (a->call < b->call);
}

/* Windows that are not empty. None when they are not in the order of time. */
static size_t ranges_start(const struct model *model, struct device_ledger *ledger)
{
	size_t count = 0;

	ledger->ranges = xcalloc(model->steps.count + 1, sizeof(*ledger->ranges));
	for (size_t i = 0; i < model->steps.count; i++) {
		const struct step_window *window = &ledger->windows[i];

		if (window->end_ns <= window->begin_ns)
			continue;
		if (count && (window->begin_ns < ledger->ranges[count - 1].begin_ns ||
			      window->end_ns < ledger->ranges[count - 1].end_ns))
			return 0;
		ledger->ranges[count++] =
			(struct op_range){.begin_ns = window->begin_ns, .end_ns = window->end_ns};
	}
	return count;
}

/* What begins where an operation begins at that time, or at INT64_MAX when none is left. */
static void ranges_advance(struct sweep *sweep, size_t range_count, int64_t begin_ns, size_t op)
{
	struct op_range *ranges = sweep->device->ledger.ranges;

	while (sweep->opened < range_count && ranges[sweep->opened].begin_ns <= begin_ns)
		ranges[sweep->opened++].first = op;
	while (sweep->closed < range_count && ranges[sweep->closed].end_ns <= begin_ns)
		ranges[sweep->closed++].limit = op;
}

static void sweep_device(struct model *model, struct model_device *device)
{
	struct sweep sweep = {.model = model, .device = device};
	struct device_ledger *ledger = &device->ledger;
	int64_t now_ns = device->begin_ns;
	size_t range_count = ranges_start(model, ledger);

	map_init(&sweep.charges);
	for (int lane = 0; lane < LANE_COUNT; lane++)
		sweep.lane_end[lane] = INT64_MIN;
	for (size_t i = 0; i < device->op_count; i++) {
		const struct gpu_op *op = &model->ops[device->first_op + i];
		int lane = lane_of(model, op);

		ranges_advance(&sweep, range_count, op->begin_ns, device->first_op + i);
		sweep_advance(&sweep, now_ns, op->begin_ns, op);
		now_ns = op->begin_ns;
		if (op->end_ns > sweep.lane_end[lane])
			sweep.lane_end[lane] = op->end_ns;
		sweep.active |= LANE_BIT(lane); /* or had ended, which the next look finds */
	}
	sweep_advance(&sweep, now_ns, device->end_ns, NULL);
	ranges_advance(&sweep, range_count, INT64_MAX, device->first_op + device->op_count);
	ledger->range_count = range_count;
	for (size_t i = 0; i < model->steps.count; i++) {
		if (model->steps.items[i].kind != STEP_STEADY || !ledger->steps[i].length_ns)
			continue;
		ledger_add(&ledger->steady, &ledger->steps[i]);
		ledger->steady_count++;
	}
	if (ledger->charge_count)
		qsort(ledger->charges, ledger->charge_count, sizeof(*ledger->charges),
		      compare_charges);
	map_fini(&sweep.charges);
}

void ledger_build(struct model *model)
{
	step_windows_build(model);
	for (size_t d = 0; d < model->device_count; d++) {
		struct model_device *device = &model->devices[d];

		if (!device->op_count)
			continue;
		device->ledger.steps = xcalloc(model->steps.count, sizeof(*device->ledger.steps));
		sweep_device(model, device);
	}
}

void ledger_free(struct device_ledger *ledger)
{
	free(ledger->windows);
	free(ledger->ranges);
	free(ledger->steps);
	free(ledger->charges);
	memset(ledger, 0, sizeof(*ledger));
}

void ledger_add(struct ledger *to, const struct ledger *from)
{
	for (int part = 0; part < LEDGER_PART_COUNT; part++)
		to->part[part] += from->part[part];
	for (int lane = 0; lane < COPY_LANE_COUNT; lane++)
		to->copy_lane[lane] += from->copy_lane[lane];
	to->length_ns += from->length_ns;
}

int64_t ledger_sum(const struct ledger *ledger)
{
	int64_t sum = 0;

	for (int part = 0; part < LEDGER_PART_COUNT; part++)
		sum += ledger->part[part];
	return sum;
}

int64_t ledger_compute(const struct ledger *ledger)
{
	int64_t sum = 0;

	for (int part = 0; part < LEDGER_COMPUTE_PARTS; part++)
		sum += ledger->part[part];
	return sum;
}

static double mean_ms(const struct device_ledger *ledger, int64_t units)
{
	if (!ledger->steady_count)
		return 0;
	return (double)units / LEDGER_UNITS_PER_NS / 1e6 / (double)ledger->steady_count;
}

double ledger_part_ms(const struct device_ledger *ledger, enum ledger_part part)
{
	return mean_ms(ledger, ledger->steady.part[part]);
}

double ledger_copy_lane_ms(const struct device_ledger *ledger, enum copy_lane lane)
{
	return mean_ms(ledger, ledger->steady.copy_lane[lane]);
}

double ledger_step_ms(const struct device_ledger *ledger)
{
	return mean_ms(ledger, ledger->steady.length_ns * LEDGER_UNITS_PER_NS);
}

double ledger_part_percent(const struct device_ledger *ledger, enum ledger_part part)
{
	if (!ledger->steady.length_ns)
		return 0;
	return 100.0 * (double)ledger->steady.part[part] /
	       (double)(ledger->steady.length_ns * LEDGER_UNITS_PER_NS);
}
