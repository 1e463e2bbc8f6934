/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What fits on a screen of 24 lines for one GPU: ledger rows of a percent and more, and the three
 * findings that gain the most, each with its line.
 */
#include "live_text.h"

#include <stdlib.h>
#include <string.h>

#include "printable.h"
#include "report_words.h"
#include "text.h"

#define FINDINGS_SHOWN 3
#define BAR_WIDTH      30
#define LINE_BYTES     110 /* of a summary */

static void print_cut(FILE *to, const char *indent, const char *words)
{
	struct text text;

	text_init(&text);
	text_add_printable(&text, words);
	fprintf(to, "%s%.*s%s\n", indent, LINE_BYTES, text_string(&text),
		strlen(text_string(&text)) > LINE_BYTES ? "..." : "");
	text_fini(&text);
}

static void print_rows(const struct device_report *device, FILE *to)
{
	for (int part = 0; part < LEDGER_PART_COUNT; part++) {
		const struct ledger_row *row = &device->rows[part];
		int width = (int)(row->percent / 100 * BAR_WIDTH + 0.5);

		if (!report_row_is_shown(row))
			continue;
		fprintf(to, "  %-34s %9.3f ms %5.1f %%  ", ledger_part_label(row->part), row->ms,
			row->percent);
		for (int i = 0; i < width; i++)
			fputc('#', to);
		fputc('\n', to);
	}
}

static void print_device(const struct device_report *device, FILE *to, const char *bold,
			 const char *plain)
{
	const struct model_device *of = &device->model->devices[device->device];
	const struct finding_list *list = &device->findings;
	char *work;

	fprintf(to, "\n%sGPU %u", bold, of->ordinal);
	print_cut(to, " ", of->name);
	fputs(plain, to);
	if (!device->has_ledger) {
		fprintf(to, "  No GPU times in these seconds.\n");
		return;
	}
	work = report_work_text(device);
	fprintf(to, "  %s %.3f ms, %.1f %% compute\n",
		device->model->steps.source == STEPS_NONE ? "all of it:" : "a step:",
		device->step_ms, device->busy_percent);
	fprintf(to, "  %s\n", work);
	free(work);
	print_rows(device, to);
	for (size_t i = 0; i < list->count && i < FINDINGS_SHOWN; i++) {
		char *price = report_price_text(&list->items[i], device->step_ms);

		fprintf(to, "  %s %s%s%s", list->items[i].id, list->items[i].title,
			*price ? ", " : "", price);
		free(price);
		if (report_has_place(&list->items[i]))
			print_cut(to, " at ", device->sites[i]);
		else
			fputc('\n', to);
	}
}

void live_text_print(const struct live_head *head, const struct report_data *report, FILE *to,
		     bool has_colour)
{
	const char *bold = has_colour ? "\x1b[1m" : "", *plain = has_colour ? "\x1b[0m" : "";

	print_cut(to, bold, head->title);
	fprintf(to, "%sthe last %.1f s, %.1f s ago%s\n", plain, head->window_s, head->behind_s,
		report->is_simulated ? " [simulated: every time is modelled]" : "");
	for (size_t r = 0; r < report->run_count; r++) {
		const struct quality *quality = &report->runs[r].quality;

		for (size_t i = 0; i < quality->count; i++) {
			/* A file that is being written has no end; that is no news here. */
			if (!strcmp(quality->lines[i].id, "GT904"))
				continue;
			fprintf(to, "%s %s:", quality->lines[i].id, quality->lines[i].title);
			print_cut(to, " ", quality->lines[i].text);
		}
		for (size_t d = 0; d < report->runs[r].device_count; d++)
			print_device(&report->runs[r].devices[d], to, bold, plain);
	}
}
