/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table by kernel: its rows are all the work of the steady steps, no more and no less.
 */
#include "unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger.h"
#include "model_script.h"
#include "work_table.h"

enum { STEPS = 14, UPLOAD_BYTES = 8 << 20 };

static struct model *make_run(struct script *script)
{
	struct machine machine;

	machine_init(&machine, script);
	for (int step = 0; step < STEPS; step++) {
		machine_copy(&machine, COPY_H2D, UPLOAD_BYTES, MEMORY_PAGEABLE, false);
		for (int i = 0; i < 5; i++)
			machine_kernel(&machine, "softmax", 100000 + 10000 * i);
		machine_kernel(&machine, "adam_step", 7000);
		machine_sync(&machine, "cudaDeviceSynchronize", SYNC_DEVICE);
		machine_work(&machine, 400000);
	}
	return script_model(script);
}

static const struct work_row *row_at(const struct work_table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++) {
		if (!strcmp(table->rows[i].name, name))
			return &table->rows[i];
	}
	fail_msg("no row %s", name);
	return NULL;
}

static void a_row_has_count_mean_and_extremes(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model = make_run(script);
	struct work_table table;
	const struct work_row *row;

	(void)state;
	work_table_build(model, &table);
	assert_int_equal(table.count, 3);
	row = row_at(&table, "softmax");
	assert_int_equal(row->count, 5 * table.steps);
	assert_int_equal(row->shortest_ns, 100000);
	assert_int_equal(row->longest_ns, 140000);
	assert_int_equal(row->gpu_ns, 600000 * (int64_t)table.steps);
	assert_int_equal(row->bytes, 0);
	row = row_at(&table, "copy to the GPU, pageable");
	assert_int_equal(row->count, table.steps);
	assert_int_equal(row->bytes, (uint64_t)UPLOAD_BYTES * table.steps);
	assert_string_equal(row->kind, "copies");
	for (size_t i = 1; i < table.count; i++)
		assert_true(table.rows[i - 1].gpu_ns >= table.rows[i].gpu_ns);
	work_table_free(&table);
	model_free(model);
	script_free(script);
}

/* Nothing overlaps here, so all rows together are what the ledger says is not idle. */
static void rows_add_up_to_the_ledger(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model = make_run(script);
	const struct ledger *steady = &model->devices[0].ledger.steady;
	struct work_table table;
	int64_t sum_ns = 0, busy = 0;

	(void)state;
	for (int part = 0; part <= LEDGER_COPY; part++)
		busy += steady->part[part];
	work_table_build(model, &table);
	for (size_t i = 0; i < table.count; i++)
		sum_ns += table.rows[i].gpu_ns;
	assert_true(sum_ns > 0);
	assert_int_equal(sum_ns, table.gpu_ns);
	assert_int_equal(sum_ns, busy / LEDGER_UNITS_PER_NS);
	work_table_free(&table);
	model_free(model);
	script_free(script);
}

static void text_is_cut_and_json_is_not(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model = make_run(script);
	struct json *json = json_new("gputrace.kernels/1", true);
	struct work_table table;
	char *document, *text = NULL, expected[64];
	size_t length = 0;
	FILE *page = open_memstream(&text, &length);

	(void)state;
	work_table_build(model, &table);
	work_table_print(&table, page, 1);
	fclose(page);
	json_array(json, "runs");
	work_table_add_json(&table, json);
	json_end_array(json);
	document = json_take(json);
	snprintf(expected, sizeof(expected), "  %9.3f ",
		 (double)table.rows[0].gpu_ns / 1e6 / (double)table.steps);
	assert_non_null(strstr(text, expected));
	assert_non_null(strstr(text, "and 2 more"));
	assert_null(strstr(text, table.rows[1].name));
	for (size_t i = 0; i < table.count; i++)
		assert_non_null(strstr(document, table.rows[i].name));
	free(document);
	free(text);
	work_table_free(&table);
	model_free(model);
	script_free(script);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_has_count_mean_and_extremes),
		cmocka_unit_test(rows_add_up_to_the_ledger),
		cmocka_unit_test(text_is_cut_and_json_is_not),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
