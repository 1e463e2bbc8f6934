/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks find their like by number, other processes by their place among the files. What is left
 * over is a further run, unless it ran at the same time on the same host: then it was another
 * process of the job.
 */
#include "gate_baseline.h"

#include <stdlib.h>
#include <string.h>

#include "array_len.h"
#include "text.h"
#include "xmalloc.h"

/* Facts that must agree for times to be comparable, where both files have them. */
static char *compare_facts(const struct model *current, const struct model *baseline)
{
	static const char *const keys[][2] = {
		{"driver.version", "the driver"},
		{"cuda.driver_version", "the CUDA driver"},
		{"host.cpu", "the CPU"},
		{"cuda.runtime_version", "the CUDA runtime"},
		{"env.WORLD_SIZE", "the number of ranks"},
		{"gpu_times.source", "the source of GPU times"},
	};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *now = current->source.info(current->source.context, keys[i][0]);
		const char *then = baseline->source.info(baseline->source.context, keys[i][0]);

		if (now && then && strcmp(now, then) != 0)
			return text_format("%s differs: \"%s\" now, \"%s\" in the baseline",
					   keys[i][1], now, then);
	}
	return NULL;
}

static char *compare_devices(const struct model *current, const struct model *baseline)
{
	if (current->device_count != baseline->device_count)
		return text_format("the number of GPUs differs: %zu now, %zu in the baseline",
				   current->device_count, baseline->device_count);
	for (size_t d = 0; d < current->device_count; d++) {
		const struct model_device *now = &current->devices[d];
		const struct model_device *then = &baseline->devices[d];

		if (now->is_simulated != then->is_simulated)
			return text_format("one of them is simulated and the other is not (GPU %u)",
					   now->ordinal);
		if (strcmp(now->name, then->name) != 0)
			return text_format("GPU %u differs: \"%s\" now, \"%s\" in the baseline",
					   now->ordinal, now->name, then->name);
		if (now->record && then->record && now->record->sm_count != then->record->sm_count)
			return text_format("GPU %u differs: %u SMs now, %u in the baseline",
					   now->ordinal, now->record->sm_count,
					   then->record->sm_count);
	}
	return NULL;
}

static const char *info(const struct model *model, const char *key)
{
	return model->source.info(model->source.context, key);
}

/* False where the file does not say when it was recorded. */
static bool recorded_when(const struct model *model, int64_t *begin_ns, int64_t *end_ns)
{
	const char *start = info(model, "session.start_realtime_ns");

	if (!start)
		return false;
	*begin_ns = strtoll(start, NULL, 10);
	*end_ns = *begin_ns + (model->end_ns > 0 ? model->end_ns : 0);
	return true;
}

static bool ran_together(const struct model *a, const struct model *b)
{
	const char *host_a = info(a, "host.name"), *host_b = info(b, "host.name");
	int64_t begin_a, end_a, begin_b, end_b;

	if (!host_a || !host_b || strcmp(host_a, host_b) != 0)
		return false;
	return recorded_when(a, &begin_a, &end_a) && recorded_when(b, &begin_b, &end_b) &&
	       begin_a < end_b && begin_b < end_a;
}

/* Ranks that tell all of these apart. */
static bool has_ranks(const struct model *const *models, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (models[i]->rank < 0)
			return false;
		for (size_t j = 0; j < i; j++) {
			if (models[i]->rank == models[j]->rank)
				return false;
		}
	}
	return count > 1;
}

/* The traces of the baseline for one of the current ones into row[runs]; how many there are. */
static size_t choose(const struct model *const *current, size_t current_count, size_t at,
		     const struct model *const *baseline, size_t baseline_count,
		     const struct model **row, size_t runs)
{
	bool is_by_rank = has_ranks(current, current_count);
	size_t found = 0;

	for (size_t i = 0; i < baseline_count; i++) {
		if (is_by_rank ? baseline[i]->rank != current[at]->rank : i % current_count != at)
			continue;
		if (found < runs)
			row[found] = baseline[i];
		found++;
	}
	return found;
}

static char *compare_runs(const struct model *current, const struct model **row, size_t runs)
{
	char *mismatch = NULL;

	for (size_t i = 0; i < runs && !mismatch; i++) {
		mismatch = compare_devices(current, row[i]);
		if (!mismatch)
			mismatch = compare_facts(current, row[i]);
	}
	return mismatch;
}

void gate_baseline_build(const struct model *const *current, size_t current_count,
			 const struct model *const *baseline, size_t baseline_count,
			 struct gate_baseline *out)
{
	bool fits = current_count && baseline_count && baseline_count % current_count == 0;

	memset(out, 0, sizeof(*out));
	out->runs = fits ? baseline_count / current_count : 0;
	if (fits)
		out->models = xcalloc(baseline_count, sizeof(*out->models));
	for (size_t at = 0; fits && at < current_count; at++) {
		const struct model **row = &out->models[at * out->runs];

		fits = choose(current, current_count, at, baseline, baseline_count, row,
			      out->runs) == out->runs;
		for (size_t i = 0; fits && i < out->runs; i++) {
			for (size_t j = 0; fits && j < i; j++)
				fits = !ran_together(row[i], row[j]);
		}
	}
	if (!fits) {
		out->mismatch =
			text_format("the number of traces differs: %zu now, %zu in the baseline%s",
				    current_count, baseline_count,
				    out->runs > 1 ? " (recorded at the same time: processes of one "
						    "job, no runs of it)"
						  : "");
		free(out->models);
		out->models = NULL;
		out->runs = 0;
	}
	for (size_t at = 0; fits && at < current_count && !out->mismatch; at++)
		out->mismatch = compare_runs(current[at], &out->models[at * out->runs], out->runs);
}

void gate_baseline_free(struct gate_baseline *baseline)
{
	free(baseline->models);
	free(baseline->mismatch);
	memset(baseline, 0, sizeof(*baseline));
}
