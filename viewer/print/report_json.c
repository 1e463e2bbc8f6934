/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as JSON members; the same numbers as in the text.
 */
#include "report_json.h"

#include <stdlib.h>

#include "report_hta.h"
#include "report_live.h"
#include "report_graphs.h"
#include "report_memory.h"
#include "report_ranks.h"
#include "report_totals.h"
#include "report_training.h"
#include "report_words.h"
#include "text.h"

static void add_quality(struct json *json, const struct run_report *run)
{
	json_array(json, "quality");
	for (size_t i = 0; i < run->quality.count; i++) {
		const struct quality_line *line = &run->quality.lines[i];

		json_object(json, NULL);
		json_text(json, "id", line->id);
		json_text(json, "title", line->title);
		json_text(json, "text", line->text);
		json_number(json, line->value_key, line->value);
		json_end_object(json);
	}
	json_end_array(json);
}

static void add_steps(struct json *json, const struct model *model)
{
	const struct step_list *steps = &model->steps;

	json_object(json, "steps");
	json_text(json, "found_by", report_step_source_key(steps->source));
	json_number(json, "repeating_launches_percent", 100 * steps->coverage);
	if (steps->source == STEPS_MARKS) {
		json_text(json, "marked_by", report_step_mark_key(steps->mark_kind));
		json_number(json, "marked_time_percent", 100 * steps->marked_share);
	}
	json_unsigned(json, "count", steps->source == STEPS_NONE ? 0 : steps->count);
	json_unsigned(json, "steady", steps->source == STEPS_NONE ? 0 : steps->steady_count);
	json_unsigned(json, "warm_up", steps->warm_up_count);
	json_unsigned(json, "outliers", steps->outlier_count);
	json_unsigned(json, "partial", steps->partial_count);
	json_end_object(json);
}

static void add_ledger(struct json *json, const struct device_report *device)
{
	json_object(json, "ledger");
	json_text(json, "per", device->model->steps.source == STEPS_NONE ? "run" : "step");
	json_number(json, "step_ms", device->step_ms);
	json_number(json, "step_median_ms", device->steps_ms.median);
	json_number(json, "step_mad_ms", device->steps_ms.mad);
	json_number(json, "step_p95_ms", device->steps_ms.p95);
	json_number(json, "step_min_ms", device->steps_ms.min);
	json_number(json, "step_max_ms", device->steps_ms.max);
	json_array(json, "parts");
	for (int part = 0; part < LEDGER_PART_COUNT; part++) {
		const struct ledger_row *row = &device->rows[part];

		json_object(json, NULL);
		json_text(json, "part", ledger_part_key(row->part));
		json_text(json, "label", ledger_part_label(row->part));
		json_number(json, "ms", row->ms);
		json_number(json, "percent", row->percent);
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}

static void add_finding(struct json *json, const struct device_report *device, size_t index)
{
	const struct finding *finding = &device->findings.items[index];

	json_object(json, NULL);
	json_text(json, "id", finding->id);
	json_text(json, "rule", finding->rule);
	json_text(json, "title", finding->title);
	json_text(json, "severity", report_severity_word(finding->severity));
	json_number(json, "cost_ms", finding->cost_ms);
	/* Of steps that the mean leaves out: no share of it. */
	json_flag(json, "beside_steady_steps", finding->is_beside_step);
	if (finding->is_beside_step)
		json_null(json, "cost_percent");
	else
		json_number(json, "cost_percent", 100 * finding->cost_ms / device->step_ms);
	json_number(json, "gain_low_ms", finding->gain_low_ms);
	json_number(json, "gain_high_ms", finding->gain_high_ms);
	json_number(json, "gain_low_percent", 100 * finding->gain_low_ms / device->step_ms);
	json_number(json, "gain_high_percent", 100 * finding->gain_high_ms / device->step_ms);
	json_array(json, "draws_from");
	for (int part = 0; part < LEDGER_PART_COUNT; part++) {
		if (finding->draws_from >> part & 1)
			json_text(json, NULL, ledger_part_key((enum ledger_part)part));
	}
	json_end_array(json);
	json_number(json, "occurrences_per_step", finding->per_step);
	json_text(json, "site", device->sites[index]);
	if (device->natives[index])
		json_text(json, "native", device->natives[index]);
	json_text(json, "summary", finding->summary);
	json_text(json, "fix", finding->fix);
	json_object(json, "evidence");
	for (size_t e = 0; e < finding->evidence_count; e++) {
		const struct evidence *evidence = &finding->evidence[e];

		if (evidence->text)
			json_text(json, evidence->key, evidence->text);
		else
			json_number(json, evidence->key, evidence->value);
	}
	json_end_object(json);
	json_end_object(json);
}

static void add_judgements(struct json *json, const struct device_report *device)
{
	static const char *const statuses[] = {"", "silent", "raised", "not_judged"};
	const struct finding_list *list = &device->findings;

	json_array(json, "judgements");
	for (size_t i = 0; i < list->judgement_count; i++) {
		json_object(json, NULL);
		json_text(json, "id", list->judgements[i].id);
		json_text(json, "rule", list->judgements[i].rule);
		json_text(json, "status", statuses[list->judgements[i].status]);
		json_text(json, "reason", list->judgements[i].reason);
		json_end_object(json);
	}
	json_end_array(json);
}

static void add_device(struct json *json, const struct device_report *device,
		       struct symbols *symbols)
{
	const struct model_device *of = &device->model->devices[device->device];

	json_object(json, NULL);
	json_unsigned(json, "ordinal", of->ordinal);
	json_text(json, "name", of->name);
	json_flag(json, "simulated", of->is_simulated);
	if (device->has_ledger)
		add_ledger(json, device);
	else
		json_null(json, "ledger");
	json_number(json, "launches_per_step", device->launches_per_step);
	json_number(json, "kernels_per_step", device->kernels_per_step);
	json_number(json, "copies_per_step", device->copies_per_step);
	json_number(json, "waits_per_step", device->syncs_per_step);
	json_number(json, "h2d_bytes_per_step", device->h2d_bytes_per_step);
	json_number(json, "d2h_bytes_per_step", device->d2h_bytes_per_step);
	json_unsigned(json, "peak_memory_bytes", of->memory.peak_bytes);
	json_unsigned(json, "gpu_operations", of->op_count);
	report_training_json(json, device, symbols);
	report_graphs_json(json, device, symbols);
	report_live_json(json, device);
	report_memory_json(json, device, symbols);
	report_hta_json(json, device);
	json_number(json, "combined_gain_low_ms", device->lower_gain_ms);
	json_number(json, "combined_gain_high_ms", device->combined_gain_ms);
	json_array(json, "findings");
	for (size_t i = 0; i < device->findings.count; i++)
		add_finding(json, device, i);
	json_end_array(json);
	add_judgements(json, device);
	json_end_object(json);
}

void report_json_add(struct json *json, const struct report_data *report)
{
	json_text(json, "verdict", report->verdict);
	json_flag(json, "simulated", report->is_simulated);
	if (report->job)
		report_ranks_json(json, report);
	json_array(json, "runs");
	for (size_t r = 0; r < report->run_count; r++) {
		const struct run_report *run = &report->runs[r];

		json_object(json, NULL);
		json_text(json, "path", run->model->source.path);
		if (run->model->rank >= 0)
			json_integer(json, "rank", run->model->rank);
		json_number(json, "recorded_s",
			    (double)(run->model->end_ns - run->model->begin_ns) / 1e9);
		add_quality(json, run);
		add_steps(json, run->model);
		report_totals_json(json, run);
		json_unsigned(json, "unused_devices", run->unused_count);
		json_array(json, "devices");
		for (size_t d = 0; d < run->device_count; d++)
			add_device(json, &run->devices[d], run->symbols);
		json_end_array(json);
		json_end_object(json);
	}
	json_end_array(json);
}
