/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records with any values at all go through model, rules, report and gate without harm: a file may
 * hold whatever its author likes. The sanitizers watch; the ledger still adds up.
 */
#include "unit_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "export.h"
#include "gate_check.h"
#include "json.h"
#include "model_script.h"
#include "report_data.h"
#include "report_html.h"
#include "report_json.h"
#include "report_text.h"
#include "site_table.h"

static uint64_t random_state;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Small numbers, powers of two, all ones, and anything. */
static uint64_t next_value(void)
{
	uint64_t value = next_random();

	switch (value % 7) {
	case 0:
		return 0;
	case 1:
		return value >> 60;
	case 2:
		return UINT64_MAX;
	case 3:
		return 1ull << (value >> 58);
	case 4:
		return (uint64_t)INT64_MAX - (value >> 59);
	case 5:
		return value >> 40;
	default:
		return value;
	}
}

static void add_hostile(struct script *script)
{
	struct script_call call = {
		.begin_ns = (int64_t)next_value(),
		.end_ns = (int64_t)next_value(),
		.thread = (uint32_t)next_value() % 5,
		.api = "cudaSomething",
		.site = next_value() % 3,
		.parent_id = (uint32_t)next_value() % 40,
		.correlation = (uint32_t)next_value(),
		.flags = (uint16_t)next_value(),
		.status = (int32_t)next_value(),
		.device = next_random() % 4 ? (uint32_t)next_value() % 3 : (uint32_t)next_value(),
	};
	struct record_gemm gemm = script_gemm_f16((uint32_t)next_value(), (uint32_t)next_value(),
						  (uint32_t)next_value());
	uint32_t device = (uint32_t)next_value() % 3;

	gemm.type_a = gemm.type_c = (uint8_t)next_value();
	gemm.op_a = (uint8_t)next_value();
	gemm.batch = (uint32_t)next_value();
	switch (next_random() % 10) {
	case 0:
		script_add_launch(script, &call, "ampere_sgemm");
		break;
	case 1:
		script_add_copy(script, &call, (uint8_t)next_value(), next_value(),
				(uint8_t)next_value(), (uint8_t)next_value());
		break;
	case 2:
		script_add_sync(script, &call, (uint32_t)next_value());
		break;
	case 3:
		script_add_memory(script, &call, (uint8_t)next_value() % 4, (uint8_t)next_value(),
				  next_value() % 9, next_value());
		break;
	case 4:
		script_add_gemm(script, &call, &gemm);
		break;
	case 5:
		script_add_plain(script, &call);
		break;
	case 6:
		script_add_gpu_copy(script, device, (uint8_t)next_value(), next_value(),
				    (uint8_t)next_value(), (uint8_t)next_value(), call.correlation,
				    call.begin_ns, call.end_ns);
		break;
	case 7:
		script_add_gpu_set(script, device, next_value(), call.correlation, call.begin_ns,
				   call.end_ns);
		break;
	case 8:
		script_add_mark(script, next_random() % 2 ? "step 1" : "other", call.begin_ns,
				call.end_ns);
		break;
	default:
		script_add_kernel(script, device,
				  next_random() % 2
					  ? "cutlass_80_tensorop_f16_s16816gemm_f16_tn_align1"
					  : "adam_step",
				  call.correlation, call.begin_ns, call.end_ns);
	}
}

/* Costs by stack add up to what the ledger says, and every export writes them. */
static void export_everything(const struct model *model, FILE *sink)
{
	int64_t exposed_ns = 0, ledger_ns = 0;
	struct stack_costs costs;
	struct site_table table;

	stack_costs_build(model, STACK_STEADY, &costs);
	for (size_t i = 0; i < costs.count; i++)
		exposed_ns += costs.items[i].exposed_ns;
	stack_costs_free(&costs);
	for (size_t d = 0; d < model->device_count; d++) {
		const struct ledger *steady = &model->devices[d].ledger.steady;

		ledger_ns += (steady->part[LEDGER_COMM] + steady->part[LEDGER_COPY]) /
			     LEDGER_UNITS_PER_NS;
	}
	assert_int_equal(exposed_ns, ledger_ns);
	site_table_build(model, NULL, &table);
	site_table_print(&table, sink, 3);
	site_table_free(&table);
	for (unsigned i = 0; i < exports_count(); i++) {
		for (int weight = 0; weight < EXPORT_WEIGHT_COUNT; weight++) {
			struct export_job job = {&model, 1, (enum export_weight)weight};

			exports_all[i]->write(&job, sink);
		}
	}
}

static void print_everything(const struct model *model)
{
	FILE *sink = fopen("/dev/null", "w");
	struct json *json = json_new("gputrace.report/1", false);
	struct gate_options options;
	struct gate_result result;
	struct report_data report;

	assert_non_null(sink);
	report_data_build(&model, 1, &report);
	report_text_print(&report, sink, true);
	report_json_add(json, &report);
	json_finish(json, sink);
	assert_int_equal(report_html_write(&report, "/dev/null"), 0);
	report_data_free(&report);
	gate_options_init(&options);
	options.limit[METRIC_STEP_TIME] = 1;
	gate_run(&options, &model, 1, &model, 1, &result);
	gate_result_free(&result);
	export_everything(model, sink);
	fclose(sink);
}

static void any_values_break_nothing(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 150; seed++) {
		struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
		struct model *model;

		random_state = seed * 0x9e3779b97f4a7c15ull;
		for (uint64_t i = 0; i < 20 + seed; i++)
			add_hostile(script);
		model = script_model(script);
		for (size_t d = 0; d < model->device_count; d++) {
			const struct ledger *whole = &model->devices[d].ledger.whole;

			assert_int_equal(ledger_sum(whole), whole->length_ns * LEDGER_UNITS_PER_NS);
		}
		print_everything(model);
		model_free(model);
		script_free(script);
	}
}

static void hostile_records_inside_a_loop_break_nothing(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct script *script = script_new("NVIDIA H100 80GB HBM3", 132, 5, 16);
		struct machine machine;
		struct model *model;

		random_state = seed * 0xd1b54a32d192ed03ull;
		machine_init(&machine, script);
		for (int step = 0; step < 12; step++) {
			struct record_gemm gemm = script_gemm_f16(50257, 1024, 768);

			machine_copy(&machine, COPY_H2D, 1 << 20, MEMORY_PAGEABLE, false);
			machine_gemm(&machine, &gemm, "gemm_align1", 100000);
			machine_kernel(&machine, "adam_step", 10000);
			machine_sync(&machine, "cudaDeviceSynchronize", SYNC_DEVICE);
			if (next_random() % 3 == 0)
				add_hostile(script);
		}
		model = script_model(script);
		print_everything(model);
		model_free(model);
		script_free(script);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_values_break_nothing),
		cmocka_unit_test(hostile_records_inside_a_loop_break_nothing),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
