/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that run at the same time count each: these are times of work, not of the step. The
 * ledger says what of the step they are.
 */
#include "work_table.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "ledger.h"
#include "map.h"
#include "printable.h"
#include "text.h"

struct rows {
	struct work_table *table;
	struct map by_name;
	size_t capacity;
};

static void add_transfer_name(struct text *text, const struct transfer *transfer)
{
	static const char *const directions[] = {"copy",
						 "copy to the GPU",
						 "copy to the host",
						 "copy on the GPU",
						 "copy on the host",
						 "copy to another GPU"};

	if (transfer->direction == TRANSFER_SET) {
		text_add(text, "memset");
		return;
	}
	text_add(text, directions[transfer->direction <= COPY_PEER ? transfer->direction : 0]);
	if (transfer->source_kind == MEMORY_PAGEABLE ||
	    transfer->destination_kind == MEMORY_PAGEABLE)
		text_add(text, ", pageable");
}

/* The part of the ledger that it counts for when nothing else runs, without how it counts there. */
static const char *kind_of(const struct model *model, const struct gpu_op *op)
{
	const char *label = ledger_part_label(ledger_part_of_op(model, op));
	static const char *const prefixes[] = {"compute: ", "exposed "};

	for (int i = 0; i < 2; i++) {
		if (!strncmp(label, prefixes[i], strlen(prefixes[i])))
			return label + strlen(prefixes[i]);
	}
	return label;
}

static struct work_row *row_of(struct rows *rows, const struct model *model,
			       const struct gpu_op *op)
{
	struct work_table *table = rows->table;
	const char *kind = kind_of(model, op);
	struct text text;
	uint64_t *slot;
	bool is_new;

	text_init(&text);
	if (model_op_has_kernel(op))
		text_add_printable(&text, model->kernels[op->detail].short_name);
	else
		add_transfer_name(&text, &model->transfers[op->detail]);
	/* One name can be of two kinds: a copy on the GPU is one to another GPU's memory, too. */
	slot = map_slot(&rows->by_name,
			map_mix(map_hash_bytes(text_string(&text), text.length),
				map_hash_bytes(kind, strlen(kind))),
			&is_new);
	if (is_new) {
		if (table->count == rows->capacity)
			table->rows =
				array_grow(table->rows, &rows->capacity, sizeof(*table->rows));
		*slot = table->count;
		table->rows[table->count++] = (struct work_row){
			.kind = kind, .name = text_take(&text), .shortest_ns = INT64_MAX};
	}
	text_fini(&text);
	return &table->rows[*slot];
}

static void add_op(struct rows *rows, const struct model *model, const struct gpu_op *op)
{
	struct work_row *row = row_of(rows, model, op);
	int64_t length_ns = op->end_ns - op->begin_ns;

	row->count++;
	row->gpu_ns += length_ns;
	rows->table->gpu_ns += length_ns;
	if (length_ns < row->shortest_ns)
		row->shortest_ns = length_ns;
	if (length_ns > row->longest_ns)
		row->longest_ns = length_ns;
	if (!model_op_has_kernel(op))
		row->bytes += model->transfers[op->detail].size_bytes;
}

static int compare_rows(const void *left, const void *right)
{
	const struct work_row *a = left, *b = right;

	if (a->gpu_ns != b->gpu_ns)
		return a->gpu_ns < b->gpu_ns ? 1 : -1;
	return strcmp(a->name, b->name);
}

void work_table_build(const struct model *model, struct work_table *out)
{
	struct rows rows = {.table = out};

	memset(out, 0, sizeof(*out));
	out->model = model;
	out->steps = model_steady_count(model);
	map_init(&rows.by_name);
	for (size_t d = 0; d < model->device_count; d++) {
		const struct device_ledger *ledger = &model->devices[d].ledger;

		for (size_t s = 0; ledger->windows && s < model->steps.count; s++) {
			size_t first, limit;

			if (model->steps.items[s].kind != STEP_STEADY)
				continue;
			model_ops_between(model, d, ledger->windows[s].begin_ns,
					  ledger->windows[s].end_ns, &first, &limit);
			for (size_t i = first; i < limit; i++)
				add_op(&rows, model, &model->ops[i]);
		}
	}
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), compare_rows);
	map_fini(&rows.by_name);
}

void work_table_free(struct work_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->rows[i].name);
	free(table->rows);
	memset(table, 0, sizeof(*table));
}

static double per_step_ms(const struct work_table *table, int64_t sum_ns)
{
	return (double)sum_ns / 1e6 / (double)table->steps;
}

static double percent_of(const struct work_table *table, const struct work_row *row)
{
	return table->gpu_ns ? 100.0 * (double)row->gpu_ns / (double)table->gpu_ns : 0;
}

static double mean_us(const struct work_row *row)
{
	return (double)row->gpu_ns / 1e3 / (double)row->count;
}

static void print_row(const struct work_table *table, const struct work_row *row, FILE *to)
{
	fprintf(to, "  %9.3f %6.1f %8s %11.1f %11.1f %11.1f", per_step_ms(table, row->gpu_ns),
		percent_of(table, row), text_count((double)row->count / (double)table->steps).text,
		mean_us(row), (double)row->shortest_ns / 1e3, (double)row->longest_ns / 1e3);
	if (row->bytes && row->gpu_ns)
		fprintf(to, " %8.1f", (double)row->bytes / (double)row->gpu_ns);
	else
		fprintf(to, " %8s", "");
	fprintf(to, "  %-24s %s\n", row->kind, row->name);
}

void work_table_print(const struct work_table *table, FILE *to, size_t limit)
{
	bool has_steps = table->model->steps.source != STEPS_NONE;
	struct text title;

	if (!limit || limit > table->count)
		limit = table->count;
	text_init(&title);
	text_add_printable(&title, table->model->source.path);
	fprintf(to, "%s\n", text_string(&title));
	text_fini(&title);
	fprintf(to,
		"  Figures are %s; what overlaps counts each, of %zu device%s: %.3f ms in all.\n",
		has_steps ? "per steady step" : "of the whole run, no steps were found",
		table->model->device_count, table->model->device_count == 1 ? "" : "s",
		per_step_ms(table, table->gpu_ns));
	fprintf(to, "  %9s %6s %8s %11s %11s %11s %8s  %-24s %s\n", "GPU ms", "%", "times",
		"mean us", "shortest us", "longest us", "GB/s", "kind", "name");
	for (size_t i = 0; i < limit; i++)
		print_row(table, &table->rows[i], to);
	if (limit < table->count)
		fprintf(to, "  ... and %zu more\n", table->count - limit);
}

static void add_row_json(const struct work_table *table, const struct work_row *row,
			 struct json *json)
{
	json_object(json, NULL);
	json_text(json, "name", row->name);
	json_text(json, "kind", row->kind);
	json_number(json, "gpu_ms", per_step_ms(table, row->gpu_ns));
	json_number(json, "gpu_percent", percent_of(table, row));
	json_number(json, "times", (double)row->count / (double)table->steps);
	json_number(json, "mean_us", mean_us(row));
	json_number(json, "shortest_us", (double)row->shortest_ns / 1e3);
	json_number(json, "longest_us", (double)row->longest_ns / 1e3);
	json_number(json, "bytes", (double)row->bytes / (double)table->steps);
	json_end_object(json);
}

void work_table_add_json(const struct work_table *table, struct json *json)
{
	json_object(json, NULL);
	json_text(json, "path", table->model->source.path);
	json_text(json, "per", table->model->steps.source == STEPS_NONE ? "run" : "step");
	json_unsigned(json, "steady_steps", table->steps);
	json_number(json, "gpu_ms", per_step_ms(table, table->gpu_ns));
	json_array(json, "work");
	for (size_t i = 0; i < table->count; i++)
		add_row_json(table, &table->rows[i], json);
	json_end_array(json);
	json_end_object(json);
}
