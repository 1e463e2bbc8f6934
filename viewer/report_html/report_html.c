/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the page together in memory and writes it at once.
 */
#include "report_html.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "html_assets.h"
#include "html_ranks.h"
#include "html_timeline.h"
#include "printable.h"
#include "report_graphs.h"
#include "report_hta.h"
#include "report_live.h"
#include "report_memory.h"
#include "report_totals.h"
#include "report_training.h"
#include "report_words.h"
#include "text.h"

static void add_ledger(struct text *page, const struct device_report *device)
{
	double at = 0, sum_ms = 0, sum_percent = 0;

	text_add(page,
		 "<svg viewBox=\"0 0 1000 34\" width=\"100%\" role=\"img\" aria-label=\"ledger\">");
	for (int part = 0; part < LEDGER_PART_COUNT; part++) {
		double width = device->rows[part].percent * 10;

		if (width <= 0)
			continue;
		text_addf(
			page,
			"<rect x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"34\" fill=\"%s\"><title>",
			at, width, html_part_colour(device->rows[part].part));
		text_add_html(page, ledger_part_label(device->rows[part].part));
		text_addf(page, " %.1f %%</title></rect>", device->rows[part].percent);
		at += width;
	}
	text_add(page, "</svg>\n<table>\n");
	for (int part = 0; part < LEDGER_PART_COUNT; part++) {
		const struct ledger_row *row = &device->rows[part];

		sum_ms += row->ms;
		sum_percent += row->percent;
		if (!report_row_is_shown(row))
			continue;
		text_addf(page, "<tr><td><span class=\"swatch\" style=\"background:%s\"></span>",
			  html_part_colour(row->part));
		text_add_html(page, ledger_part_label(row->part));
		text_addf(page,
			  "</td><td class=\"number\">%.3f ms</td><td class=\"number\">%.1f %%"
			  "</td></tr>\n",
			  row->ms, row->percent);
	}
	text_addf(page,
		  "<tr class=\"total\"><td>total</td><td class=\"number\">%.3f ms</td>"
		  "<td class=\"number\">%.1f %%</td></tr>\n</table>\n",
		  sum_ms, sum_percent);
}

/* Whole numbers in full: bytes as 3.35544e+07 can be compared with nothing. */
static void add_value(struct text *page, double value)
{
	if (fabs(value) < 9e15 && value == floor(value))
		text_addf(page, "%.0f", value);
	else
		text_addf(page, "%.6g", value);
}

static void add_evidence(struct text *page, const struct finding *finding)
{
	text_add(page, "<div class=\"evidence\">");
	for (size_t i = 0; i < finding->evidence_count; i++) {
		const struct evidence *evidence = &finding->evidence[i];

		if (i)
			text_add(page, " &middot; ");
		text_add_html(page, evidence->key);
		text_add(page, " ");
		if (evidence->text)
			text_add_html(page, evidence->text);
		else
			add_value(page, evidence->value);
	}
	text_add(page, "</div>");
}

static void add_finding(struct text *page, const struct device_report *device, size_t index)
{
	const struct finding *finding = &device->findings.items[index];
	const char *severity = report_severity_word(finding->severity);
	char *price = report_price_text(finding, device->step_ms);

	text_addf(page, "<div class=\"finding %s\"><h3>%zu. %s ", severity, index + 1, finding->id);
	text_add_html(page, finding->title);
	text_addf(page, " <span class=\"dim\">[%s]</span></h3>", severity);
	if (*price)
		text_addf(page, "<div>%s</div>", price);
	free(price);
	text_add(page, "<div class=\"site\">");
	if (report_has_place(finding))
		text_add_html(page, device->sites[index]);
	if (device->natives[index]) {
		text_add(page, "<br>from ");
		text_add_html(page, device->natives[index]);
	}
	text_add(page, "</div><p>");
	text_add_html(page, finding->summary);
	text_add(page, "</p><p class=\"fix\">");
	text_add_html(page, finding->fix);
	text_add(page, "</p>");
	add_evidence(page, finding);
	text_add(page, "</div>\n");
}

/* Folded: most rules find nothing, and who wants to know what they saw can look. */
static void add_judged(struct text *page, const struct finding_list *list,
		       enum judgement_status status, const char *title)
{
	size_t count = 0;

	for (size_t i = 0; i < list->judgement_count; i++)
		count += list->judgements[i].status == status;
	if (!count)
		return;
	text_addf(page, "<details><summary>%s: %zu of %zu rules</summary><p class=\"dim\">", title,
		  count, list->judgement_count);
	for (size_t i = 0; i < list->judgement_count; i++) {
		const struct judgement *judgement = &list->judgements[i];

		if (judgement->status != status)
			continue;
		text_addf(page, "%s: ", judgement->id);
		text_add_html(page, judgement->reason);
		text_add(page, "<br>");
	}
	text_add(page, "</p></details>\n");
}

/* What the text report prints between the ledger and the findings, as it stands there. */
static void add_text_part(struct text *page, const struct device_report *device,
			  struct symbols *symbols)
{
	char *bytes = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&bytes, &size);

	if (!to)
		return;
	report_training_text(to, device, symbols, "", "");
	report_memory_text(to, device, symbols, "", "");
	fclose(to);
	if (size) {
		text_add(page, "<pre>");
		for (char *line = bytes, *end; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			text_add_html(page, line);
			text_add(page, "\n");
		}
		text_add(page, "</pre>\n");
	}
	free(bytes);
}

static void add_judgements(struct text *page, const struct device_report *device)
{
	const struct finding_list *list = &device->findings;

	add_judged(page, list, NOT_JUDGED, "Not judged");
	add_judged(page, list, JUDGED_SILENT, "Looked at, nothing to report");
}

static void add_timeline(struct text *page, const struct device_report *device, size_t run)
{
	struct text data;

	text_init(&data);
	if (html_timeline_add(&data, device)) {
		text_addf(page,
			  "<h2>One step (of median length)</h2><p class=\"dim\">Wheel zooms, "
			  "dragging "
			  "moves, a double click shows all.</p>\n"
			  "<script type=\"application/json\" id=\"t%zu-%zu\">%s</script>\n"
			  "<div class=\"timeline\" data-from=\"t%zu-%zu\"><canvas></canvas></div>"
			  "<div class=\"tip\"></div>\n",
			  run, device->device, text_string(&data), run, device->device);
	}
	text_fini(&data);
}

static void add_device(struct text *page, const struct device_report *device,
		       struct symbols *symbols, size_t run)
{
	const struct model_device *of = &device->model->devices[device->device];
	char *work = report_work_text(device);
	char *length = report_length_text(device);

	text_addf(page, "<h2>GPU %u: ", of->ordinal);
	text_add_html(page, of->name);
	text_addf(page, "%s</h2>\n",
		  of->is_simulated
			  ? " <span class=\"simulated\">simulated: every time is modelled</span>"
			  : "");
	if (device->has_ledger)
		text_addf(page, "<p>%s: %s</p>\n",
			  device->model->steps.source == STEPS_NONE ? "The whole run"
								    : "Steady steps",
			  length);
	free(length);
	if (device->has_ledger)
		add_ledger(page, device);
	if (!call_totals_replace_calls(device->model))
		text_addf(page, "<p class=\"dim\">%s</p>\n", work);
	free(work);
	add_text_part(page, device, symbols);
	report_live_html(page, device);
	report_graphs_html(page, device, symbols);
	if (device->findings.count && device->has_ledger) {
		char *together = report_together_text(device);

		text_addf(page,
			  "<h2>Findings</h2>\n<p class=\"dim\">by what they can gain per %s; "
			  "%s</p>\n",
			  device->model->steps.source == STEPS_NONE ? "run" : "step",
			  *together ? together : "no gain is estimated");
		free(together);
	}
	for (size_t i = 0; i < device->findings.count; i++)
		add_finding(page, device, i);
	add_judgements(page, device);
	report_hta_html(page, device);
	add_timeline(page, device, run);
}

static void add_run(struct text *page, const struct run_report *run, size_t index)
{
	const struct model_source *source = &run->model->source;
	const char *command = source->info(source->context, "process.command");
	const char *host = source->info(source->context, "host.name");
	char *steps = report_steps_text(run->model);

	text_add(page, "<h1>");
	text_add_html(page, source->path);
	text_add(page, "</h1>\n<p class=\"dim\">");
	if (command) {
		text_add_html(page, command);
		text_add(page, "<br>");
	}
	if (host) {
		text_add(page, "on ");
		text_add_html(page, host);
		text_add(page, "<br>");
	}
	if (run->model->rank >= 0)
		text_addf(page, "rank %lld<br>", (long long)run->model->rank);
	text_addf(page, "recorded %.3f s<br>",
		  (double)(run->model->end_ns - run->model->begin_ns) / 1e9);
	text_add_html(page, steps);
	free(steps);
	text_add(page, "</p>\n");
	for (size_t i = 0; i < run->quality.count; i++) {
		text_addf(page, "<div class=\"quality\">%s ", run->quality.lines[i].id);
		text_add_html(page, run->quality.lines[i].title);
		text_add(page, ": ");
		text_add_html(page, run->quality.lines[i].text);
		text_add(page, "</div>\n");
	}
	report_totals_html(page, run);
	for (size_t d = 0; d < run->device_count; d++)
		add_device(page, &run->devices[d], run->symbols, index);
}

static bool has_findings(const struct report_data *report)
{
	for (size_t r = 0; r < report->run_count; r++) {
		for (size_t d = 0; d < report->runs[r].device_count; d++) {
			if (report->runs[r].devices[d].findings.count)
				return true;
		}
	}
	return false;
}

int report_html_write(const struct report_data *report, const char *path)
{
	struct text page;
	FILE *file;
	int rc = 0;

	text_init(&page);
	text_add(&page,
		 "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		 "<meta name=\"viewport\" content=\"width=device-width\">"
		 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		 "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">"
		 "<title>gputrace report</title>\n<style>\n");
	text_add(&page, html_style);
	text_add(&page, "</style></head><body>\n");
	text_addf(&page, "<p class=\"verdict%s\">", has_findings(report) ? "" : " clean");
	if (report->is_simulated)
		text_add(&page, "<span class=\"simulated\">simulated</span> ");
	text_add_html(&page, report->verdict);
	text_add(&page, "</p>\n");
	if (report->job)
		html_ranks_add(&page, report);
	for (size_t r = 0; r < report->run_count; r++)
		add_run(&page, &report->runs[r], r);
	text_add(&page, "<script>\n");
	text_add(&page, html_script);
	text_add(&page, "</script>\n</body></html>\n");
	file = fopen(path, "w");
	if (!file)
		rc = -errno;
	else if (fwrite(page.data, 1, page.length, file) != page.length)
		rc = -EIO;
	if (file && fclose(file) && !rc)
		rc = -errno;
	text_fini(&page);
	return rc;
}
