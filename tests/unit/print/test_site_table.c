/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table by site: dearest first, one row per line of the program, and nothing of the ledger
 * lost.
 */
#include "unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_script.h"
#include "site_table.h"

enum { SITE_UPLOAD = 11, SITE_FORWARD, SITE_FORWARD_TOO, SITE_LOSS };

/* Every step uploads, computes from two stacks through one line, and waits for a number. */
static struct model *make_run(struct script *script)
{
	static const char *const forward[] = {"forward\x1f/app/model.py", "train\x1f/app/train.py"};
	static const char *const other[] = {"forward\x1f/app/model.py", "test\x1f/app/train.py"};
	struct machine machine;

	script_add_site(script, SITE_UPLOAD, "load\x1f/app/data.py");
	script_add_stack(script, SITE_FORWARD, forward, 2);
	script_add_stack(script, SITE_FORWARD_TOO, other, 2);
	script_add_site(script, SITE_LOSS, "loss\x1f/app/loss.py");
	machine_init(&machine, script);
	for (int step = 0; step < 12; step++) {
		machine.site = SITE_UPLOAD;
		machine_copy(&machine, COPY_H2D, 32u << 20, MEMORY_PAGEABLE, false);
		machine.site = SITE_FORWARD;
		machine_kernel(&machine, "softmax", 300000);
		machine.site = SITE_FORWARD_TOO;
		machine_kernel(&machine, "relu", 200000);
		machine.site = SITE_LOSS;
		machine_kernel(&machine, "adam_step", 7000);
		machine_sync(&machine, "cudaDeviceSynchronize", SYNC_DEVICE);
		machine_work(&machine, 400000);
	}
	return script_model(script);
}

static const struct site_row *row_at(const struct site_table *table, const char *place)
{
	for (size_t i = 0; i < table->count; i++) {
		if (!strncmp(table->rows[i].place, place, strlen(place)))
			return &table->rows[i];
	}
	fail_msg("no row %s", place);
	return NULL;
}

static void rows_come_by_lost_time(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model = make_run(script);
	struct site_table table;

	(void)state;
	site_table_build(model, NULL, &table);
	assert_true(table.count > 2);
	assert_string_equal(table.rows[0].place, "/app/data.py:1 in load (cudaMemcpyAsync)");
	for (size_t i = 1; i < table.count; i++)
		assert_true(site_row_lost_ns(&table.rows[i - 1]) >=
			    site_row_lost_ns(&table.rows[i]));
	site_table_free(&table);
	model_free(model);
	script_free(script);
}

static void stacks_through_one_line_are_one_row(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model = make_run(script);
	const struct site_row *row;
	struct site_table table;
	size_t rows = 0;

	(void)state;
	site_table_build(model, NULL, &table);
	for (size_t i = 0; i < table.count; i++)
		rows += !strncmp(table.rows[i].place, "/app/model.py", 13);
	assert_int_equal(rows, 1);
	row = row_at(&table, "/app/model.py:1 in forward");
	assert_int_equal(row->launches, 2 * table.steps);
	assert_int_equal(row->gpu_ns, 500000 * (int64_t)table.steps);
	row = row_at(&table, "/app/data.py:1 in load");
	assert_int_equal(row->bytes, (uint64_t)(32u << 20) * table.steps);
	assert_int_equal(row->copies, table.steps);
	assert_int_equal(row_at(&table, "/app/loss.py:1 in loss (cudaDeviceSynchronize)")->syncs,
			 table.steps);
	site_table_free(&table);
	model_free(model);
	script_free(script);
}

static void lost_time_adds_up_to_the_ledger(void **state)
{
	static const enum ledger_part lost[] = {
		LEDGER_COMM,	       LEDGER_COPY,	     LEDGER_IDLE_SYNC, LEDGER_IDLE_ISSUE,
		LEDGER_IDLE_HOST_AWAY, LEDGER_IDLE_GPU_WAIT, LEDGER_UNKNOWN};
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model = make_run(script);
	const struct device_ledger *ledger = &model->devices[0].ledger;
	int64_t expected_ns = 0, found_ns = 0;
	struct site_table table;

	(void)state;
	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
		expected_ns += ledger->steady.part[lost[i]] / LEDGER_UNITS_PER_NS;
	site_table_build(model, NULL, &table);
	for (size_t i = 0; i < table.count; i++)
		found_ns += site_row_lost_ns(&table.rows[i]);
	assert_true(expected_ns > 0);
	assert_int_equal(found_ns + table.gpu_wait_ns + table.unknown_ns, expected_ns);
	site_table_free(&table);
	model_free(model);
	script_free(script);
}

static void text_and_json_say_the_same(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model = make_run(script);
	struct json *json = json_new("gputrace.sites/1", true);
	struct site_table table;
	char *document, *text, expected[64];
	size_t length;
	FILE *page = open_memstream(&text, &length);

	(void)state;
	site_table_build(model, NULL, &table);
	site_table_print(&table, page, 1);
	fclose(page);
	json_array(json, "runs");
	site_table_add_json(&table, json);
	json_end_array(json);
	document = json_take(json);
	snprintf(expected, sizeof(expected), "  %9.3f ",
		 (double)site_row_lost_ns(&table.rows[0]) / 1e6 / (double)table.steps);
	assert_non_null(strstr(text, expected));
	assert_non_null(strstr(text, "more places"));
	assert_null(strstr(text, table.rows[1].place));
	for (size_t i = 0; i < table.count; i++)
		assert_non_null(strstr(document, table.rows[i].place));
	free(document);
	free(text);
	site_table_free(&table);
	model_free(model);
	script_free(script);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_come_by_lost_time),
		cmocka_unit_test(stacks_through_one_line_are_one_row),
		cmocka_unit_test(lost_time_adds_up_to_the_ledger),
		cmocka_unit_test(text_and_json_say_the_same),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
