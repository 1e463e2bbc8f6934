/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing begins before the call that launched it has begun. Where it does in the recording, the
 * two clocks differ by at least that much, and gaps shorter than that may be charged to the wrong
 * cause. And collecting costs CPU time, which the collector measured of itself.
 */
#include "quality_precision.h"

#include <stdlib.h>

#include "gap_walk.h"
#include "text.h"

/* Judging gaps allows for this much anyway (idle_gap.c). */
#define ALLOWED_NS 20000
/* A few operations before their launch may have a launch of their own that was lost. */
#define LEAST_EARLY_SHARE 0.001
#define DOUBTFUL_PERCENT  1.0
#define OVERHEAD_PERCENT  2.0
/* Of a shorter run the start of the collector is the most. */
#define OVERHEAD_LEAST_MS 1000.0

struct doubtful_gaps {
	int64_t shorter_than_ns, sum_ns;
};

static void see_gap(void *context, const struct idle_gap *gap)
{
	struct doubtful_gaps *doubtful = context;
	int64_t length_ns = gap->end_ns - gap->begin_ns;

	if (gap->part != LEDGER_UNKNOWN && length_ns < doubtful->shorter_than_ns)
		doubtful->sum_ns += length_ns;
}

static void check_device(const struct model *model, size_t device, struct quality *quality)
{
	const struct model_device *of = &model->devices[device];
	struct doubtful_gaps doubtful = {0, 0};
	size_t early = 0, linked = 0;
	double percent;

	for (size_t i = of->first_op; i < of->first_op + of->op_count; i++) {
		const struct gpu_op *op = &model->ops[i];
		int64_t early_ns;

		if (op->call == MODEL_NONE)
			continue;
		linked++;
		early_ns = model->calls[op->call].begin_ns - op->begin_ns;
		early += early_ns > ALLOWED_NS;
		if (early_ns > doubtful.shorter_than_ns)
			doubtful.shorter_than_ns = early_ns;
	}
	if (!early || (double)early < LEAST_EARLY_SHARE * (double)linked)
		return;
	gap_walk(model, device, see_gap, &doubtful);
	percent = of->end_ns > of->begin_ns
			  ? 100.0 * (double)doubtful.sum_ns / (double)(of->end_ns - of->begin_ns)
			  : 0;
	if (percent < DOUBTFUL_PERCENT)
		return;
	quality_add(
		quality, "GT905", "clock_error_us", (double)doubtful.shorter_than_ns / 1e3,
		text_format("GPU %u: %zu of %zu operations begin before the call that launched "
			    "them, by up to %.0f us, so the clocks of host and GPU differ by at "
			    "least that; gaps shorter than that are %.1f %% of the time and may "
			    "be charged to the wrong cause.",
			    of->ordinal, early, linked, (double)doubtful.shorter_than_ns / 1e3,
			    percent));
}

void quality_check_clocks(const struct model *model, struct quality *quality)
{
	for (size_t i = 0; i < model->device_count; i++)
		check_device(model, i, quality);
}

static double info_number(const struct model *model, const char *key)
{
	const char *text = model->source.info(model->source.context, key);

	return text ? strtod(text, NULL) : 0;
}

/* What CUPTI says that its own work cost the program's threads. */
static void check_cupti(const struct model *model, struct quality *quality, double run_ms)
{
	double cupti_ms = info_number(model, "gpu_times.overhead_ns") / 1e6;
	double percent = run_ms >= OVERHEAD_LEAST_MS ? 100.0 * cupti_ms / run_ms : 0;

	if (percent >= OVERHEAD_PERCENT)
		quality_add(quality, "GT906", "cupti_percent", percent,
			    text_format("CUPTI itself took %.0f ms of the program's threads in "
					"%.0f ms, %.1f %%, by its own records (buffers, "
					"instrumentation). GPUTRACE_GPU=events does without it.",
					cupti_ms, run_ms, percent));
}

void quality_check_overhead(const struct model *model, struct quality *quality)
{
	double cpu_ms = info_number(model, "collector.cpu_us") / 1e3;
	double cpus = info_number(model, "process.cpu_count");
	double run_ms = (double)(model->end_ns - model->begin_ns) / 1e6;
	const char *mode = model->source.info(model->source.context, "collector.mode");
	double percent;

	check_cupti(model, quality, run_ms);
	if (cpus < 1)
		cpus = 1;
	if (!(cpu_ms > 0) || !(run_ms >= OVERHEAD_LEAST_MS))
		return;
	percent = 100.0 * cpu_ms / (run_ms * cpus);
	if (percent < OVERHEAD_PERCENT)
		return;
	quality_add(
		quality, "GT906", "collector_percent", percent,
		text_format("Collecting took %.0f ms of CPU time in %.0f ms, %.1f %% of the %.0f "
			    "CPUs that the job may use%s. What each recorded call costs its "
			    "thread is not in the file.",
			    cpu_ms, run_ms, percent, cpus,
			    mode && mode[0] == 't' ? " (on a thread of the job)" : ""));
}
