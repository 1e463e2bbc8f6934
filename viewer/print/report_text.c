/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdict first, then what is wrong with the recording, then per device the ledger as a bar table
 * and the findings by time.
 */
#include "report_text.h"

#include <stdlib.h>
#include <string.h>

#include "printable.h"
#include "report_hta.h"
#include "report_live.h"
#include "report_graphs.h"
#include "report_memory.h"
#include "report_ranks.h"
#include "report_totals.h"
#include "report_training.h"
#include "report_words.h"
#include "text.h"

struct page {
	FILE *to;
	bool has_colour;
	bool shows_hta;
	bool shows_why;
};

#define BAR_WIDTH 40

static const char *colour(const struct page *page, const char *code)
{
	return page->has_colour ? code : "";
}

#define BOLD(page)   colour(page, "\x1b[1m")
#define DIM(page)    colour(page, "\x1b[2m")
#define RED(page)    colour(page, "\x1b[31m")
#define YELLOW(page) colour(page, "\x1b[33m")
#define GREEN(page)  colour(page, "\x1b[32m")
#define PLAIN(page)  colour(page, "\x1b[0m")

static void print_printable(const struct page *page, const char *bytes)
{
	struct text text;

	text_init(&text);
	text_add_printable(&text, bytes);
	fputs(text_string(&text), page->to);
	text_fini(&text);
}

static void print_fact(const struct page *page, const struct model *model, const char *label,
		       const char *key)
{
	const char *value = model->source.info(model->source.context, key);

	if (!value)
		return;
	fprintf(page->to, "  %-10s ", label);
	print_printable(page, value);
	fputc('\n', page->to);
}

static void print_head(const struct page *page, const struct run_report *run)
{
	const struct model *model = run->model;
	char *steps = report_steps_text(model);

	fprintf(page->to, "%s", BOLD(page));
	print_printable(page, model->source.path);
	fprintf(page->to, "%s\n", PLAIN(page));
	print_fact(page, model, "command", "process.command");
	print_fact(page, model, "host", "host.name");
	if (model->rank >= 0)
		fprintf(page->to, "  %-10s %lld\n", "rank", (long long)model->rank);
	fprintf(page->to, "  %-10s %.3f s, %zu %s, %zu GPU %s\n", "recorded",
		(double)(model->end_ns - model->begin_ns) / 1e9, model->call_count,
		text_noun((double)model->call_count, "call", "calls"), model->op_count,
		text_noun((double)model->op_count, "operation", "operations"));
	fprintf(page->to, "  %-10s %s\n", "steps", steps);
	if (run->unused_count)
		fprintf(page->to, "  %-10s %zu more %s visible and not used\n", "GPUs",
			run->unused_count, text_noun((double)run->unused_count, "is", "are"));
	free(steps);
}

static void print_quality(const struct page *page, const struct run_report *run)
{
	for (size_t i = 0; i < run->quality.count; i++) {
		const struct quality_line *line = &run->quality.lines[i];

		fprintf(page->to, "  %s%s %s:%s ", YELLOW(page), line->id, line->title,
			PLAIN(page));
		print_printable(page, line->text);
		fputc('\n', page->to);
	}
}

static void print_bar(const struct page *page, double percent)
{
	int eighths = (int)(percent / 100 * BAR_WIDTH * 8 + 0.5);
	static const char *const partial[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

	for (int i = 0; i < eighths / 8; i++)
		fputs("█", page->to);
	fputs(partial[eighths % 8], page->to);
}

static const char *part_colour(const struct page *page, const struct ledger_row *row)
{
	if (row->part < LEDGER_COMPUTE_PARTS)
		return GREEN(page);
	if (row->percent >= 10)
		return RED(page);
	return row->percent >= 1 ? YELLOW(page) : "";
}

static void print_ledger(const struct page *page, const struct device_report *device)
{
	double sum_ms = 0, sum_percent = 0;
	char *length = report_length_text(device);

	fprintf(page->to, "\n  %sWhere %s goes%s (%s)\n", BOLD(page),
		device->model->steps.source == STEPS_NONE ? "the run" : "a steady step",
		PLAIN(page), length);
	free(length);
	for (int part = 0; part < LEDGER_PART_COUNT; part++) {
		const struct ledger_row *row = &device->rows[part];

		sum_ms += row->ms;
		sum_percent += row->percent;
		if (!report_row_is_shown(row))
			continue;
		fprintf(page->to, "  %-34s %10.3f ms %6.1f %%  %s", ledger_part_label(row->part),
			row->ms, row->percent, part_colour(page, row));
		print_bar(page, row->percent);
		fprintf(page->to, "%s\n", PLAIN(page));
	}
	fprintf(page->to, "  %-34s %10.3f ms %6.1f %%\n", "total", sum_ms, sum_percent);
}

static void print_counts(const struct page *page, const struct device_report *device)
{
	char *work = report_work_text(device);

	fprintf(page->to, "  %s%s%s\n", DIM(page), work, PLAIN(page));
	free(work);
}

static void print_finding(const struct page *page, const struct device_report *device, size_t index)
{
	const struct finding *finding = &device->findings.items[index];
	const char *tint = finding->severity == SEVERITY_HIGH	  ? RED(page)
			   : finding->severity == SEVERITY_MEDIUM ? YELLOW(page)
								  : "";
	char *price = report_price_text(finding, device->step_ms);
	struct text text;

	fprintf(page->to, "\n  %s%zu. %s %s%s [%s]%s%s\n", tint, index + 1, finding->id,
		finding->title, PLAIN(page), report_severity_word(finding->severity),
		*price ? "  " : "", price);
	free(price);
	if (report_has_place(finding))
		fprintf(page->to, "     at %s%s%s\n", BOLD(page), device->sites[index],
			PLAIN(page));
	if (device->natives[index])
		fprintf(page->to, "     from %s\n", device->natives[index]);
	text_init(&text);
	text_add_printable(&text, finding->summary);
	report_print_wrapped(page->to, "     ", text_string(&text));
	text_clear(&text);
	text_add(&text, "-> ");
	text_add_printable(&text, finding->fix);
	report_print_wrapped(page->to, "     ", text_string(&text));
	text_fini(&text);
}

static bool is_same_judgement(const struct judgement *a, const struct judgement *b)
{
	return a->status == b->status && !strcmp(a->reason, b->reason);
}

/* Every rule that has this reason, before the reason: a recording without GPU times refuses most
 * rules for one and the same. */
static void print_judgement(const struct page *page, const struct finding_list *list, size_t at)
{
	const struct judgement *judgement = &list->judgements[at];
	struct text text;

	for (size_t i = 0; i < at; i++) {
		if (is_same_judgement(judgement, &list->judgements[i]))
			return;
	}
	text_init(&text);
	for (size_t i = at; i < list->judgement_count; i++) {
		if (is_same_judgement(judgement, &list->judgements[i]))
			text_addf(&text, "%s ", list->judgements[i].id);
	}
	if (judgement->status == NOT_JUDGED)
		text_add(&text, "not judged: ");
	text_add_printable(&text, judgement->reason);
	fputs(judgement->status == NOT_JUDGED ? YELLOW(page) : DIM(page), page->to);
	report_print_wrapped(page->to, judgement->status == NOT_JUDGED ? "  " : "    ",
			     text_string(&text));
	fputs(PLAIN(page), page->to);
	text_fini(&text);
}

static void print_judgements(const struct page *page, const struct finding_list *list,
			     enum judgement_status status)
{
	for (size_t i = 0; i < list->judgement_count; i++) {
		if (list->judgements[i].status == status)
			print_judgement(page, list, i);
	}
}

/* Most rules find nothing. Their names say that they looked; what each of them saw is for whoever
 * asks. */
static void print_silent(const struct page *page, const struct finding_list *list)
{
	struct text text;
	size_t count = 0;

	text_init(&text);
	text_add(&text, "Looked at, nothing to report");
	text_add(&text, page->shows_why ? ":" : " (--why says what was seen):");
	for (size_t i = 0; i < list->judgement_count; i++) {
		if (list->judgements[i].status != JUDGED_SILENT)
			continue;
		count++;
		if (!page->shows_why)
			text_addf(&text, " %s", list->judgements[i].id);
	}
	if (count) {
		fputs(DIM(page), page->to);
		report_print_wrapped(page->to, "  ", text_string(&text));
		fputs(PLAIN(page), page->to);
	}
	if (count && page->shows_why)
		print_judgements(page, list, JUDGED_SILENT);
	text_fini(&text);
}

static void print_findings(const struct page *page, const struct device_report *device)
{
	const struct finding_list *list = &device->findings;
	char *together = report_together_text(device);

	if (list->count && call_totals_replace_calls(device->model))
		fprintf(page->to,
			"\n  %sFindings by totals%s, by their cost; no gain is estimated\n",
			BOLD(page), PLAIN(page));
	else if (list->count)
		fprintf(page->to, "\n  %sFindings%s, by what they can gain per %s; %s\n",
			BOLD(page), PLAIN(page),
			device->model->steps.source == STEPS_NONE ? "run" : "step",
			*together ? together : "no gain is estimated");
	free(together);
	for (size_t i = 0; i < list->count; i++)
		print_finding(page, device, i);
	fputc('\n', page->to);
	print_judgements(page, list, NOT_JUDGED);
	print_silent(page, list);
}

static void print_device(const struct page *page, const struct device_report *device,
			 struct symbols *symbols)
{
	const struct model_device *of = &device->model->devices[device->device];

	fprintf(page->to, "\n  %sGPU %u: ", BOLD(page), of->ordinal);
	print_printable(page, of->name);
	fprintf(page->to, "%s", PLAIN(page));
	if (of->record && of->record->link_gen)
		fprintf(page->to, ", PCIe gen %u x%u", of->record->link_gen,
			of->record->link_width);
	if (of->is_simulated)
		fprintf(page->to, " %s[simulated: every time is modelled]%s", YELLOW(page),
			PLAIN(page));
	fputc('\n', page->to);
	if (device->has_ledger)
		print_ledger(page, device);
	else
		fprintf(page->to, "\n  No %s in steady steps: no ledger.\n",
			call_totals_replace_calls(device->model) ? "complete records"
								 : "GPU times");
	if (!call_totals_replace_calls(device->model))
		print_counts(page, device);
	report_training_text(page->to, device, symbols, BOLD(page), PLAIN(page));
	report_graphs_text(page->to, device, symbols, BOLD(page), PLAIN(page));
	report_live_text(page->to, device, BOLD(page), PLAIN(page));
	report_memory_text(page->to, device, symbols, BOLD(page), PLAIN(page));
	if (page->shows_hta)
		report_hta_text(page->to, device, BOLD(page), PLAIN(page));
	print_findings(page, device);
}

void report_text_print(const struct report_data *report, FILE *to, bool has_colour)
{
	struct page page = {to, has_colour, report->shows_hta, report->shows_why};

	if (report->is_simulated)
		fprintf(to, "%s[simulated]%s ", YELLOW(&page), PLAIN(&page));
	fprintf(to, "%s%s%s\n\n", BOLD(&page), report->verdict, PLAIN(&page));
	if (report->job)
		report_ranks_text(to, report, BOLD(&page), PLAIN(&page));
	for (size_t r = 0; r < report->run_count; r++) {
		const struct run_report *run = &report->runs[r];

		if (r)
			fputc('\n', to);
		print_head(&page, run);
		print_quality(&page, run);
		report_totals_text(to, run, BOLD(&page), PLAIN(&page));
		for (size_t d = 0; d < run->device_count; d++)
			print_device(&page, &run->devices[d], run->symbols);
	}
}
