/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a finding costs and may gain, in words that a stranger reads one way only.
 */
#include "unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_script.h"
#include "report_text.h"
#include "report_words.h"

static void assert_price(const struct finding *finding, double step_ms, const char *wanted)
{
	char *price = report_price_text(finding, step_ms);

	assert_string_equal(price, wanted);
	free(price);
}

static void a_gain_is_a_range_or_up_to_its_upper_end(void **state)
{
	struct finding finding = {.cost_ms = 10, .gain_low_ms = 2, .gain_high_ms = 5};

	(void)state;
	assert_price(&finding, 40, "costs 10.00 ms (25.0 %), gain 2.00 to 5.00 ms (5.0 to 12.5 %)");
	finding.gain_low_ms = 0.0004;
	assert_price(&finding, 40, "costs 10.00 ms (25.0 %), gain up to 5.00 ms (12.5 %)");
	finding.gain_low_ms = 4.998;
	assert_price(&finding, 40, "costs 10.00 ms (25.0 %), gain up to 5.00 ms (12.5 %)");
}

static void what_rounds_to_nothing_is_called_no_gain(void **state)
{
	struct finding finding = {.cost_ms = 10, .gain_low_ms = 0, .gain_high_ms = 0.004};
	struct device_report device = {.combined_gain_ms = 0.004};
	char *together = report_together_text(&device);

	(void)state;
	assert_price(&finding, 40, "costs 10.00 ms (25.0 %)");
	assert_string_equal(together, "");
	free(together);
	device.combined_gain_ms = 3;
	device.lower_gain_ms = 1;
	together = report_together_text(&device);
	assert_string_equal(together, "together 1.00 to 3.00 ms");
	free(together);
}

static void what_ended_the_work_has_no_price(void **state)
{
	struct finding finding = {.is_failure = true};

	(void)state;
	assert_price(&finding, 40, "");
}

static void without_a_step_there_is_no_share(void **state)
{
	struct finding finding = {.cost_ms = 10, .gain_high_ms = 5};

	(void)state;
	assert_price(&finding, 0, "costs 10.00 ms");
}

/* Twelve steps, two of which take many times the usual: more, on average, than the mean step, which
 * leaves them out. */
static struct model *make_stalling_run(struct script *script)
{
	struct machine machine;

	machine_init(&machine, script);
	for (int step = 0; step < 24; step++) {
		machine_kernel(&machine, "ampere_sgemm_128x128_nn", 2000000);
		machine_kernel(&machine, "adam_step", 50000);
		machine_sync(&machine, "cudaDeviceSynchronize", SYNC_DEVICE);
		if (step == 9 || step == 14)
			machine_work(&machine, 90000000);
	}
	return script_model(script);
}

static void no_finding_of_steps_left_out_is_a_share_of_the_mean_step(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model = make_stalling_run(script);
	const struct model *models = model;
	const struct finding_list *list;
	struct report_data report;
	bool is_raised = false;

	(void)state;
	report_data_build(&models, 1, &report);
	list = &report.runs[0].devices[0].findings;
	for (size_t i = 0; i < list->count; i++) {
		char *price = report_price_text(&list->items[i], report.runs[0].devices[0].step_ms);

		if (!strcmp(list->items[i].id, "GT508")) {
			is_raised = true;
			assert_true(list->items[i].cost_ms > report.runs[0].devices[0].step_ms);
			assert_non_null(strstr(price, "to a step on average"));
			assert_null(strchr(price, '%'));
		}
		free(price);
	}
	assert_true(is_raised);
	assert_null(strstr(report.verdict, "up to 0.00 ms"));
	report_data_free(&report);
	model_free(model);
	script_free(script);
}

static char *text_of(struct report_data *report, bool shows_why)
{
	char *bytes = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&bytes, &size);

	assert_non_null(to);
	report->shows_why = shows_why;
	report_text_print(report, to, false);
	fclose(to);
	return bytes;
}

static void silent_rules_are_named_and_tell_what_they_saw_when_asked(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model = make_stalling_run(script);
	const struct model *models = model;
	const struct finding_list *list;
	struct report_data report;
	char *brief, *full;

	(void)state;
	report_data_build(&models, 1, &report);
	brief = text_of(&report, false);
	full = text_of(&report, true);
	list = &report.runs[0].devices[0].findings;
	for (size_t i = 0; i < list->judgement_count; i++) {
		assert_non_null(strstr(brief, list->judgements[i].id));
		assert_non_null(strstr(full, list->judgements[i].id));
	}
	assert_non_null(strstr(brief, "--why"));
	assert_null(strstr(brief, "GT104 0 copies per step"));
	assert_non_null(strstr(full, "GT104 0 copies per step"));
	free(brief);
	free(full);
	report_data_free(&report);
	model_free(model);
	script_free(script);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gain_is_a_range_or_up_to_its_upper_end),
		cmocka_unit_test(what_rounds_to_nothing_is_called_no_gain),
		cmocka_unit_test(what_ended_the_work_has_no_price),
		cmocka_unit_test(without_a_step_there_is_no_share),
		cmocka_unit_test(no_finding_of_steps_left_out_is_a_share_of_the_mean_step),
		cmocka_unit_test(silent_rules_are_named_and_tell_what_they_saw_when_asked),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
