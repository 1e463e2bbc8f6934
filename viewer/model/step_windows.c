/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a step happens on each device: the host runs ahead, so a step's work begins there with the
 * first operation that was launched in it. Only the stream that does most of the computing counts
 * for that: a copy that fetches the next batch early, beside the work of the step before, would
 * shift the boundary by as much as it happens to be early.
 */
#include <stdlib.h>
#include <string.h>

#include "model_internal.h"
#include "xmalloc.h"

/* The stream whose kernels take most time. */
static uint32_t main_stream(const struct model *model, const struct model_device *device)
{
	struct map busy; /* stream -> ns */
	uint64_t most = 0, *ns = NULL;
	uint32_t stream = 0, last = 0;

	map_init(&busy);
	for (size_t i = 0; i < device->op_count; i++) {
		const struct gpu_op *op = &model->ops[device->first_op + i];

		if (!model_op_has_kernel(op) || op->kernel_class == KERNEL_COMMUNICATION)
			continue;
		if (!ns || op->stream != last)
			ns = map_slot(&busy, op->stream, NULL);
		last = op->stream;
		*ns += (uint64_t)(op->end_ns - op->begin_ns);
		if (*ns > most) {
			most = *ns;
			stream = op->stream;
		}
	}
	map_fini(&busy);
	return stream;
}

size_t step_at(const struct step_list *steps, int64_t host_ns)
{
	size_t low = 0, high = steps->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (steps->items[middle].host_begin_ns <= host_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || host_ns >= steps->items[low - 1].host_end_ns)
		return SIZE_MAX;
	return low - 1;
}

/* The same for times that mostly grow: looks at the step found last and the one behind it first. */
static size_t step_near(const struct step_list *steps, int64_t host_ns, size_t *last)
{
	for (size_t at = *last; at < steps->count && at < *last + 2; at++) {
		if (steps->items[at].host_begin_ns <= host_ns &&
		    (at + 1 == steps->count || host_ns < steps->items[at + 1].host_begin_ns)) {
			*last = at;
			return host_ns < steps->items[at].host_end_ns ? at : SIZE_MAX;
		}
	}
	return step_at(steps, host_ns);
}

/* First begin (on the main stream, or on any) and last end of what each step launched. */
static void find_extents(const struct model *model, const struct model_device *device,
			 struct step_window *windows, int64_t *any_begin_ns)
{
	uint32_t stream = main_stream(model, device);
	size_t last = 0;

	for (size_t i = 0; i < device->op_count; i++) {
		const struct gpu_op *op = &model->ops[device->first_op + i];
		int64_t host_ns =
			op->call == MODEL_NONE ? op->begin_ns : model->calls[op->call].begin_ns;
		size_t step;

		/* Without any calls, steps were found on the device's own times. */
		if (op->call == MODEL_NONE && model->call_count)
			continue;
		step = step_near(&model->steps, host_ns, &last);
		if (step == SIZE_MAX)
			continue;
		if (op->stream == stream && op->begin_ns < windows[step].begin_ns)
			windows[step].begin_ns = op->begin_ns;
		if (op->begin_ns < any_begin_ns[step])
			any_begin_ns[step] = op->begin_ns;
		if (op->end_ns > windows[step].end_ns)
			windows[step].end_ns = op->end_ns;
	}
}

static void windows_of_device(const struct model *model, struct model_device *device)
{
	const struct step_list *steps = &model->steps;
	struct step_window *windows = device->ledger.windows;
	int64_t next_begin_ns = INT64_MAX;
	int64_t *any_begin_ns = xmalloc(steps->count * sizeof(*any_begin_ns));

	for (size_t i = 0; i < steps->count; i++) {
		windows[i] = (struct step_window){INT64_MAX, INT64_MIN};
		any_begin_ns[i] = INT64_MAX;
	}
	find_extents(model, device, windows, any_begin_ns);
	/* From the last one back: a step ends where the next one of this device begins, if the host
	 * went on at once; else with its own last operation. */
	for (size_t i = steps->count; i-- > 0;) {
		bool is_followed = i + 1 < steps->count &&
				   steps->items[i].host_end_ns == steps->items[i + 1].host_begin_ns;

		if (windows[i].begin_ns == INT64_MAX)
			windows[i].begin_ns = any_begin_ns[i];
		if (windows[i].begin_ns == INT64_MAX) {
			windows[i] = (struct step_window){0, 0};
			continue;
		}
		if (next_begin_ns != INT64_MAX &&
		    (is_followed || windows[i].end_ns > next_begin_ns))
			windows[i].end_ns = next_begin_ns;
		if (windows[i].end_ns <= windows[i].begin_ns)
			windows[i] = (struct step_window){0, 0};
		else
			next_begin_ns = windows[i].begin_ns;
	}
	free(any_begin_ns);
}

static int compare_lengths(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

/* Steady steps longer than 1.5 x the median stand apart (GT508); fewer than five tell no median. */
static void mark_outliers(struct model *model)
{
	struct step_list *steps = &model->steps;
	int64_t *lengths = xmalloc(steps->count * sizeof(*lengths));

	for (size_t d = 0; d < model->device_count; d++) {
		const struct step_window *windows = model->devices[d].ledger.windows;
		size_t count = 0;
		int64_t limit_ns;

		for (size_t i = 0; windows && i < steps->count; i++) {
			if (steps->items[i].kind == STEP_STEADY &&
			    windows[i].end_ns > windows[i].begin_ns)
				lengths[count++] = windows[i].end_ns - windows[i].begin_ns;
		}
		if (count < 5)
			continue;
		qsort(lengths, count, sizeof(*lengths), compare_lengths);
		limit_ns = lengths[count / 2] + lengths[count / 2] / 2;
		for (size_t i = 0; i < steps->count; i++) {
			if (steps->items[i].kind == STEP_STEADY &&
			    windows[i].end_ns - windows[i].begin_ns > limit_ns) {
				steps->items[i].kind = STEP_OUTLIER;
				steps->steady_count--;
				steps->outlier_count++;
			}
		}
	}
	free(lengths);
}

void step_windows_build(struct model *model)
{
	for (size_t d = 0; d < model->device_count; d++) {
		struct model_device *device = &model->devices[d];

		if (!device->op_count)
			continue;
		device->ledger.windows =
			xcalloc(model->steps.count, sizeof(*device->ledger.windows));
		if (model->steps.source == STEPS_NONE)
			device->ledger.windows[0] =
				(struct step_window){device->begin_ns, device->end_ns};
		else
			windows_of_device(model, device);
	}
	blind_spans_mark_steps(model);
	if (model->steps.source != STEPS_NONE)
		mark_outliers(model);
}
