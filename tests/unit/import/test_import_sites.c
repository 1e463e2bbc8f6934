/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of the backward pass stand below their forward operator, by autograd's number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "import_fixture.h"

#define OPERATOR_OF(name, thread, ts, dur, seq, fwd)                                               \
	"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" name                                   \
	"\", \"pid\": 100, \"tid\": " thread ", \"ts\": " ts ", \"dur\": " dur                     \
	", \"args\": {\"Sequence number\": " seq ", \"Fwd thread id\": " fwd "}}"
#define PYTHON(name, thread, ts, dur)                                                              \
	"{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"" name                          \
	"\", \"pid\": 100, \"tid\": " thread ", \"ts\": " ts ", \"dur\": " dur ", \"args\": {}}"
#define LAUNCH_OF(thread, ts, correlation)                                                         \
	"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": "     \
	"100, "                                                                                    \
	"\"tid\": " thread ", \"ts\": " ts                                                         \
	", \"dur\": 2, \"args\": {\"correlation\": " correlation "}}"

#define FORWARD                                                                                    \
	PYTHON("train.py(12): forward", "1", "5", "60")                                            \
	"," OPERATOR_OF("aten::linear", "1", "10", "30", "7",                                      \
			"0") "," OPERATOR_OF("aten::addmm", "1", "15", "20", "7", "0")

/* The frames of the first launch as "type:name" words. */
static void frames_of_launch(const char *events, char out[1024])
{
	struct record_launch launch;
	struct imported in;
	const struct record_site *site;
	size_t used = 0;

	import_events(events, &in);
	assert_int_equal(in.rc, 0);
	assert_true(imported_record(&in, RECORD_KIND_launch, 0, &launch, NULL));
	site = trace_site(in.trace, launch.call.site);
	out[0] = '\0';
	for (uint32_t i = 0; site && i < site->frame_count; i++) {
		const struct site_frame *frame = &site->frames[i];
		const char *name = frame->type == FRAME_PYTHON
					   ? imported_name(&in, NAME_PYTHON, frame->value)
				   : frame->type == FRAME_OPERATOR
					   ? imported_name(&in, NAME_CLASS, frame->value)
					   : "";

		used += (size_t)snprintf(out + used, 1024 - used, "%s%u:%s", used ? " " : "",
					 frame->type, name);
	}
	imported_free(&in);
}

static void backward_operators_stand_below_their_forward_operator(void **state)
{
	char frames[1024];

	(void)state;
	frames_of_launch(FORWARD "," OPERATOR_OF(
				 "evaluate_function: AddmmBackward0", "2", "100", "50", "7",
				 "1") "," OPERATOR_OF("AddmmBackward0", "2", "105", "40", "7",
						      "1") "," OPERATOR_OF("aten::mm", "2", "110",
									   "20", "-1",
									   "0") "," LAUNCH_OF("2",
											      "112",
											      "1"),
			 frames);
	assert_string_equal(frames,
			    "4:aten::mm 4:AddmmBackward0 4:evaluate_function: AddmmBackward0 "
			    "6: 4:aten::addmm 4:aten::linear 2:forward\x1ftrain.py");
}

static void without_the_forward_operator_nothing_is_added(void **state)
{
	char frames[1024];

	(void)state;
	frames_of_launch(FORWARD "," OPERATOR_OF("AddmmBackward0", "2", "100", "50", "8",
						 "1") "," LAUNCH_OF("2", "112", "1"),
			 frames);
	assert_string_equal(frames, "4:AddmmBackward0");
}

static void a_number_that_two_threads_used_tells_nothing(void **state)
{
	char frames[1024];

	(void)state;
	frames_of_launch(FORWARD
			 "," OPERATOR_OF("aten::mul", "3", "15", "20", "7", "0") "," OPERATOR_OF(
				 "AddmmBackward0", "2", "100", "50", "7",
				 "1") "," LAUNCH_OF("2", "112", "1"),
			 frames);
	assert_string_equal(frames, "4:AddmmBackward0");
}

static void a_forward_operator_that_begins_later_is_another(void **state)
{
	char frames[1024];

	(void)state;
	frames_of_launch(OPERATOR_OF("AddmmBackward0", "2", "1", "2", "7",
				     "1") "," LAUNCH_OF("2", "1", "1") "," FORWARD,
			 frames);
	assert_string_equal(frames, "4:AddmmBackward0");
}

static void a_gradient_of_a_gradient_goes_one_step_back(void **state)
{
	char frames[1024];

	(void)state;
	/* What is forward for the second backward pass ran within the first one. */
	frames_of_launch(
		FORWARD
		"," OPERATOR_OF("AddmmBackward0", "2", "100", "50", "7", "1") "," OPERATOR_OF(
			"aten::mm", "2", "110", "20", "9",
			"0") "," OPERATOR_OF("MmBackward0", "2", "200", "50", "9",
					     "1") "," LAUNCH_OF("2", "212", "1"),
		frames);
	assert_string_equal(frames, "4:MmBackward0");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(backward_operators_stand_below_their_forward_operator),
		cmocka_unit_test(without_the_forward_operator_nothing_is_added),
		cmocka_unit_test(a_number_that_two_threads_used_tells_nothing),
		cmocka_unit_test(a_forward_operator_that_begins_later_is_another),
		cmocka_unit_test(a_gradient_of_a_gradient_goes_one_step_back),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
