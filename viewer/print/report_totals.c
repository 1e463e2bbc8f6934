/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables are sorted by time and cut after so many rows, with one line for the rest, so that the
 * columns add up to everything that was recorded.
 */
#include "report_totals.h"

#include <stdlib.h>
#include <string.h>

#include "array_len.h"
#include "printable.h"
#include "record_schema.h"
#include "site_text.h"

#define TEXT_ROWS  20u
#define HTML_ROWS  60u
#define SHAPE_MASK ((1u << 21) - 1)

static const char *word_of(const char *const *words, size_t count, unsigned int index)
{
	return index < count ? words[index] : "unknown";
}

static const char *memory_word(unsigned int kind)
{
	static const char *const words[] = {"unknown",	"pageable", "pinned", "device",
					    "array",	"managed",  "pool",   "physical",
					    "reserved", "imported"};

	return word_of(words, ARRAY_LEN(words), kind);
}

static const char *direction_word(unsigned int direction)
{
	static const char *const words[] = {"copy", "H2D", "D2H", "D2D", "H2H", "peer"};

	return word_of(words, ARRAY_LEN(words), direction);
}

/* What a row is of: function and, of copies, from where to where; a kernel's name. */
static void add_what(struct text *text, const struct model *model, const struct call_total *row)
{
	const char *kernel =
		row->kernel == MODEL_NONE ? NULL : model->kernels[row->kernel].short_name;

	if (row->api)
		text_add_printable(text, model->apis[row->api]);
	switch (row->kind) {
	case RECORD_KIND_copy:
	case RECORD_KIND_gpu_copy:
		text_addf(text, "%s%s, %s to %s", row->api ? " " : "copy ",
			  direction_word(call_total_direction(row)),
			  memory_word(call_total_source_kind(row)),
			  memory_word(call_total_destination_kind(row)));
		break;
	case RECORD_KIND_gemm:
		text_addf(text, " %u x %u x %u", (unsigned int)(row->detail & SHAPE_MASK),
			  (unsigned int)(row->detail >> 21 & SHAPE_MASK),
			  (unsigned int)(row->detail >> 42 & SHAPE_MASK));
		break;
	case RECORD_KIND_launch:
		text_add(text, " ");
		text_add_printable(text, kernel ? kernel : "unknown kernel");
		break;
	case RECORD_KIND_gpu_kernel:
		text_add_printable(text, kernel ? kernel : "unknown kernel");
		break;
	case RECORD_KIND_gpu_set:
		text_add(text, "memset");
		break;
	case RECORD_KIND_gpu_graph:
		text_add(text, "graph as a whole");
		break;
	default:
		break;
	}
	if (row->flags & TOTAL_OTHER)
		text_add(text, " (other: no room for its rows)");
	if (row->flags & TOTAL_CAPTURED)
		text_add(text, " (captured)");
}

static void add_place(struct text *text, const struct run_report *run, const struct call_total *row)
{
	if (row->site)
		site_text_add_frames(text, run->model, run->symbols,
				     run->model->sites[row->site].record);
	else
		text_add(text, row->flags & TOTAL_OTHER ? "many places" : "unknown");
}

static double milliseconds(int64_t ns)
{
	return (double)ns / 1e6;
}

static double mebibytes(uint64_t bytes)
{
	return (double)bytes / 1048576;
}

static struct call_total *rows_of(const struct run_report *run, bool is_gpu, size_t *count)
{
	const struct call_total_query query = {.is_gpu = is_gpu, .is_of_any_device = true};

	return call_totals_list(run->model, &query, count);
}

/* ---- text ---- */

static void print_row(FILE *to, const struct run_report *run, const struct call_total *row,
		      bool is_gpu)
{
	struct text text;

	text_init(&text);
	add_what(&text, run->model, row);
	fprintf(to, "    %10llu %12.3f %12.4f", (unsigned long long)row->count,
		milliseconds(row->duration_ns), milliseconds(row->longest_ns));
	if (row->bytes)
		fprintf(to, " %11.2f", mebibytes(row->bytes));
	else
		fprintf(to, " %11s", "");
	fprintf(to, "  %s", text_string(&text));
	if (row->failed)
		fprintf(to, ", %llu failed", (unsigned long long)row->failed);
	text_clear(&text);
	if (!is_gpu) {
		add_place(&text, run, row);
		fprintf(to, "  %s", text_string(&text));
	}
	fputc('\n', to);
	text_fini(&text);
}

static void print_rest(FILE *to, const struct call_total *rows, size_t from, size_t count)
{
	uint64_t calls = 0, bytes = 0;
	int64_t duration_ns = 0;

	for (size_t i = from; i < count; i++) {
		calls += rows[i].count;
		bytes += rows[i].bytes;
		duration_ns += rows[i].duration_ns;
	}
	fprintf(to, "    %10llu %12.3f %12s %11.2f  in %zu more rows (--json has all)\n",
		(unsigned long long)calls, milliseconds(duration_ns), "", mebibytes(bytes),
		count - from);
}

/* "Host calls, exact totals", or of what time they are. */
static void add_title(struct text *text, const struct run_report *run, bool is_gpu)
{
	const struct totals_span span = call_totals_span(run->model);

	text_add(text, is_gpu ? "GPU work, " : "Host calls, ");
	if (span.has_begin && span.has_end) {
		text_add(text, "exact totals");
		return;
	}
	text_add(text, span.has_end || span.until_ns > 0 ? "totals" : "incomplete totals");
	if (!span.has_begin)
		text_addf(text, " since %.3f s", (double)span.from_ns / 1e9);
	if (!span.has_end && span.until_ns > 0)
		text_addf(text, " up to %.3f s", (double)span.until_ns / 1e9);
}

static void print_table(FILE *to, const struct run_report *run, bool is_gpu, const char *bold,
			const char *plain)
{
	size_t count;
	struct call_total *rows = rows_of(run, is_gpu, &count);
	struct text title;

	text_init(&title);
	add_title(&title, run, is_gpu);
	fprintf(to, "\n  %s%s%s%s\n", bold, text_string(&title), plain,
		is_gpu && !count ? ": unknown, no times were recorded" : "");
	text_fini(&title);
	if (is_gpu && !count)
		return;
	fprintf(to, "    %10s %12s %12s %11s\n", is_gpu ? "times" : "calls", "total ms",
		"longest ms", "MiB");
	for (size_t i = 0; i < count && i < TEXT_ROWS; i++)
		print_row(to, run, &rows[i], is_gpu);
	if (count > TEXT_ROWS)
		print_rest(to, rows, TEXT_ROWS, count);
	free(rows);
}

void report_totals_text(FILE *to, const struct run_report *run, const char *bold, const char *plain)
{
	if (!run->model->total_count)
		return;
	print_table(to, run, false, bold, plain);
	print_table(to, run, true, bold, plain);
}

/* ---- JSON ---- */

static void add_row(struct json *json, const struct run_report *run, const struct call_total *row,
		    bool is_gpu)
{
	const char *kind = record_schema_of(row->kind)->name;
	struct text text;

	text_init(&text);
	json_object(json, NULL);
	json_text(json, "kind", kind ? kind : "unknown");
	if (row->api)
		json_text(json, "function", run->model->apis[row->api]);
	if (row->kernel != MODEL_NONE)
		json_text(json, "kernel", run->model->kernels[row->kernel].name);
	if (row->kind == RECORD_KIND_copy || row->kind == RECORD_KIND_gpu_copy) {
		json_text(json, "direction", direction_word(call_total_direction(row)));
		json_text(json, "source", memory_word(call_total_source_kind(row)));
		json_text(json, "destination", memory_word(call_total_destination_kind(row)));
	}
	if (!is_gpu) {
		add_place(&text, run, row);
		json_text(json, "site", text_string(&text));
		json_unsigned(json, "failed", row->failed);
	}
	json_flag(json, "is_other", (row->flags & TOTAL_OTHER) != 0);
	json_flag(json, "is_captured", (row->flags & TOTAL_CAPTURED) != 0);
	json_unsigned(json, "count", row->count);
	json_unsigned(json, "bytes", row->bytes);
	json_number(json, "total_ms", milliseconds(row->duration_ns));
	json_number(json, "longest_ms", milliseconds(row->longest_ns));
	json_end_object(json);
	text_fini(&text);
}

static void add_rows(struct json *json, const struct run_report *run, const char *key, bool is_gpu)
{
	size_t count;
	struct call_total *rows = rows_of(run, is_gpu, &count);

	json_array(json, key);
	for (size_t i = 0; i < count; i++)
		add_row(json, run, &rows[i], is_gpu);
	json_end_array(json);
	free(rows);
}

void report_totals_json(struct json *json, const struct run_report *run)
{
	const struct model *model = run->model;
	const char *mode = model->source.info(model->source.context, "recording.mode");
	const struct totals_span span = call_totals_span(model);

	if (!model->total_count) {
		json_null(json, "totals");
		return;
	}
	json_object(json, "totals");
	json_text(json, "recording", mode ? mode : "unknown");
	json_number(json, "length_ms", milliseconds(call_totals_length_ns(model)));
	json_flag(json, "is_complete", span.has_begin && span.has_end);
	if (span.has_begin)
		json_null(json, "complete_since_s");
	else
		json_number(json, "complete_since_s", (double)span.from_ns / 1e9);
	if (span.has_end || span.until_ns <= 0)
		json_null(json, "complete_up_to_s");
	else
		json_number(json, "complete_up_to_s", (double)span.until_ns / 1e9);
	add_rows(json, run, "calls", false);
	add_rows(json, run, "gpu_work", true);
	json_end_object(json);
}

/* ---- HTML ---- */

static void add_html_table(struct text *page, const struct run_report *run, bool is_gpu)
{
	size_t count;
	struct call_total *rows = rows_of(run, is_gpu, &count);
	struct text text;

	text_init(&text);
	add_title(&text, run, is_gpu);
	if (!count) {
		text_addf(page, "<h3>%s</h3><p>unknown: no times were recorded</p>\n",
			  text_string(&text));
	} else {
		text_addf(page,
			  "<h3>%s</h3>\n<table>\n<tr><th>what</th><th>%s</th>"
			  "<th>total ms</th><th>longest ms</th><th>MiB</th><th>%s</th></tr>\n",
			  text_string(&text), is_gpu ? "times" : "calls", is_gpu ? "" : "place");
	}
	for (size_t i = 0; i < count && i < HTML_ROWS; i++) {
		text_add(page, "<tr><td>");
		text_clear(&text);
		add_what(&text, run->model, &rows[i]);
		text_add_html(page, text_string(&text));
		text_addf(page,
			  "</td><td class=\"number\">%llu</td><td class=\"number\">%.3f</td>"
			  "<td class=\"number\">%.4f</td><td class=\"number\">%.2f</td><td>",
			  (unsigned long long)rows[i].count, milliseconds(rows[i].duration_ns),
			  milliseconds(rows[i].longest_ns), mebibytes(rows[i].bytes));
		text_clear(&text);
		if (!is_gpu)
			add_place(&text, run, &rows[i]);
		text_add_html(page, text_string(&text));
		text_add(page, "</td></tr>\n");
	}
	if (count)
		text_add(page, "</table>\n");
	if (count > HTML_ROWS)
		text_addf(page, "<p class=\"dim\">and %zu more rows</p>\n", count - HTML_ROWS);
	text_fini(&text);
	free(rows);
}

void report_totals_html(struct text *page, const struct run_report *run)
{
	if (!run->model->total_count)
		return;
	add_html_table(page, run, false);
	add_html_table(page, run, true);
}
