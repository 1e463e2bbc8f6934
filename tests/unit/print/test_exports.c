/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other programs are given: every weight adds up to the model's total, nothing in a name
 * breaks a format, and no operation is lost.
 */
#include "unit_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_tree.h>

#include "export.h"
#include "model_script.h"

enum { SITE_UPLOAD = 21, SITE_BACKWARD };

static struct model *make_run(struct script *script)
{
	static const char *const upload[] = {"aten::copy_", "lo;ad\n\x1f/app/da;ta.py",
					     "main\x1f/app/train.py", "?"};
	static const char *const backward[] = {"hook\x1f/app/hook.py", "^",
					       "step\x1f/app/train.py"};
	struct machine machine;

	script_add_stack(script, SITE_UPLOAD, upload, 4);
	script_add_stack(script, SITE_BACKWARD, backward, 3);
	machine_init(&machine, script);
	for (int step = 0; step < 8; step++) {
		machine.site = SITE_UPLOAD;
		machine_copy(&machine, COPY_H2D, 8u << 20, MEMORY_PAGEABLE, false);
		machine.site = SITE_BACKWARD;
		machine_kernel(&machine, "_Z4axpyPfS_i", 250000);
		machine.site = 0;
		machine_kernel(&machine, "adam_step", 9000);
		machine_sync(&machine, "cudaDeviceSynchronize", SYNC_DEVICE);
		machine_work(&machine, 300000);
	}
	return script_model(script);
}

static char *export_text(const char *name, const struct model *model, enum export_weight weight)
{
	struct export_job job = {&model, 1, weight};
	char *text;
	size_t length;
	FILE *to = open_memstream(&text, &length);

	assert_non_null(to);
	exports_find(name)->write(&job, to);
	fclose(to);
	return text;
}

/* Adds up the numbers at the ends of the lines; every line has one and no empty frame. */
static uint64_t sum_collapsed(char *text)
{
	uint64_t sum = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char *number = strrchr(line, ' '), *end;

		assert_non_null(number);
		assert_null(strstr(line, ";;"));
		sum += strtoull(number + 1, &end, 10);
		assert_true(end > number + 1 && !*end);
	}
	return sum;
}

static uint64_t sum_speedscope(const char *text)
{
	static const char *profiles_path[] = {"profiles", NULL};
	static const char *weights_path[] = {"weights", NULL};
	static const char *samples_path[] = {"samples", NULL};
	static const char *frames_path[] = {"shared", "frames", NULL};
	char error[200];
	yajl_val root = yajl_tree_parse(text, error, sizeof(error)), profiles, frames;
	uint64_t sum = 0;

	if (!root)
		fail_msg("%s", error);
	profiles = yajl_tree_get(root, profiles_path, yajl_t_array);
	frames = yajl_tree_get(root, frames_path, yajl_t_array);
	assert_non_null(profiles);
	assert_non_null(frames);
	for (size_t p = 0; p < YAJL_GET_ARRAY(profiles)->len; p++) {
		yajl_val profile = YAJL_GET_ARRAY(profiles)->values[p];
		yajl_val weights = yajl_tree_get(profile, weights_path, yajl_t_array);
		yajl_val samples = yajl_tree_get(profile, samples_path, yajl_t_array);

		assert_int_equal(YAJL_GET_ARRAY(weights)->len, YAJL_GET_ARRAY(samples)->len);
		for (size_t i = 0; i < YAJL_GET_ARRAY(weights)->len; i++) {
			yajl_val stack = YAJL_GET_ARRAY(samples)->values[i];

			sum += (uint64_t)YAJL_GET_INTEGER(YAJL_GET_ARRAY(weights)->values[i]);
			for (size_t f = 0; f < YAJL_GET_ARRAY(stack)->len; f++)
				assert_true(
					(size_t)YAJL_GET_INTEGER(YAJL_GET_ARRAY(stack)->values[f]) <
					YAJL_GET_ARRAY(frames)->len);
		}
	}
	yajl_tree_free(root);
	return sum;
}

static void weights_add_up_to_the_models_totals(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model = make_run(script);
	uint64_t expected[EXPORT_WEIGHT_COUNT] = {0};
	const struct device_ledger *ledger = &model->devices[0].ledger;

	(void)state;
	for (size_t i = 0; i < model->op_count; i++) {
		const struct gpu_op *op = &model->ops[i];

		expected[EXPORT_GPU_TIME] += (uint64_t)(op->end_ns - op->begin_ns);
		if (op->type == GPU_OP_COPY)
			expected[EXPORT_BYTES] += model->transfers[op->detail].size_bytes;
	}
	for (size_t i = 0; i < model->call_count; i++) {
		if (model->calls[i].parent == MODEL_NONE)
			expected[EXPORT_HOST_TIME] +=
				(uint64_t)(model->calls[i].end_ns - model->calls[i].begin_ns);
	}
	for (size_t i = 0; i < ledger->charge_count; i++)
		expected[EXPORT_LOST_TIME] += (uint64_t)ledger->charges[i].idle_ns;
	expected[EXPORT_LOST_TIME] +=
		(uint64_t)((ledger->steady.part[LEDGER_COPY] + ledger->steady.part[LEDGER_COMM]) /
			   LEDGER_UNITS_PER_NS);
	for (int weight = 0; weight < EXPORT_WEIGHT_COUNT; weight++) {
		char *text = export_text("collapsed", model, (enum export_weight)weight);

		assert_true(expected[weight] > 0);
		assert_int_equal(sum_collapsed(text), expected[weight]);
		free(text);
		text = export_text("speedscope", model, (enum export_weight)weight);
		assert_int_equal(sum_speedscope(text), expected[weight]);
		free(text);
	}
	model_free(model);
	script_free(script);
}

static void stacks_read_from_the_outermost_frame_inwards(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model = make_run(script);
	char *text = export_text("collapsed", model, EXPORT_BYTES);

	(void)state;
	/* A separator and an end of line in names are written as what they are. */
	assert_string_equal(text, "[stack cut here];main (/app/train.py:3);"
				  "lo\\x3bad\\x0a (/app/da\\x3bta.py:2);aten::copy_;"
				  "cudaMemcpyAsync;[copy host to device] 67108864\n");
	free(text);
	text = export_text("collapsed", model, EXPORT_GPU_TIME);
	assert_non_null(strstr(text, "step (/app/train.py:3);[a thread that this line waits for];"
				     "hook (/app/hook.py:1);cudaLaunchKernel;axpy(float*, float*, "
				     "int) 2000000\n"));
	free(text);
	model_free(model);
	script_free(script);
}

static void traces_of_one_export_are_told_apart(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model = make_run(script);
	const struct model *models[2] = {model, model};
	struct export_job job = {models, 2, EXPORT_BYTES};
	char *text, *title = export_model_title(model);
	size_t length;
	FILE *to = open_memstream(&text, &length);

	(void)state;
	exports_find("collapsed")->write(&job, to);
	fclose(to);
	assert_int_equal(strncmp(text, title, strlen(title)), 0);
	assert_int_equal(sum_collapsed(text), 2 * 67108864);
	free(text);
	free(title);
	model_free(model);
	script_free(script);
}

/* Two kernels of a graph run at once on the stream that CUPTI names: both have to be there. */
static void overlapping_kernels_of_one_stream_are_on_two_tracks(void **state)
{
	static const char *events_path[] = {"traceEvents", NULL};
	static const char *name_path[] = {"name", NULL};
	static const char *phase_path[] = {"ph", NULL};
	static const char *track_path[] = {"tid", NULL};
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct script_call call = {.begin_ns = 1000, .end_ns = 6000, .thread = 1};
	long long tracks[3] = {-1, -1, -1};
	int slices = 0, arrows = 0;
	struct model *model;
	yajl_val root, events;
	char *text;

	(void)state;
	call.api = "cudaGraphLaunch";
	call.correlation = script_next_correlation(script);
	script_add_plain(script, &call);
	script_add_kernel(script, 0, "left", call.correlation, 10000, 50000);
	script_add_kernel(script, 0, "right", call.correlation, 20000, 60000);
	script_add_kernel(script, 0, "after", call.correlation, 61000, 62000);
	model = script_model(script);
	text = export_text("chrome", model, EXPORT_GPU_TIME);
	root = yajl_tree_parse(text, NULL, 0);
	assert_non_null(root);
	events = yajl_tree_get(root, events_path, yajl_t_array);
	for (size_t i = 0; i < YAJL_GET_ARRAY(events)->len; i++) {
		yajl_val event = YAJL_GET_ARRAY(events)->values[i];
		const char *name = YAJL_GET_STRING(yajl_tree_get(event, name_path, yajl_t_string));
		const char *phase =
			YAJL_GET_STRING(yajl_tree_get(event, phase_path, yajl_t_string));
		long long track = YAJL_GET_INTEGER(yajl_tree_get(event, track_path, yajl_t_number));

		arrows += *phase == 's' || *phase == 'f';
		if (*phase != 'X')
			continue;
		slices++;
		if (!strcmp(name, "left"))
			tracks[0] = track;
		else if (!strcmp(name, "right"))
			tracks[1] = track;
		else if (!strcmp(name, "after"))
			tracks[2] = track;
	}
	assert_int_equal(slices, 4);
	assert_int_equal(arrows, 6);
	assert_true(tracks[0] >= 0 && tracks[1] >= 0);
	assert_int_not_equal(tracks[0], tracks[1]);
	assert_int_equal(tracks[2], tracks[0]);
	yajl_tree_free(root);
	free(text);
	model_free(model);
	script_free(script);
}

static void names_of_exports_and_weights_are_found(void **state)
{
	enum export_weight weight;

	(void)state;
	assert_null(exports_find("flamegraph"));
	for (unsigned i = 0; i < exports_count(); i++)
		assert_ptr_equal(exports_find(exports_all[i]->name), exports_all[i]);
	assert_false(export_weight_find("time", &weight));
	assert_true(export_weight_find("lost_time", &weight));
	assert_int_equal(weight, EXPORT_LOST_TIME);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_add_up_to_the_models_totals),
		cmocka_unit_test(stacks_read_from_the_outermost_frame_inwards),
		cmocka_unit_test(traces_of_one_export_are_told_apart),
		cmocka_unit_test(overlapping_kernels_of_one_stream_are_on_two_tracks),
		cmocka_unit_test(names_of_exports_and_weights_are_found),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
