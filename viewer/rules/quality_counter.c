/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML's busy counter has been seen to read 0 while the GPU worked, after an error of the driver.
 * Such zeros are no idle GPU: the operations in the file say that it worked, so the counter is
 * called unavailable. Only samples count before which the GPU worked for half of the counter's own
 * window.
 */
#include "quality_precision.h"
#include "text.h"

#define WINDOW_NS      1000000000 /* NVML averages over a sixth of a second to a second */
#define WORKED_PERCENT 50
#define LEAST_SAMPLES  3

/* How long the device worked in the window before time_ns, operations of all streams as one. */
static int64_t worked_ns(const struct model *model, size_t device, int64_t time_ns)
{
	size_t first, limit;
	int64_t sum_ns = 0, until_ns = time_ns - WINDOW_NS;

	model_ops_between(model, device, time_ns - WINDOW_NS, time_ns, &first, &limit);
	for (size_t i = first; i < limit; i++) {
		const struct gpu_op *op = &model->ops[i];
		int64_t begin_ns = op->begin_ns > until_ns ? op->begin_ns : until_ns;
		int64_t end_ns = op->end_ns < time_ns ? op->end_ns : time_ns;

		if (end_ns <= begin_ns)
			continue;
		sum_ns += end_ns - begin_ns;
		until_ns = end_ns;
	}
	return sum_ns;
}

void quality_check_counters(const struct model *model, struct quality *quality)
{
	for (size_t device = 0; device < model->device_count; device++) {
		const struct sample_series *busy = sample_series_find(
			model, SAMPLE_gpu_busy_percent, model->devices[device].ordinal);
		size_t samples = 0, zeros = 0;

		for (size_t i = 0; busy && i < busy->count; i++) {
			if (worked_ns(model, device, busy->points[i].time_ns) * 100 <
			    (int64_t)WORKED_PERCENT * WINDOW_NS)
				continue;
			samples++;
			zeros += busy->points[i].value == 0;
		}
		if (samples < LEAST_SAMPLES || zeros < samples)
			continue;
		quality_add(quality, "GT912", "zero_samples", (double)zeros,
			    text_format("NVML's busy counter of GPU %u is unavailable: it reads 0 "
					"in all %zu samples that were taken while the GPU worked. "
					"The GPU was not idle then; times in this report are "
					"those of its operations.",
					model->devices[device].ordinal, zeros));
	}
}
