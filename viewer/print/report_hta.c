/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every table is a list of rows of cells for people, made when it is wanted, since it takes as long
 * as all rules do, and printed as text or as HTML; JSON has the same numbers unrounded.
 */
#include "report_hta.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array_len.h"
#include "hta_tables.h"
#include "printable.h"
#include "text.h"

#define KERNELS_SHOWN	10
#define KERNELS_IN_JSON 100

static double us(int64_t ns)
{
	return (double)ns / 1e3;
}

static double percent(int64_t part_ns, int64_t whole_ns)
{
	return whole_ns > 0 ? 100.0 * (double)part_ns / (double)whole_ns : 0;
}

static void add_stats(struct json *json, const char *key, const struct value_stats *stats)
{
	json_object(json, key);
	json_unsigned(json, "count", stats->count);
	json_number(json, "mean", stats->mean);
	json_number(json, "std", stats->std);
	json_number(json, "min", stats->min);
	json_number(json, "p25", stats->p25);
	json_number(json, "p50", stats->p50);
	json_number(json, "p75", stats->p75);
	json_number(json, "max", stats->max);
	json_end_object(json);
}

/* "computation", "computation overlapping communication", ... */
static char *kinds_name(unsigned int kinds)
{
	struct text text;

	text_init(&text);
	for (int kind = 0; kind < HTA_KIND_COUNT; kind++) {
		if (kinds >> kind & 1)
			text_addf(&text, "%s%s", text.length ? " overlapping " : "",
				  hta_kind_key((enum hta_kind)kind));
	}
	return text_take(&text);
}

static void add_breakdown(struct json *json, const struct hta_tables *hta)
{
	json_object(json, "temporal_breakdown");
	json_number(json, "kernel_time_us", us(hta->kernel_ns));
	json_number(json, "idle_time_us", us(hta->idle_ns));
	json_number(json, "compute_time_us", us(hta->compute_ns));
	json_number(json, "non_compute_time_us", us(hta->non_compute_ns));
	json_number(json, "idle_time_percent", percent(hta->idle_ns, hta->kernel_ns));
	json_number(json, "compute_time_percent", percent(hta->compute_ns, hta->kernel_ns));
	json_number(json, "non_compute_time_percent", percent(hta->non_compute_ns, hta->kernel_ns));
	json_end_object(json);
	json_object(json, "communication_overlap");
	json_number(json, "communication_us", us(hta->communication_ns));
	json_number(json, "overlapped_us", us(hta->overlapped_ns));
	if (hta->communication_ns)
		json_number(json, "overlap_percent",
			    percent(hta->overlapped_ns, hta->communication_ns));
	else
		json_null(json, "overlap_percent");
	json_end_object(json);
	json_array(json, "kernel_types");
	for (unsigned int kinds = 1; kinds < HTA_KIND_SETS; kinds++) {
		char *name;

		if (!hta->kinds_ns[kinds])
			continue;
		name = kinds_name(kinds);
		json_object(json, NULL);
		json_text(json, "kinds", name);
		json_number(json, "sum_us", us(hta->kinds_ns[kinds]));
		json_end_object(json);
		free(name);
	}
	json_end_array(json);
}

static void add_streams(struct json *json, const struct hta_tables *hta)
{
	json_array(json, "streams");
	for (size_t i = 0; i < hta->stream_count; i++) {
		const struct hta_stream *stream = &hta->streams[i];

		json_object(json, NULL);
		json_unsigned(json, "stream", stream->stream);
		json_number(json, "host_wait_us", us(stream->host_wait_ns));
		json_number(json, "kernel_wait_us", us(stream->kernel_wait_ns));
		json_number(json, "other_us", us(stream->other_ns));
		add_stats(json, "queue_length", &stream->queue_length);
		json_end_object(json);
	}
	json_end_array(json);
}

static void add_kernels(struct json *json, const struct hta_tables *hta, const struct model *model)
{
	json_unsigned(json, "distinct_kernels", hta->kernel_count);
	json_array(json, "kernels");
	for (size_t i = 0; i < hta->kernel_count && i < KERNELS_IN_JSON; i++) {
		const struct hta_kernel *kernel = &hta->kernels[i];

		json_object(json, NULL);
		json_text(json, "name", model->kernels[kernel->kernel].name);
		json_text(json, "kind", hta_kind_key(kernel->kind));
		json_unsigned(json, "count", kernel->count);
		json_number(json, "sum_us", kernel->sum_us);
		json_number(json, "min_us", kernel->min_us);
		json_number(json, "max_us", kernel->max_us);
		json_number(json, "mean_us", kernel->mean_us);
		json_number(json, "std_us", kernel->std_us);
		json_end_object(json);
	}
	json_end_array(json);
}

static void add_tables(struct json *json, const struct hta_tables *hta, const struct model *model)
{
	json_object(json, "hta");
	json_unsigned(json, "operations", hta->operations);
	json_flag(json, "last_step_left_out", hta->is_cut);
	add_breakdown(json, hta);
	add_streams(json, hta);
	add_kernels(json, hta, model);
	json_object(json, "launches");
	add_stats(json, "call_us", &hta->launch_call_us);
	add_stats(json, "gpu_us", &hta->launch_gpu_us);
	add_stats(json, "delay_us", &hta->launch_delay_us);
	json_unsigned(json, "short_kernels", hta->short_kernels);
	json_unsigned(json, "slow_calls", hta->slow_calls);
	json_unsigned(json, "delayed_launches", hta->delayed_launches);
	json_end_object(json);
	json_object(json, "memory_bandwidth_gbs");
	for (int copy = 0; copy < HTA_COPY_COUNT; copy++) {
		if (hta->bandwidth_gbs[copy].count)
			add_stats(json, hta_copy_name((enum hta_copy)copy),
				  &hta->bandwidth_gbs[copy]);
	}
	json_end_object(json);
	json_end_object(json);
}

void report_hta_json(struct json *json, const struct device_report *device)
{
	struct hta_tables tables;

	hta_tables_build(device->model, device->device, &tables);
	if (tables.operations)
		add_tables(json, &tables, device->model);
	else
		json_null(json, "hta");
	hta_tables_free(&tables);
}

/* Where rows of a table go: HTML or text, by which of the two is there. */
struct sheet {
	FILE *to;
	struct text *page;
	const char *bold, *plain;
};

static void start_table(const struct sheet *sheet, const char *title, const char *const *columns,
			size_t count)
{
	if (sheet->page) {
		text_add(sheet->page, "<h4>");
		text_add_html(sheet->page, title);
		text_add(sheet->page, "</h4>\n<table><tr>");
		for (size_t i = 0; i < count; i++) {
			text_add(sheet->page, "<th>");
			text_add_html(sheet->page, columns[i]);
			text_add(sheet->page, "</th>");
		}
		text_add(sheet->page, "</tr>\n");
		return;
	}
	fprintf(sheet->to, "\n  %s%s%s\n  %-44s", sheet->bold, title, sheet->plain, columns[0]);
	for (size_t i = 1; i < count; i++)
		fprintf(sheet->to, " %13s", columns[i]);
	fputc('\n', sheet->to);
}

static void add_row(const struct sheet *sheet, const char *name, const double *cells, size_t count)
{
	struct text text;

	text_init(&text);
	if (sheet->page) {
		text_add(sheet->page, "<tr><td>");
		text_add_html(sheet->page, name);
		text_add(sheet->page, "</td>");
	} else {
		text_add_printable(&text, name);
		fprintf(sheet->to, "  %-44.44s", text_string(&text));
	}
	for (size_t i = 0; i < count; i++) {
		char cell[32] = "-";

		if (isfinite(cells[i]))
			snprintf(cell, sizeof(cell), fabs(cells[i]) >= 1000 ? "%.0f" : "%.4g",
				 cells[i]);
		if (sheet->page)
			text_addf(sheet->page, "<td class=\"number\">%s</td>", cell);
		else
			fprintf(sheet->to, " %13s", cell);
	}
	if (sheet->page)
		text_add(sheet->page, "</tr>\n");
	else
		fputc('\n', sheet->to);
	text_fini(&text);
}

static void end_table(const struct sheet *sheet)
{
	if (sheet->page)
		text_add(sheet->page, "</table>\n");
}

static void put_stats(const struct sheet *sheet, const char *name, const struct value_stats *stats)
{
	double cells[] = {(double)stats->count, stats->mean, stats->std, stats->min,
			  stats->p50,		stats->p75,  stats->max};

	add_row(sheet, name, cells, ARRAY_LEN(cells));
}

static void put_breakdown(const struct sheet *sheet, const struct hta_tables *hta)
{
	static const char *const columns[] = {"HTA: temporal breakdown", "us", "%"};
	static const char *const kinds_columns[] = {"kinds of kernels", "us"};
	const struct {
		const char *name;
		int64_t ns, of_ns;
	} rows[] = {
		{"kernel time (first begin to last end)", hta->kernel_ns, hta->kernel_ns},
		{"idle", hta->idle_ns, hta->kernel_ns},
		{"compute", hta->compute_ns, hta->kernel_ns},
		{"non-compute", hta->non_compute_ns, hta->kernel_ns},
		{"communication beside computation, % of comm.", hta->overlapped_ns,
		 hta->communication_ns},
	};

	start_table(sheet, "temporal breakdown, overlap", columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double cells[] = {us(rows[i].ns),
				  rows[i].of_ns ? percent(rows[i].ns, rows[i].of_ns) : NAN};

		add_row(sheet, rows[i].name, cells, ARRAY_LEN(cells));
	}
	end_table(sheet);
	start_table(sheet, "kernel types", kinds_columns, ARRAY_LEN(kinds_columns));
	for (unsigned int kinds = 1; kinds < HTA_KIND_SETS; kinds++) {
		double cell = us(hta->kinds_ns[kinds]);
		char *name;

		if (!hta->kinds_ns[kinds])
			continue;
		name = kinds_name(kinds);
		add_row(sheet, name, &cell, 1);
		free(name);
	}
	end_table(sheet);
}

static void put_streams(const struct sheet *sheet, const struct hta_tables *hta)
{
	static const char *const idle[] = {"stream", "host wait", "kernel wait", "other"};
	static const char *const queue[] = {"stream", "changes", "mean", "std",
					    "min",    "median",	 "p75",	 "max"};
	char name[32];

	start_table(sheet, "idle time per stream, us", idle, ARRAY_LEN(idle));
	for (size_t i = 0; i < hta->stream_count; i++) {
		const struct hta_stream *stream = &hta->streams[i];
		double cells[] = {us(stream->host_wait_ns), us(stream->kernel_wait_ns),
				  us(stream->other_ns)};

		snprintf(name, sizeof(name), "%u", stream->stream);
		add_row(sheet, name, cells, ARRAY_LEN(cells));
	}
	end_table(sheet);
	start_table(sheet, "queue length per stream", queue, ARRAY_LEN(queue));
	for (size_t i = 0; i < hta->stream_count; i++) {
		snprintf(name, sizeof(name), "%u", hta->streams[i].stream);
		put_stats(sheet, name, &hta->streams[i].queue_length);
	}
	end_table(sheet);
}

static void put_launches(const struct sheet *sheet, const struct hta_tables *hta)
{
	static const char *const columns[] = {"",    "count",  "mean", "std",
					      "min", "median", "p75",  "max"};
	static const char *const counted[] = {"", "launches"};
	const struct {
		const char *name;
		size_t count;
	} rows[] = {
		{"short: call <= 50 us, longer than its kernel", hta->short_kernels},
		{"slow: call > 50 us", hta->slow_calls},
		{"delayed: begins > 100 us after the call", hta->delayed_launches},
	};

	start_table(sheet, "launches, us", columns, ARRAY_LEN(columns));
	put_stats(sheet, "runtime call", &hta->launch_call_us);
	put_stats(sheet, "on the GPU", &hta->launch_gpu_us);
	put_stats(sheet, "delay from the call's return", &hta->launch_delay_us);
	end_table(sheet);
	start_table(sheet, "of these", counted, ARRAY_LEN(counted));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double cell = (double)rows[i].count;

		add_row(sheet, rows[i].name, &cell, 1);
	}
	end_table(sheet);
}

static void put_kernels(const struct sheet *sheet, const struct hta_tables *hta,
			const struct model *model)
{
	static const char *const columns[] = {"kernel", "count", "sum", "min",
					      "max",	"mean",	 "std"};
	static const char *const rates[] = {"copy", "changes", "mean", "std",
					    "min",  "median",  "p75",  "max"};

	start_table(sheet, "kernels with most time, us", columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < hta->kernel_count && i < KERNELS_SHOWN; i++) {
		const struct hta_kernel *kernel = &hta->kernels[i];
		double cells[] = {(double)kernel->count, kernel->sum_us,  kernel->min_us,
				  kernel->max_us,	 kernel->mean_us, kernel->std_us};

		add_row(sheet, model->kernels[kernel->kernel].short_name, cells, ARRAY_LEN(cells));
	}
	end_table(sheet);
	start_table(sheet, "memory bandwidth, GB/s", rates, ARRAY_LEN(rates));
	for (int copy = 0; copy < HTA_COPY_COUNT; copy++) {
		if (hta->bandwidth_gbs[copy].count)
			put_stats(sheet, hta_copy_name((enum hta_copy)copy),
				  &hta->bandwidth_gbs[copy]);
	}
	end_table(sheet);
}

static void put_all(const struct sheet *sheet, const struct hta_tables *hta,
		    const struct model *model)
{
	put_breakdown(sheet, hta);
	put_streams(sheet, hta);
	put_launches(sheet, hta);
	put_kernels(sheet, hta, model);
}

static const char *scope_text(const struct hta_tables *hta)
{
	return hta->is_cut ? "what the last step launched, or nobody, is left out"
			   : "everything on the GPU counts";
}

void report_hta_text(FILE *to, const struct device_report *device, const char *bold,
		     const char *plain)
{
	struct sheet sheet = {to, NULL, bold, plain};
	struct hta_tables tables;

	hta_tables_build(device->model, device->device, &tables);
	if (tables.operations) {
		fprintf(to,
			"\n  %sTables by HolisticTraceAnalysis' definitions%s (%zu operations; "
			"%s)\n",
			bold, plain, tables.operations, scope_text(&tables));
		put_all(&sheet, &tables, device->model);
	}
	hta_tables_free(&tables);
}

void report_hta_html(struct text *page, const struct device_report *device)
{
	struct sheet sheet = {NULL, page, "", ""};
	struct hta_tables tables;

	hta_tables_build(device->model, device->device, &tables);
	if (tables.operations) {
		text_addf(page,
			  "<details><summary>Tables by HolisticTraceAnalysis' definitions (%zu "
			  "operations; %s)</summary>\n",
			  tables.operations, scope_text(&tables));
		put_all(&sheet, &tables, device->model);
		text_add(page, "</details>\n");
	}
	hta_tables_free(&tables);
}
