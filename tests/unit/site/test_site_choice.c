// SPDX-License-Identifier: Apache-2.0
/* The user frame rule of viewer/model/site_choice.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "site_choice.h"

static void libraries_are_told_from_the_users_files(void **state)
{
	static const char *const library[] = {
		"/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py",
		"/usr/lib/python3/dist-packages/numpy/core.py",
		"/usr/lib/python3.11/threading.py",
		"/opt/conda/lib/python3.13t/importlib/__init__.py",
		"/usr/lib64/python3.9/contextlib.py",
		"/src/pytorch/torch/nn/functional.py",
		"/src/pytorch/torch/_tensor.py",
		"torch/_jit_internal.py",
		"<frozen importlib._bootstrap>",
		"<frozen runpy>",
		"<eval_with_key>.12",
	};
	static const char *const user[] = {
		"/data/me/train.py",
		"train.py",
		"/data/me/torch/train.py",
		"/data/torch/train/loop.py",
		"/data/my-site-packages/x.py",
		"/data/lib/python3.11-project/x.py",
		"/data/lib/python/x.py",
		"<stdin>",
		"<string>",
		"<ipython-input-3-abc>",
		"/tmp/ipykernel_77/123.py",
		"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(library) / sizeof(library[0]); i++) {
		if (!site_choice_is_library(library[i]))
			fail_msg("%s", library[i]);
	}
	for (size_t i = 0; i < sizeof(user) / sizeof(user[0]); i++) {
		if (site_choice_is_library(user[i]))
			fail_msg("%s", user[i]);
	}
}

static const char *name(void *context, uint64_t number)
{
	static const char *const names[] = {
		NULL,
		"forward\x1f/v/lib/python3.11/site-packages/torch/nn/modules/linear.py",
		"step\x1f/data/train.py",
		"main\x1f/data/main.py",
		"run\x1f<frozen runpy>",
		"no separator",
	};

	(void)context;
	return number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}

static struct record_site *make(const struct site_frame *frames, uint32_t count)
{
	static uint64_t memory[64];
	struct record_site *site = (struct record_site *)memory;

	site->frame_count = count;
	for (uint32_t i = 0; i < count; i++)
		site->frames[i] = frames[i];
	return site;
}

static void the_innermost_user_frame_is_chosen(void **state)
{
	const struct site_frame frames[] = {{FRAME_NATIVE, 0, 0x1234}, {FRAME_PYTHON, 9, 1},
					    {FRAME_PYTHON, 41, 2},     {FRAME_PYTHON, 7, 3},
					    {FRAME_PYTHON, 1, 4},      {FRAME_TRUNCATED, 0, 0}};
	uint32_t index = 99;
	bool is_user = false;

	(void)state;
	assert_true(site_choice_python(make(frames, 6), name, NULL, &index, &is_user));
	assert_int_equal(index, 2);
	assert_true(is_user);
	assert_false(site_choice_is_waiting(make(frames, 6)));
}

static void a_library_frame_is_better_than_none(void **state)
{
	const struct site_frame frames[] = {
		{FRAME_WAITING, 0, 0}, {FRAME_PYTHON, 9, 1}, {FRAME_PYTHON, 1, 4}};
	uint32_t index = 99;
	bool is_user = true;

	(void)state;
	assert_true(site_choice_python(make(frames, 3), name, NULL, &index, &is_user));
	assert_int_equal(index, 1);
	assert_false(is_user);
	assert_true(site_choice_is_waiting(make(frames, 3)));
}

static void native_and_unnamed_frames_give_no_python_frame(void **state)
{
	const struct site_frame frames[] = {
		{FRAME_NATIVE, 0, 2}, {FRAME_PYTHON, 1, 5}, {FRAME_PYTHON, 1, 77}};
	uint32_t index;
	bool is_user;

	(void)state;
	assert_false(site_choice_python(make(frames, 3), name, NULL, &index, &is_user));
}

static enum site_frame_owner owner(void *context, uint64_t address)
{
	static const enum site_frame_owner owners[] = {SITE_FRAME_UNKNOWN, SITE_FRAME_LIBRARY,
						       SITE_FRAME_LIBRARY, SITE_FRAME_USER};

	(void)context;
	return owners[address];
}

static void native_code_of_libraries_is_told_from_the_users(void **state)
{
	(void)state;
	assert_true(site_choice_is_library_module("/usr/lib/libcudart.so.13"));
	assert_true(site_choice_is_library_module("/x/site-packages/torch/lib/libtorch_cpu.so"));
	assert_true(site_choice_is_library_module("/usr/bin/python3.11"));
	assert_true(site_choice_is_interpreter_module("/usr/bin/python3.13t"));
	assert_true(site_choice_is_interpreter_module("/usr/lib/libpython3.11.so.1.0"));
	assert_true(site_choice_is_interpreter_module(
		"/usr/lib/python3.11/lib-dynload/_ctypes.cpython-311-x86_64-linux-gnu.so"));
	assert_false(site_choice_is_interpreter_module("/srv/job/python_engine"));
	assert_false(site_choice_is_library_module("/srv/job/engine.so"));
	assert_true(site_choice_is_library_code("__device_stub__Z4axpyPf", NULL));
	assert_true(site_choice_is_library_code(
		"f", "/opt/cuda/targets/x86_64-linux/include/crt/device_functions.h"));
	assert_true(site_choice_is_library_code("f", "/usr/include/c++/12/bits/stl_vector.h"));
	assert_true(site_choice_is_library_code("f", "/usr/include/string.h"));
	assert_false(site_choice_is_library_code("f", "/srv/job/include/engine.h"));
	assert_false(site_choice_is_library_code(NULL, NULL));
}

static void the_innermost_native_frame_of_the_user_is_chosen(void **state)
{
	const struct site_frame frames[] = {{FRAME_NATIVE, 0, 1},
					    {FRAME_NATIVE, 0, 0},
					    {FRAME_NATIVE, 0, 2},
					    {FRAME_NATIVE, 0, 3},
					    {FRAME_NATIVE, 0, 3}};
	uint32_t index = 99;

	(void)state;
	assert_true(site_choice_native(make(frames, 5), owner, NULL, &index));
	assert_int_equal(index, 3);
	assert_true(site_choice_native(make(frames, 3), owner, NULL, &index));
	assert_int_equal(index, 0);
	assert_false(site_choice_native(make(frames + 1, 1), owner, NULL, &index));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libraries_are_told_from_the_users_files),
		cmocka_unit_test(the_innermost_user_frame_is_chosen),
		cmocka_unit_test(a_library_frame_is_better_than_none),
		cmocka_unit_test(native_code_of_libraries_is_told_from_the_users),
		cmocka_unit_test(the_innermost_native_frame_of_the_user_is_chosen),
		cmocka_unit_test(native_and_unnamed_frames_give_no_python_frame),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
