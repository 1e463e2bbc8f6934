/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the page together in memory and writes it at once.
 */
#include "report_html.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "html_assets.h"
#include "html_ranks.h"
#include "html_timeline.h"
#include "printable.h"
#include "report_graphs.h"
#include "report_hta.h"
#include "report_live.h"
#include "report_totals.h"
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
			text_addf(page, "%.6g", evidence->value);
	}
	text_add(page, "</div>");
}

static void add_finding(struct text *page, const struct device_report *device, size_t index)
{
	static const char *const severities[] = {"info", "low", "medium", "high"};
	const struct finding *finding = &device->findings.items[index];

	text_addf(page, "<div class=\"finding %s\"><h3>%zu. %s ", severities[finding->severity],
		  index + 1, finding->id);
	text_add_html(page, finding->title);
	text_add(page, "</h3>");
	if ((finding->cost_ms > 0 || finding->gain_high_ms > 0) && !(device->step_ms > 0))
		text_addf(page, "<div>costs %.2f ms</div>", finding->cost_ms);
	else if (finding->cost_ms > 0 && !(finding->gain_high_ms > 0))
		text_addf(page, "<div>costs %.2f ms (%.1f %%)</div>", finding->cost_ms,
			  100 * finding->cost_ms / device->step_ms);
	else if (finding->cost_ms > 0 || finding->gain_high_ms > 0)
		text_addf(page,
			  "<div>costs %.2f ms (%.1f %%), gain up to %.2f to %.2f ms "
			  "(%.1f to %.1f %%)</div>",
			  finding->cost_ms, 100 * finding->cost_ms / device->step_ms,
			  finding->gain_low_ms, finding->gain_high_ms,
			  100 * finding->gain_low_ms / device->step_ms,
			  100 * finding->gain_high_ms / device->step_ms);
	text_add(page, "<div class=\"site\">");
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

static void add_judgements(struct text *page, const struct device_report *device)
{
	const struct finding_list *list = &device->findings;

	text_add(page, "<p class=\"dim\">");
	for (size_t i = 0; i < list->judgement_count; i++) {
		const struct judgement *judgement = &list->judgements[i];

		if (judgement->status == JUDGED_RAISED)
			continue;
		text_addf(page, "%s %s: ", judgement->id,
			  judgement->status == NOT_JUDGED ? "not judged" : "nothing to report");
		text_add_html(page, judgement->reason);
		text_add(page, "<br>");
	}
	text_add(page, "</p>\n");
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

	text_addf(page, "<h2>GPU %u: ", of->ordinal);
	text_add_html(page, of->name);
	text_addf(page, "%s</h2>\n",
		  of->is_simulated
			  ? " <span class=\"simulated\">simulated: every time is modelled</span>"
			  : "");
	if (device->has_ledger) {
		text_addf(page,
			  "<p>Mean of %zu steady steps: %.3f ms (median %.3f, MAD %.3f, p95 "
			  "%.3f)</p>\n",
			  of->ledger.steady_count, device->step_ms, device->steps_ms.median,
			  device->steps_ms.mad, device->steps_ms.p95);
		add_ledger(page, device);
	}
	if (!call_totals_replace_calls(device->model))
		text_addf(page,
			  "<p class=\"dim\">per %s: %s %s, %s %s (%.2f MiB to the GPU, %.2f MiB "
			  "back), %s "
			  "%s%s</p>\n",
			  device->model->steps.source == STEPS_NONE ? "run" : "step",
			  report_count(device->launches_per_step).text,
			  text_noun(device->launches_per_step, "launch", "launches"),
			  report_count(device->copies_per_step).text,
			  text_noun(device->copies_per_step, "copy", "copies"),
			  device->h2d_bytes_per_step / 1048576,
			  device->d2h_bytes_per_step / 1048576,
			  report_count(device->syncs_per_step).text,
			  text_noun(device->syncs_per_step, "wait", "waits"),
			  report_peak(device).text);
	report_live_html(page, device);
	report_graphs_html(page, device, symbols);
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
	char *steps = report_steps_text(run->model);

	text_add(page, "<h1>");
	text_add_html(page, source->path);
	text_add(page, "</h1>\n<p class=\"dim\">");
	if (command) {
		text_add_html(page, command);
		text_add(page, "<br>");
	}
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
