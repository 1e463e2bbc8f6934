/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT111: copies of several GPUs at once are each slower by their number than a copy alone: they
 * share a switch's uplink, a root port or the host's memory.
 */
#include <stdlib.h>

#include "array.h"
#include "rule.h"

#define EXPOSED_PERCENT 2.0
#define SOLO_LIMIT	1.1 /* mean number of GPUs that copy during a copy */
#define SHARED_LEAST	1.8
#define RATE_SLACK	1.3 /* shared rate times their number may exceed the solo rate by this */

struct interval {
	int64_t begin_ns, end_ns;
	int64_t covered_ns; /* its track's copying time before it begins */
	int64_t reach_ns;   /* latest end of it and of those before it in its track */
	uint64_t size_bytes;
	size_t device;
	uint32_t call;
	uint8_t direction;
};

/* The copies of one GPU in one direction, by begin. */
struct track {
	size_t first, count;
};

struct intervals {
	struct interval *items; /* track by track */
	size_t count, capacity;
	struct track *tracks;
	size_t track_count, track_capacity;
};

struct rates {
	uint64_t solo_bytes, shared_bytes, solo, shared;
	int64_t solo_ns, shared_ns;
	double gpus_ns; /* shared_ns weighted by the number of GPUs */
	uint32_t call;
};

static int compare_intervals(const void *left, const void *right)
{
	const struct interval *a = left, *b = right;

	if (a->direction != b->direction)
		return a->direction < b->direction ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static bool is_same_track(const struct interval *a, const struct interval *b)
{
	return a->direction == b->direction && a->device == b->device;
}

static void build_tracks(struct intervals *intervals)
{
	for (size_t i = 0; i < intervals->count; i++) {
		struct interval *self = &intervals->items[i];

		self->covered_ns = 0;
		self->reach_ns = self->end_ns;
		if (i && is_same_track(self, self - 1)) {
			const struct interval *last = self - 1;

			self->covered_ns = last->covered_ns +
					   earlier(self->begin_ns, last->reach_ns) - last->begin_ns;
			if (last->reach_ns > self->reach_ns)
				self->reach_ns = last->reach_ns;
			intervals->tracks[intervals->track_count - 1].count++;
			continue;
		}
		if (intervals->track_count == intervals->track_capacity)
			intervals->tracks =
				array_grow(intervals->tracks, &intervals->track_capacity,
					   sizeof(*intervals->tracks));
		intervals->tracks[intervals->track_count++] = (struct track){i, 1};
	}
}

/* How long the track had copied by then; copies of one GPU at the same time count once. */
static int64_t copied_until(const struct intervals *intervals, const struct track *track,
			    int64_t time_ns)
{
	size_t low = track->first, high = track->first + track->count;
	const struct interval *last;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (intervals->items[middle].begin_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == track->first)
		return 0;
	last = &intervals->items[low - 1];
	return last->covered_ns + earlier(time_ns, last->reach_ns) - last->begin_ns;
}

/* Large copies of pinned memory: what pageable copies reach is not the link's doing. */
static void collect(const struct model *model, struct intervals *intervals)
{
	for (size_t i = 0; i < model->op_count; i++) {
		const struct gpu_op *op = &model->ops[i];
		const struct transfer *transfer;
		bool is_upload;

		if (op->type != GPU_OP_COPY)
			continue;
		transfer = &model->transfers[op->detail];
		if (transfer->size_bytes < COPY_LARGE_BYTES)
			continue;
		is_upload = transfer->direction == COPY_H2D;
		if ((!is_upload && transfer->direction != COPY_D2H) ||
		    (is_upload ? transfer->source_kind : transfer->destination_kind) ==
			    MEMORY_PAGEABLE)
			continue;
		if (intervals->count == intervals->capacity)
			intervals->items = array_grow(intervals->items, &intervals->capacity,
						      sizeof(*intervals->items));
		intervals->items[intervals->count++] = (struct interval){
			.begin_ns = op->begin_ns,
			.end_ns = op->end_ns,
			.size_bytes = transfer->size_bytes,
			.device = op->device,
			.call = op->call,
			.direction = transfer->direction,
		};
	}
	if (intervals->count)
		qsort(intervals->items, intervals->count, sizeof(*intervals->items),
		      compare_intervals);
	build_tracks(intervals);
}

/* Mean number of GPUs, itself included, that copy in this direction during the copy. */
static double copying_gpus(const struct intervals *intervals, const struct interval *self)
{
	int64_t overlap_ns = 0, length_ns = self->end_ns - self->begin_ns;

	if (length_ns <= 0)
		return 1;
	for (size_t t = 0; t < intervals->track_count; t++) {
		const struct track *track = &intervals->tracks[t];
		const struct interval *first = &intervals->items[track->first];

		if (first->direction == self->direction && first->device != self->device)
			overlap_ns += copied_until(intervals, track, self->end_ns) -
				      copied_until(intervals, track, self->begin_ns);
	}
	return 1 + (double)overlap_ns / (double)length_ns;
}

static struct rates measure(const struct rule_context *context, const struct intervals *intervals,
			    uint8_t direction)
{
	struct rates rates = {.call = MODEL_NONE};

	for (size_t i = 0; i < intervals->count; i++) {
		const struct interval *self = &intervals->items[i];
		int64_t length_ns = self->end_ns - self->begin_ns;
		double gpus;

		if (self->device != context->device || self->direction != direction)
			continue;
		gpus = copying_gpus(intervals, self);
		if (gpus <= SOLO_LIMIT) {
			rates.solo++;
			rates.solo_bytes += self->size_bytes;
			rates.solo_ns += length_ns;
		} else if (gpus >= SHARED_LEAST) {
			rates.shared++;
			rates.shared_bytes += self->size_bytes;
			rates.shared_ns += length_ns;
			rates.gpus_ns += gpus * (double)length_ns;
			rates.call = self->call;
		}
	}
	return rates;
}

static void raise(struct rule_context *context, const struct rates *rates, double solo,
		  double shared, double gpus, double exposed_ms, const char *direction)
{
	struct finding *finding = rule_raise(context, rates->call);
	double lost_ms = exposed_ms * (1 - shared / solo);

	finding->cost_ms = lost_ms;
	finding->gain_high_ms = lost_ms;
	/* Taking turns gains nothing where all GPUs must have their data at once. */
	finding->gain_low_ms = 0;
	finding->draws_from = 1u << LEDGER_COPY;
	finding_text(finding, "direction", direction);
	finding_number(finding, "solo_gbs", solo);
	finding_number(finding, "shared_gbs", shared);
	finding_number(finding, "gpus_at_once", gpus);
	finding_number(finding, "solo_copies", (double)rates->solo);
	finding_number(finding, "shared_copies", (double)rates->shared);
	finding_summary(finding,
			"%s copies run at %.1f GB/s while %.1f GPUs copy at once, and at %.1f GB/s "
			"alone: they share one uplink. It costs %.2f ms of each %s (%.1f %%).",
			direction, shared, gpus, solo, lost_ms, context->unit,
			rule_percent(context, lost_ms));
	finding_fix(finding,
		    "Use GPUs under different switches or root ports for the ranks that "
		    "load data (nvidia-smi topo -m), or let them copy at different times.");
	rule_settle(context, finding);
}

/* Whether it was raised; *has_shared and *has_solo: what there was to compare. */
static bool judge_direction(struct rule_context *context, const struct intervals *intervals,
			    uint8_t direction, bool *has_shared, bool *has_both)
{
	struct rates rates = measure(context, intervals, direction);
	enum copy_lane lane = direction == COPY_H2D ? COPY_LANE_H2D_OTHER : COPY_LANE_D2H_OTHER;
	double exposed_ms = ledger_copy_lane_ms(context->ledger, lane);
	double solo = copy_rate_gbs(rates.solo_bytes, rates.solo_ns);
	double shared = copy_rate_gbs(rates.shared_bytes, rates.shared_ns);
	double gpus = rates.shared_ns > 0 ? rates.gpus_ns / (double)rates.shared_ns : 0;

	*has_shared |= rates.shared > 0;
	*has_both |= rates.shared && rates.solo;
	if (!rates.shared || !rates.solo || shared * gpus > solo * RATE_SLACK ||
	    rule_percent(context, exposed_ms) < EXPOSED_PERCENT)
		return false;
	raise(context, &rates, solo, shared, gpus, exposed_ms,
	      direction == COPY_H2D ? "H2D" : "D2H");
	return true;
}

static void run(struct rule_context *context)
{
	struct intervals intervals = {.items = NULL};
	bool has_shared = false, has_both = false, is_raised;

	collect(context->model, &intervals);
	is_raised = judge_direction(context, &intervals, COPY_H2D, &has_shared, &has_both);
	is_raised |= judge_direction(context, &intervals, COPY_D2H, &has_shared, &has_both);
	free(intervals.items);
	free(intervals.tracks);
	if (is_raised)
		return;
	if (has_shared && !has_both)
		rule_not_judged(context, "GPUs copy at the same time, but no copy of this GPU ran "
					 "alone to compare with");
	else
		rule_silent(context, has_shared ? "copies at the same time are not slower by their "
						  "number, or below 2 %% of the step"
						: "no other GPU of this recording copies at the "
						  "same time");
}

/* clang-format off */
const struct rule rule_shared_uplink = {
	.name = "shared_uplink",
	.id = "GT111",
	.title = "shared uplink",
	.page =
"Raised when exposed copies of pinned memory are at least 2 % of the mean steady step, and copies\n"
"of at least 1 MiB that run while other GPUs of the same recording copy in the same direction\n"
"are slower than a copy alone by about the number of GPUs that copy.\n"
"\n"
"Cost: the exposed copies' time that the solo rate would save. Gain: up to that; nothing where\n"
"all GPUs need their data at the same moment and taking turns only moves the wait.\n"
"\n"
"Silent: one GPU in the recording, or copies that do not slow each other.\n"
"Not judged: no copy of this GPU ran alone.\n"
"Wrong when: host memory, not the uplink, is the bottleneck (NUMA placement).\n",
	.run = run,
};
/* clang-format on */
