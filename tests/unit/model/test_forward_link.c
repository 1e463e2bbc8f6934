/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls within PyTorch's backward ranges get the line of the forward range with the same number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model_script.h"
#include "site_choice.h"

#define US    1000
#define LAYER "forward\x1f/home/me/model.py"
#define LOSS  "backward\x1f/x/site-packages/torch/_tensor.py"

/* One launch at a time, from a site. */
static void launch(struct script *script, int64_t at_us, uint64_t site)
{
	struct script_call call = {.begin_ns = at_us * US,
				   .end_ns = at_us * US + 500,
				   .thread = 1,
				   .api = "cudaLaunchKernel",
				   .site = site};

	script_add_launch(script, &call, "kernel");
}

static struct script *two_passes(void)
{
	static const char *const waiting[] = {"^", LOSS};
	struct script *script = script_new(NULL, 0, 0, 0);

	script_add_site(script, 1, LAYER);
	script_add_stack(script, 2, waiting, 2);
	return script;
}

/* The frames of the call that begins then, behind what tells the passes apart; NULL: only one. */
static const struct site_frame *forward_frames(const struct model *model, int64_t at_us)
{
	for (size_t i = 0; i < model->call_count; i++) {
		const struct record_site *site = model->sites[model->calls[i].site].record;

		if (model->calls[i].begin_ns != at_us * US || !site)
			continue;
		return site_choice_forward(site) < site->frame_count
			       ? &site->frames[site_choice_forward(site)]
			       : NULL;
	}
	return NULL;
}

static void backward_calls_get_the_line_of_their_number(void **state)
{
	struct script *script = two_passes();
	struct model *model;

	(void)state;
	script_add_mark(script, "aten::linear, seq = 7, op_id = 3", 10 * US, 30 * US);
	script_add_mark(script, "aten::addmm, seq = 7", 12 * US, 28 * US);
	launch(script, 20, 1);
	script_add_mark(script, "autograd::engine::evaluate_function: AddmmBackward0, seq = 7",
			100 * US, 150 * US);
	script_add_mark(script, "AddmmBackward0, seq = 7", 105 * US, 145 * US);
	launch(script, 110, 2);
	launch(script, 120, 0);
	model = script_model(script);
	assert_null(forward_frames(model, 20));
	assert_non_null(forward_frames(model, 110));
	assert_int_equal(forward_frames(model, 110)->type, FRAME_PYTHON);
	assert_int_equal(forward_frames(model, 110)->line, 1);
	/* Also where nothing is known of the call itself. */
	assert_non_null(forward_frames(model, 120));
	model_free(model);
	script_free(script);
}

static void other_numbers_times_and_texts_link_nothing(void **state)
{
	struct script *script = two_passes();
	struct model *model;

	(void)state;
	script_add_mark(script, "aten::addmm, seq = 7", 10 * US, 30 * US);
	launch(script, 20, 1);
	script_add_mark(script, "AddmmBackward0, seq = 8", 100 * US, 150 * US);
	launch(script, 110, 2);
	launch(script, 160, 2); /* behind every range */
	script_add_mark(script, "AddmmBackward0", 200 * US, 250 * US);
	launch(script, 210, 2);
	script_add_mark(script, "AddmmBackward0, seq = x", 300 * US, 350 * US);
	launch(script, 310, 2);
	model = script_model(script);
	for (int64_t at = 110; at <= 310; at += 50)
		assert_null(forward_frames(model, at));
	model_free(model);
	script_free(script);
}

static void a_forward_range_without_a_line_links_nothing(void **state)
{
	struct script *script = two_passes();
	struct model *model;

	(void)state;
	script_add_mark(script, "aten::addmm, seq = 7", 10 * US, 30 * US);
	launch(script, 20, 0);
	launch(script, 40, 1); /* too late */
	script_add_mark(script, "AddmmBackward0, seq = 7", 100 * US, 150 * US);
	launch(script, 110, 2);
	model = script_model(script);
	assert_null(forward_frames(model, 110));
	model_free(model);
	script_free(script);
}

static void a_number_that_comes_again_means_its_last_forward_range(void **state)
{
	struct script *script = two_passes();
	struct model *model;

	(void)state;
	script_add_site(script, 3, "other\x1f/home/me/model.py");
	script_add_mark(script, "aten::view, seq = 7", 10 * US, 30 * US);
	launch(script, 20, 3);
	script_add_mark(script, "aten::addmm, seq = 7", 40 * US, 60 * US);
	launch(script, 50, 1);
	script_add_mark(script, "AddmmBackward0, seq = 7", 100 * US, 150 * US);
	launch(script, 110, 2);
	model = script_model(script);
	assert_non_null(forward_frames(model, 110));
	assert_string_equal(model->source.name(model->source.context, NAME_PYTHON,
					       forward_frames(model, 110)->value),
			    LAYER);
	model_free(model);
	script_free(script);
}

static void the_backward_pass_is_a_phase_and_its_forward_frames_are_not(void **state)
{
	static const struct site_frame frames[] = {{FRAME_FORWARD, 0, 0}, {FRAME_PYTHON, 1, 1}};
	char space[sizeof(struct record_site) + sizeof(frames)] = {0};
	struct record_site *site = (struct record_site *)space;

	(void)state;
	site->frame_count = 2;
	memcpy(site->frames, frames, sizeof(frames));
	assert_int_equal(phase_of_site(site, NULL, NULL), PHASE_BACKWARD);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(backward_calls_get_the_line_of_their_number),
		cmocka_unit_test(other_numbers_times_and_texts_link_nothing),
		cmocka_unit_test(a_forward_range_without_a_line_links_nothing),
		cmocka_unit_test(a_number_that_comes_again_means_its_last_forward_range),
		cmocka_unit_test(the_backward_pass_is_a_phase_and_its_forward_frames_are_not),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
