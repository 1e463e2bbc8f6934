/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up the costs of all stacks that read the same.
 */
#include "site_table.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "map.h"
#include "printable.h"
#include "site_text.h"
#include "stack_cost.h"
#include "text.h"

struct rows {
	struct site_table *table;
	struct map by_place;
	size_t capacity;
};

static char *place_of(const struct model *model, struct symbols *symbols,
		      const struct stack_cost *cost)
{
	const struct record_site *site = model->sites[cost->site].record;
	struct text text;

	text_init(&text);
	if (!site) {
		text_add_printable(&text, model->apis[cost->api]);
		return text_take(&text);
	}
	site_text_add_frames(&text, model, symbols, site);
	site_text_add_capture(&text, model, symbols, cost->capture_site);
	text_add(&text, " (");
	text_add_printable(&text, model->apis[cost->api]);
	text_add(&text, ")");
	return text_take(&text);
}

/* Only where the place is not the native frame itself. */
static char *native_of(const struct model *model, struct symbols *symbols,
		       const struct stack_cost *cost, const char *place)
{
	struct text text;

	text_init(&text);
	if (site_text_add_native(&text, symbols, model->sites[cost->site].record) &&
	    strncmp(place, text_string(&text), text.length) != 0)
		return text_take(&text);
	text_fini(&text);
	return NULL;
}

static struct site_row *row_of(struct rows *rows, const struct model *model,
			       struct symbols *symbols, const struct stack_cost *cost)
{
	struct site_table *table = rows->table;
	char *place = place_of(model, symbols, cost);
	bool is_new;
	uint64_t *slot = map_slot(&rows->by_place, map_hash_bytes(place, strlen(place)), &is_new);

	if (!is_new) {
		free(place);
		return &table->rows[*slot];
	}
	if (table->count == rows->capacity)
		table->rows = array_grow(table->rows, &rows->capacity, sizeof(*table->rows));
	*slot = table->count;
	table->rows[table->count] =
		(struct site_row){.place = place, .native = native_of(model, symbols, cost, place)};
	return &table->rows[table->count++];
}

static void add_cost(struct site_row *row, const struct stack_cost *cost)
{
	row->launches += cost->launches;
	row->copies += cost->copies;
	row->syncs += cost->syncs;
	row->calls += cost->calls;
	row->bytes += cost->bytes;
	row->gpu_ns += cost->gpu_ns;
	row->host_ns += cost->host_ns;
	row->idle_ns += cost->idle_ns;
	row->exposed_ns += cost->exposed_ns;
}

int64_t site_row_lost_ns(const struct site_row *row)
{
	return row->idle_ns + row->exposed_ns;
}

static int compare_rows(const void *left, const void *right)
{
	const struct site_row *a = left, *b = right;
	const int64_t keys[3][2] = {{site_row_lost_ns(a), site_row_lost_ns(b)},
				    {a->gpu_ns, b->gpu_ns},
				    {a->host_ns, b->host_ns}};

	for (int i = 0; i < 3; i++) {
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? 1 : -1;
	}
	return strcmp(a->place, b->place);
}

void site_table_build(const struct model *model, struct symbols *symbols, struct site_table *out)
{
	struct rows rows = {.table = out};
	struct stack_costs costs;
	struct site_row *row = NULL;

	memset(out, 0, sizeof(*out));
	out->model = model;
	out->steps = model_steady_count(model);
	map_init(&rows.by_place);
	stack_costs_build(model, STACK_STEADY, &costs);
	for (size_t i = 0; i < costs.count; i++) {
		const struct stack_cost *cost = &costs.items[i];

		/* Neighbours share site and API, and so the row. */
		if (!i || cost->site != cost[-1].site || cost->api != cost[-1].api)
			row = row_of(&rows, model, symbols, cost);
		add_cost(row, cost);
	}
	for (size_t d = 0; d < model->device_count; d++) {
		const struct ledger *steady = &model->devices[d].ledger.steady;

		out->gpu_wait_ns += steady->part[LEDGER_IDLE_GPU_WAIT] / LEDGER_UNITS_PER_NS;
		out->unknown_ns += steady->part[LEDGER_UNKNOWN] / LEDGER_UNITS_PER_NS;
	}
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), compare_rows);
	stack_costs_free(&costs);
	map_fini(&rows.by_place);
}

void site_table_free(struct site_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		free(table->rows[i].place);
		free(table->rows[i].native);
	}
	free(table->rows);
	memset(table, 0, sizeof(*table));
}

static double per_step_ms(const struct site_table *table, int64_t sum_ns)
{
	return (double)sum_ns / 1e6 / (double)table->steps;
}

static double per_step(const struct site_table *table, uint64_t sum)
{
	return (double)sum / (double)table->steps;
}

static void print_row(const struct site_table *table, const struct site_row *row, FILE *to)
{
	fprintf(to, "  %9.3f %9.3f %9.3f %9.3f %10.3f %8.4g %8.4g %8.4g  %s\n",
		per_step_ms(table, site_row_lost_ns(row)), per_step_ms(table, row->idle_ns),
		per_step_ms(table, row->gpu_ns), per_step_ms(table, row->host_ns),
		per_step(table, row->bytes) / 1e6, per_step(table, row->launches),
		per_step(table, row->copies), per_step(table, row->syncs), row->place);
	if (row->native)
		fprintf(to, "  %82s  %s\n", "from", row->native);
}

void site_table_print(const struct site_table *table, FILE *to, size_t limit)
{
	bool has_steps = table->model->steps.source != STEPS_NONE;
	struct text title;

	if (!limit || limit > table->count)
		limit = table->count;
	text_init(&title);
	text_add_printable(&title, table->model->source.path);
	fprintf(to, "%s\n", text_string(&title));
	text_fini(&title);
	fprintf(to, "  Figures are %s; the GPU times of %zu device%s are added up.\n",
		has_steps ? "per steady step" : "of the whole run, no steps were found",
		table->model->device_count, table->model->device_count == 1 ? "" : "s");
	fprintf(to, "  %9s %9s %9s %9s %10s %8s %8s %8s  %s\n", "lost ms", "idle ms", "GPU ms",
		"host ms", "copied MB", "launches", "copies", "syncs", "where");
	for (size_t i = 0; i < limit; i++)
		print_row(table, &table->rows[i], to);
	if (limit < table->count)
		fprintf(to, "  ... and %zu more places\n", table->count - limit);
	if (table->gpu_wait_ns || table->unknown_ns)
		fprintf(to,
			"  No place answers for %.3f ms of waiting on the GPU's side and %.3f ms "
			"that "
			"are unknown.\n",
			per_step_ms(table, table->gpu_wait_ns),
			per_step_ms(table, table->unknown_ns));
}

static void add_row_json(const struct site_table *table, const struct site_row *row,
			 struct json *json)
{
	json_object(json, NULL);
	json_text(json, "place", row->place);
	json_text(json, "native", row->native);
	json_number(json, "lost_ms", per_step_ms(table, site_row_lost_ns(row)));
	json_number(json, "idle_ms", per_step_ms(table, row->idle_ns));
	json_number(json, "exposed_ms", per_step_ms(table, row->exposed_ns));
	json_number(json, "gpu_ms", per_step_ms(table, row->gpu_ns));
	json_number(json, "host_ms", per_step_ms(table, row->host_ns));
	json_number(json, "copied_bytes", per_step(table, row->bytes));
	json_number(json, "launches", per_step(table, row->launches));
	json_number(json, "copies", per_step(table, row->copies));
	json_number(json, "syncs", per_step(table, row->syncs));
	json_number(json, "calls", per_step(table, row->calls));
	json_end_object(json);
}

void site_table_add_json(const struct site_table *table, struct json *json)
{
	json_object(json, NULL);
	json_text(json, "path", table->model->source.path);
	json_text(json, "per", table->model->steps.source == STEPS_NONE ? "run" : "step");
	json_unsigned(json, "steady_steps", table->steps);
	json_number(json, "gpu_wait_ms", per_step_ms(table, table->gpu_wait_ns));
	json_number(json, "unknown_ms", per_step_ms(table, table->unknown_ns));
	json_array(json, "sites");
	for (size_t i = 0; i < table->count; i++)
		add_row_json(table, &table->rows[i], json);
	json_end_array(json);
	json_end_object(json);
}
