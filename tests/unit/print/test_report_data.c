/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report's rows add up to 100.0 %, and its pages carry nothing hostile.
 */
#include "unit_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model_script.h"
#include "report_data.h"
#include "report_html.h"
#include "report_json.h"
#include "report_text.h"

static struct model *make_run(struct script *script, uint32_t seed, const char *kernel)
{
	struct machine machine;

	machine_init(&machine, script);
	for (int step = 0; step < 12; step++) {
		machine_copy(&machine, COPY_H2D, (3u + seed) << 20, MEMORY_PAGEABLE, false);
		for (uint32_t i = 0; i < 5 + seed % 7; i++)
			machine_kernel(&machine, kernel, 10000 + 977 * (int64_t)seed);
		machine_kernel(&machine, "softmax", 33333);
		machine_kernel(&machine, "adam_step", 7777);
		machine_sync(&machine, "cudaDeviceSynchronize", SYNC_DEVICE);
		machine_work(&machine, 100000 + 12345 * (int64_t)seed);
	}
	return script_model(script);
}

static void rows_add_up_to_one_hundred_percent(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed < 40; seed++) {
		struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
		struct model *model = make_run(script, seed, "ampere_sgemm");
		const struct model *models = model;
		struct report_data report;
		double percent = 0, ms = 0;
		const struct device_report *device;

		report_data_build(&models, 1, &report);
		device = &report.runs[0].devices[0];
		assert_true(device->has_ledger);
		for (int part = 0; part < LEDGER_PART_COUNT; part++) {
			percent += device->rows[part].percent;
			ms += device->rows[part].ms;
			assert_true(fabs(device->rows[part].percent -
					 100 * device->rows[part].ms / device->step_ms) < 0.1001);
		}
		assert_true(fabs(percent - 100) < 1e-9);
		assert_true(fabs(ms - device->step_ms) < 1e-9);
		assert_true(device->combined_gain_ms <= device->step_ms);
		report_data_free(&report);
		model_free(model);
		script_free(script);
	}
}

static char *read_all(FILE *file)
{
	long length;
	char *bytes;

	fseek(file, 0, SEEK_END);
	length = ftell(file);
	rewind(file);
	bytes = malloc((size_t)length + 1);
	assert_int_equal(fread(bytes, 1, (size_t)length, file), length);
	bytes[length] = '\0';
	return bytes;
}

static void hostile_names_reach_no_output_raw(void **state)
{
	static const char hostile[] = "</script><img src=x onerror=alert(1)>\x1b]0;x\x07\xff gemm";
	struct script *script = script_new("GPU <b>\x1b[2J", 108, 4, 16);
	struct model *model;
	const struct model *models;
	struct report_data report;
	char path[] = "report_html_XXXXXX";
	int fd = mkstemp(path);
	FILE *page, *terminal = tmpfile();
	char *html, *shown, *document;
	struct json *json;

	(void)state;
	script_info(script, "process.command", hostile);
	model = make_run(script, 3, hostile);
	models = model;
	report_data_build(&models, 1, &report);
	assert_int_equal(report_html_write(&report, path), 0);
	page = fdopen(fd, "r");
	html = read_all(page);
	assert_null(strstr(html, "<img"));
	assert_null(strstr(html, "GPU <b>"));
	assert_null(strchr(html, '\x1b'));
	assert_null(strstr(html, "http://"));
	assert_null(strstr(html, "https://"));
	report_text_print(&report, terminal, false);
	shown = read_all(terminal);
	assert_null(strchr(shown, '\x1b'));
	assert_null(strchr(shown, '\x07'));
	assert_null(strchr(shown, '\xff'));
	json = json_new("gputrace.report/1", false);
	report_json_add(json, &report);
	document = json_take(json);
	assert_null(strchr(document, '\x1b'));
	free(document);
	free(shown);
	free(html);
	fclose(page);
	fclose(terminal);
	unlink(path);
	report_data_free(&report);
	model_free(model);
	script_free(script);
}

static void text_and_json_say_the_same_numbers(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model = make_run(script, 5, "ampere_sgemm");
	const struct model *models = model;
	FILE *terminal = tmpfile();
	struct report_data report;
	struct json *json;
	char *shown, *document, wanted[64];

	(void)state;
	report_data_build(&models, 1, &report);
	assert_true(report.runs[0].devices[0].findings.count > 0);
	report_text_print(&report, terminal, false);
	shown = read_all(terminal);
	json = json_new("gputrace.report/1", true);
	report_json_add(json, &report);
	document = json_take(json);
	for (size_t i = 0; i < report.runs[0].devices[0].findings.count; i++) {
		const struct finding *finding = &report.runs[0].devices[0].findings.items[i];

		/* Of what cannot be gained the text shows the cost alone. */
		snprintf(wanted, sizeof(wanted), "%.2f ms",
			 finding->gain_high_ms > 0 ? finding->gain_high_ms : finding->cost_ms);
		assert_non_null(strstr(shown, wanted));
		snprintf(wanted, sizeof(wanted), "\"gain_high_ms\":%.12g", finding->gain_high_ms);
		assert_non_null(strstr(document, wanted));
	}
	free(document);
	free(shown);
	fclose(terminal);
	report_data_free(&report);
	model_free(model);
	script_free(script);
}

static void findings_of_one_part_are_combined_not_added(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model = make_run(script, 30, "ampere_sgemm");
	const struct model *models = model;
	struct report_data report;
	const struct device_report *device;
	double sum = 0, available = 0;
	uint32_t parts = 0;

	(void)state;
	report_data_build(&models, 1, &report);
	device = &report.runs[0].devices[0];
	for (size_t i = 0; i < device->findings.count; i++)
		sum += device->findings.items[i].gain_high_ms;
	assert_true(device->findings.count >= 2); /* GT101 and GT102 both draw from the copies */
	assert_true(device->combined_gain_ms < sum);
	for (size_t i = 0; i < device->findings.count; i++)
		parts |= device->findings.items[i].draws_from;
	for (int part = 0; part < LEDGER_PART_COUNT; part++)
		available += parts >> part & 1 ? device->rows[part].ms : 0;
	assert_true(device->combined_gain_ms <= available + 1e-9);
	report_data_free(&report);
	model_free(model);
	script_free(script);
}

/* The verdict of a run whose last call fails. */
static char *verdict_of_failure(const char *api, int32_t status, bool is_request)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct script_call call = {.begin_ns = 9000000000,
				   .end_ns = 9000001000,
				   .thread = 1,
				   .api = api,
				   .status = status};
	struct report_data report;
	const struct model *models;
	struct model *model;
	char *verdict;

	script_device(script, 0)->memory_bytes = 80ull << 30;
	if (is_request)
		script_add_memory(script, &call, MEMORY_ALLOC, MEMORY_DEVICE, 0, 1ull << 40);
	else
		script_add_plain(script, &call);
	model = make_run(script, 3, "ampere_sgemm");
	models = model;
	report_data_build(&models, 1, &report);
	verdict = strdup(report.verdict);
	report_data_free(&report);
	model_free(model);
	script_free(script);
	return verdict;
}

static void the_verdict_says_what_kind_of_failure_ended_the_work(void **state)
{
	char *lost = verdict_of_failure("cudaStreamSynchronize", 700, false);
	char *memory = verdict_of_failure("cudaMalloc", 2, true);

	(void)state;
	assert_non_null(strstr(lost, "An error ended the work"));
	assert_non_null(strstr(lost, "GT705"));
	assert_null(strstr(lost, "request for memory"));
	assert_non_null(strstr(memory, "A request for memory failed"));
	assert_non_null(strstr(memory, "GT402"));
	free(lost);
	free(memory);
}

/* Seven of eight GPUs are visible and idle in every rank of a job. */
static void gpus_that_were_not_used_have_no_page(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct report_data report;
	const struct model *models;
	struct model *model;

	(void)state;
	script_add_device(script, "NVIDIA A100-SXM4-80GB", 4, 16);
	script_add_device(script, "NVIDIA A100-SXM4-80GB", 4, 16);
	model = make_run(script, 3, "ampere_sgemm");
	models = model;
	report_data_build(&models, 1, &report);
	assert_int_equal(report.runs[0].device_count, 1);
	assert_int_equal(report.runs[0].unused_count, 2);
	assert_int_equal(report.runs[0].devices[0].device, 0);
	report_data_free(&report);
	model_free(model);
	script_free(script);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_add_up_to_one_hundred_percent),
		cmocka_unit_test(hostile_names_reach_no_output_raw),
		cmocka_unit_test(text_and_json_say_the_same_numbers),
		cmocka_unit_test(findings_of_one_part_are_combined_not_added),
		cmocka_unit_test(the_verdict_says_what_kind_of_failure_ended_the_work),
		cmocka_unit_test(gpus_that_were_not_used_have_no_page),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
