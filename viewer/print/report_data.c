/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the rules on every device of every process and puts the figures of the report together.
 */
#include "report_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_words.h"
#include "rule.h"
#include "site_text.h"
#include "text.h"
#include "xmalloc.h"

/* Percentages with one decimal that add up to exactly 100.0: the largest remainders round up. */
static void round_rows(struct device_report *report)
{
	int tenths[LEDGER_PART_COUNT], missing = 1000;
	double rest[LEDGER_PART_COUNT];

	for (int part = 0; part < LEDGER_PART_COUNT; part++) {
		double exact =
			report->step_ms > 0 ? 1000 * report->rows[part].ms / report->step_ms : 0;

		tenths[part] = (int)floor(exact);
		rest[part] = exact - tenths[part];
		missing -= tenths[part];
	}
	while (missing > 0) {
		int largest = 0;

		for (int part = 1; part < LEDGER_PART_COUNT; part++) {
			if (rest[part] > rest[largest])
				largest = part;
		}
		tenths[largest]++;
		rest[largest] = -1;
		missing--;
	}
	for (int part = 0; part < LEDGER_PART_COUNT; part++)
		report->rows[part].percent = tenths[part] / 10.0;
}

bool report_row_is_shown(const struct ledger_row *row)
{
	return row->percent > 0 || row->ms >= 0.0005;
}

static void fill_ledger(struct device_report *report)
{
	const struct device_ledger *ledger = &report->model->devices[report->device].ledger;
	struct step_values times;

	report->has_ledger = ledger->steady_count > 0 && ledger->steady.length_ns > 0;
	report->step_ms = ledger_step_ms(ledger);
	for (int part = 0; part < LEDGER_PART_COUNT; part++)
		report->rows[part] = (struct ledger_row){
			(enum ledger_part)part, ledger_part_ms(ledger, (enum ledger_part)part), 0};
	if (report->has_ledger)
		round_rows(report);
	for (int part = 0; part < LEDGER_COMPUTE_PARTS; part++)
		report->busy_percent += report->rows[part].percent;
	step_values_build(report->model, report->device, METRIC_STEP_TIME, &times);
	report->steps_ms = step_values_summary(&times);
	step_values_free(&times);
}

static void fill_counts(struct device_report *report)
{
	const struct model *model = report->model;
	double steady = (double)model_steady_count(model);

	for (size_t i = 0; i < model->steps.count; i++) {
		const struct step *step = &model->steps.items[i];

		if (step->kind != STEP_STEADY)
			continue;
		report->launches_per_step += step->launches / steady;
		report->copies_per_step += step->copies / steady;
		report->syncs_per_step += step->syncs / steady;
		report->h2d_bytes_per_step += (double)step->h2d_bytes / steady;
		report->d2h_bytes_per_step += (double)step->d2h_bytes / steady;
	}
}

/* The native frame of a place, unless the place is that frame; NULL. */
static char *native_beside(const struct run_report *run, const struct finding *finding,
			   const char *place)
{
	uint32_t site = finding->call == MODEL_NONE ? finding->site
						    : model_call_site(run->model, finding->call);
	struct text text;

	text_init(&text);
	if (site && site_text_add_native(&text, run->symbols, run->model->sites[site].record) &&
	    strncmp(place, text_string(&text), text.length) != 0)
		return text_take(&text);
	text_fini(&text);
	return NULL;
}

/* Whether a call names the device or an operation ran there. */
static bool *used_devices(const struct model *model)
{
	bool *used = xcalloc(model->device_count + 1, sizeof(*used));

	for (size_t i = 0; i < model->call_count; i++) {
		if (model->calls[i].device < model->device_count)
			used[model->calls[i].device] = true;
	}
	for (size_t d = 0; d < model->device_count; d++)
		used[d] |= model->devices[d].op_count > 0;
	return used;
}

/* Eight GPUs are visible to a rank that uses one: the others have no page. Without any that is used
 * all have one. */
static void choose_devices(struct run_report *run, size_t *chosen)
{
	bool *used = used_devices(run->model);

	for (size_t d = 0; d < run->model->device_count; d++) {
		if (used[d])
			chosen[run->device_count++] = d;
	}
	run->unused_count = run->device_count ? run->model->device_count - run->device_count : 0;
	for (size_t d = 0; d < run->model->device_count && !run->device_count; d++)
		chosen[d] = d;
	if (!run->device_count)
		run->device_count = run->model->device_count;
	free(used);
}

static void fill_device(struct device_report *report, const struct run_report *run, size_t device)
{
	struct text text;

	report->model = run->model;
	report->device = device;
	fill_ledger(report);
	fill_counts(report);
	rules_run(run->model, device, &report->findings);
	report->kernels_per_step =
		(double)report->findings.steady_kernels / (double)model_steady_count(run->model);
	report->combined_gain_ms = report->findings.combined_high_ms;
	report->lower_gain_ms = report->findings.combined_low_ms;
	report->sites = xcalloc(report->findings.count, sizeof(*report->sites));
	report->natives = xcalloc(report->findings.count, sizeof(*report->natives));
	for (size_t i = 0; i < report->findings.count; i++) {
		const struct finding *finding = &report->findings.items[i];

		text_init(&text);
		if (finding->call == MODEL_NONE && finding->site)
			site_text_add_frames(&text, run->model, run->symbols,
					     run->model->sites[finding->site].record);
		else
			site_text_add(&text, run->model, run->symbols, finding->call);
		report->sites[i] = text_take(&text);
		report->natives[i] = native_beside(run, finding, report->sites[i]);
	}
}

static const struct device_report *slowest_device(const struct report_data *report)
{
	const struct device_report *slowest = NULL;

	for (size_t r = 0; r < report->run_count; r++) {
		for (size_t d = 0; d < report->runs[r].device_count; d++) {
			const struct device_report *device = &report->runs[r].devices[d];

			if (device->has_ledger && (!slowest || device->step_ms > slowest->step_ms))
				slowest = device;
		}
	}
	return slowest;
}

/* What ended the work comes before all that costs time. */
static const struct finding *find_failure(const struct report_data *report)
{
	for (size_t r = 0; r < report->run_count; r++) {
		for (size_t d = 0; d < report->runs[r].device_count; d++) {
			const struct finding_list *list = &report->runs[r].devices[d].findings;

			if (list->count && list->items[0].is_failure)
				return &list->items[0];
		}
	}
	return NULL;
}

/* Of runs that were only summed: what is certain. */
static bool totals_verdict(const struct report_data *report, struct text *text)
{
	const struct device_report *first = NULL;

	for (size_t r = 0; r < report->run_count && !first; r++) {
		if (report->runs[r].model->total_count && report->runs[r].device_count)
			first = &report->runs[r].devices[0];
	}
	if (!first)
		return false;
	text_addf(text, "Totals only: %s. Where the time of a step goes is not judged.",
		  call_totals_reason(first->model));
	if (first->findings.count && !first->findings.items[0].is_failure)
		text_addf(text, " First by totals: %s (%s).", first->findings.items[0].title,
			  first->findings.items[0].id);
	return true;
}

/* What to begin with. A failure has been named already; what comes first after it is the dearest of
 * what costs time. */
static void add_first(struct text *text, const struct device_report *device,
		      const struct finding *failure)
{
	const struct finding_list *list = &device->findings;
	const struct finding *top = NULL;

	for (size_t i = 0; i < list->count && !top; i++) {
		if (&list->items[i] != failure && (!failure || list->items[i].cost_ms > 0))
			top = &list->items[i];
	}
	if (!top)
		return;
	text_addf(text, "First: %s (%s)", top->title, top->id);
	if (top->gain_high_ms >= REPORT_LEAST_MS) {
		text_add(text, ", ");
		report_add_gain(text, top->gain_low_ms, top->gain_high_ms);
		text_add(text, " of it");
	} else if (top->cost_ms > 0) {
		char *price = report_price_text(top, device->step_ms);

		text_addf(text, ", %s", price);
		free(price);
	}
	text_add(text, ".");
	if (list->count > 1 && device->combined_gain_ms >= REPORT_LEAST_MS) {
		text_addf(text, " All %zu findings together: ", list->count);
		report_add_gain(text, device->lower_gain_ms, device->combined_gain_ms);
		text_add(text, " (");
		report_add_percent(text, device->lower_gain_ms, device->combined_gain_ms,
				   device->step_ms);
		text_add(text, ").");
	}
}

static char *make_verdict(const struct report_data *report)
{
	const struct device_report *device = slowest_device(report);
	const struct ledger_row *waste = NULL;
	const struct finding *failure = find_failure(report);
	struct text text;

	text_init(&text);
	if (failure)
		text_addf(&text, "%s: %s (%s). ",
			  rules_find(failure->id)->is_about_memory ? "A request for memory failed"
								   : "An error ended the work",
			  failure->title, failure->id);
	if (!device && totals_verdict(report, &text))
		return text_take(&text);
	if (!device) {
		text_add(&text,
			 "Nothing can be said about GPU time: there is none in this recording.");
		return text_take(&text);
	}
	text_addf(&text, "%s %.2f ms, %.1f %% of it compute",
		  device->model->steps.source == STEPS_NONE ? "The run takes" : "A step takes",
		  device->step_ms, device->busy_percent);
	for (int part = LEDGER_COMM; part < LEDGER_PART_COUNT; part++) {
		if (!waste || device->rows[part].ms > waste->ms)
			waste = &device->rows[part];
	}
	if (waste->percent >= 1)
		text_addf(&text, "; %s take%s %.1f %%", ledger_part_label(waste->part),
			  waste->part == LEDGER_COPY ? "" : "s", waste->percent);
	text_add(&text, ". ");
	if (!device->findings.count) {
		text_add(&text, "No rule found anything to change.");
		return text_take(&text);
	}
	add_first(&text, device, failure);
	return text_take(&text);
}

void report_data_build(const struct model *const *models, size_t count, struct report_data *out)
{
	memset(out, 0, sizeof(*out));
	out->runs = xcalloc(count, sizeof(*out->runs));
	out->run_count = count;
	for (size_t r = 0; r < count; r++) {
		struct run_report *run = &out->runs[r];
		size_t *chosen;

		run->model = models[r];
		run->symbols = symbols_new(models[r]->source.trace);
		quality_check(models[r], &run->quality);
		chosen = xcalloc(models[r]->device_count + 1, sizeof(*chosen));
		choose_devices(run, chosen);
		run->devices = xcalloc(run->device_count, sizeof(*run->devices));
		for (size_t d = 0; d < run->device_count; d++) {
			fill_device(&run->devices[d], run, chosen[d]);
			out->is_simulated |= models[r]->devices[chosen[d]].is_simulated;
		}
		free(chosen);
	}
	out->verdict = make_verdict(out);
}

void report_data_free(struct report_data *report)
{
	finding_list_free(&report->job_findings);
	for (size_t r = 0; r < report->run_count; r++) {
		struct run_report *run = &report->runs[r];

		for (size_t d = 0; d < run->device_count; d++) {
			struct device_report *device = &run->devices[d];

			for (size_t i = 0; i < device->findings.count; i++) {
				free(device->sites[i]);
				free(device->natives[i]);
			}
			free(device->sites);
			free(device->natives);
			finding_list_free(&device->findings);
		}
		free(run->devices);
		quality_free(&run->quality);
		symbols_free(run->symbols);
	}
	free(report->runs);
	free(report->verdict);
	memset(report, 0, sizeof(*report));
}

const char *report_step_source_key(enum step_source source)
{
	static const char *const keys[] = {"none", "marks", "optimizer", "period"};

	return keys[source];
}

static const struct {
	const char *key, *label;
} mark_kinds[] = {
	[0] = {"none", ""},
	[STEP_MARK_RANGE] = {"ranges", "ranges that the program named"},
	[STEP_MARK_TORCH] = {"torch_profiler", "the steps of torch.profiler"},
	[STEP_MARK_API] = {"gputrace_step", "gputrace_step()"},
};

const char *report_step_mark_key(enum step_mark_kind kind)
{
	return mark_kinds[kind].key;
}

char *report_steps_text(const struct model *model)
{
	static const char *const how[] = {
		"",
		"ranges that the program named",
		"groups of optimizer kernels",
		"the period of the launch sequence",
	};
	const struct step_list *steps = &model->steps;
	struct text text;

	text_init(&text);
	if (steps->source == STEPS_NONE) {
		text_add(&text, "no steps were found; figures are of the whole run");
		return text_take(&text);
	}
	text_addf(&text, "%zu %s by %s", steps->count,
		  text_noun((double)steps->count, "step", "steps"),
		  steps->source == STEPS_MARKS ? mark_kinds[steps->mark_kind].label
					       : how[steps->source]);
	if (steps->source == STEPS_MARKS && steps->marked_share < 0.995)
		text_addf(&text, " (they cover %.0f %% of the time)", 100 * steps->marked_share);
	if (steps->source != STEPS_MARKS)
		text_addf(&text, " (%s: %.0f %% of the launches repeat)",
			  steps->coverage >= 0.95  ? "sure"
			  : steps->coverage >= 0.8 ? "fairly sure"
						   : "not sure",
			  100 * steps->coverage);
	text_addf(&text, ", %zu steady", steps->steady_count);
	if (steps->warm_up_count)
		text_addf(&text, ", %zu warm-up", steps->warm_up_count);
	if (steps->outlier_count)
		text_addf(&text, ", %zu outlier%s", steps->outlier_count,
			  steps->outlier_count == 1 ? "" : "s");
	if (steps->partial_count)
		text_addf(&text, ", %zu partial", steps->partial_count);
	return text_take(&text);
}
