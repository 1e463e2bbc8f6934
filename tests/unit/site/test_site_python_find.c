// SPDX-License-Identifier: Apache-2.0
/*
 * Which interpreters are walked: each case loads a libpython that says something of itself into a
 * process of its own, and asks for the reason that a report will show.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "site_python.h"
#include "site_python_internal.h"

/* The words of 3.13 and 3.14 that are read, as those versions fill them. */
#define TABLE_13                                                                                   \
	"1=0x030d00f0,23=72,29=8,30=0,31=56,33=70,35=112,37=128,38=136,39=68,43=200,45=8,65=16,"   \
	"66=32,68=32,69=16,70=40"
#define TABLE_14                                                                                   \
	"1=0x030e09f0,26=72,32=8,33=0,34=56,36=74,40=112,42=128,43=136,44=68,48=208,51=8,75=16,"   \
	"76=32,78=32,79=16,80=40"

/* What is said of an interpreter; "" when nothing speaks against it. */
static void reason_of(const char *version, const char *table, char reason[128])
{
	int pipes[2];
	int status;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct python_runtime runtime;
		const char *why;
		bool found;

		setenv("FAKE_PYTHON_VERSION", version, 1);
		setenv("FAKE_PYTHON_TABLE", table, 1);
		if (!dlopen(FAKE_PYTHON, RTLD_NOW | RTLD_LOCAL))
			_exit(2);
		why = python_runtime_find(&runtime, &found);
		if (!found || (why && write(pipes[1], why, strlen(why)) < 0))
			_exit(3);
		_exit(why || python_walk_pick(&runtime.layout) == runtime.walk_direct ? 0 : 4);
	}
	close(pipes[1]);
	reason[0] = '\0';
	ssize_t size = read(pipes[0], reason, 127);
	reason[size > 0 ? size : 0] = '\0';
	close(pipes[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void expect(const char *version, const char *table, const char *expected)
{
	char reason[128];

	reason_of(version, table, reason);
	assert_string_equal(reason, expected);
}

static void versions_with_a_layout_are_walked(void **state)
{
	(void)state;
	expect("3.8.0 (default, Oct 2019)", "", "");
	expect("3.12.7 (main)", "", "");
	expect("3.13.0 (main)", TABLE_13, "");
	expect("3.14.9 (main)", TABLE_14, "");
}

static void other_versions_are_named_as_unsupported(void **state)
{
	static const char *const reason =
		"this version of Python is not supported (3.8 to 3.14 are)";

	(void)state;
	expect("2.7.18 (default)", "", reason);
	expect("3.7.16 (default)", "", reason);
	expect("3.15.0a1 (main)", TABLE_14, reason);
	expect("4.0.0", TABLE_14, reason);
	expect("nonsense", "", reason);
	expect("", "", reason);
}

static void pypy_and_free_threaded_builds_are_named(void **state)
{
	(void)state;
	expect("3.9.18 (7.3.15, Jan 2024)\n[PyPy 7.3.15 with GCC 10.2.1]", "",
	       "PyPy is not supported");
	expect("3.14.9 free-threading build (main)", TABLE_14,
	       "free-threaded Python is not supported");
	/* Whatever the text says: the table says it as well. */
	expect("3.14.9 (main)", TABLE_14 ",2=1", "free-threaded Python is not supported");
}

static void a_table_of_another_version_is_not_believed(void **state)
{
	static const char *const reason =
		"the interpreter's own table of offsets is not that of its version";

	(void)state;
	expect("3.13.0 (main)", TABLE_14, reason);
	expect("3.14.0 (main)", TABLE_13, reason);
	expect("3.14.0 (main)", TABLE_14 ",0=1", reason);
}

static void a_table_with_other_objects_is_not_believed(void **state)
{
	static const char *const reason =
		"the interpreter describes objects that are not those of its version";

	(void)state;
	expect("3.14.0 (main)", TABLE_14 ",76=40", reason);
	expect("3.13.0 (main)", TABLE_13 ",45=16", reason);
	expect("3.14.0 (main)", TABLE_14 ",26=70000", reason);
	expect("3.14.0 (main)", TABLE_14 ",48=8", reason);
}

static void offsets_come_from_the_interpreters_own_table(void **state)
{
	struct python_layout layout = *python_layout_find(0x030e);
	uint64_t table[128] = {0};
	struct python_runtime runtime = {0};

	(void)state;
	memcpy(table, "xdebugpy", 8);
	table[1] = 0x030e00f0;
	table[51] = 8, table[75] = 16, table[76] = 32, table[78] = 32, table[79] = 16;
	table[26] = 80, table[32] = 16, table[33] = 8, table[34] = 64, table[36] = 90;
	table[40] = 120, table[42] = 136, table[43] = 144, table[44] = 76, table[48] = 216;
	table[80] = 40;
	assert_null(python_layout_adopt(&layout, table));
	assert_int_equal(layout.thread_frame, 80);
	assert_int_equal(layout.frame_owner, 90);
	assert_int_equal(layout.code_bytes, 216);
	assert_int_equal(layout.code_started, 200);
	assert_int_equal(layout.code_version, 100);
	/* Such an interpreter is walked by what it says, not by its version's row. */
	runtime.layout = layout;
	assert_ptr_not_equal(python_walk_pick(&runtime.layout),
			     python_walk_pick(python_layout_find(0x030e)));
}

static void an_interpreter_without_its_table_is_not_walked(void **state)
{
	struct python_layout layout = *python_layout_find(0x030d);

	(void)state;
	assert_string_equal(python_layout_adopt(&layout, NULL),
			    "the interpreter does not export its own table of offsets");
	layout = *python_layout_find(0x030c);
	assert_null(python_layout_adopt(&layout, NULL));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_with_a_layout_are_walked),
		cmocka_unit_test(other_versions_are_named_as_unsupported),
		cmocka_unit_test(pypy_and_free_threaded_builds_are_named),
		cmocka_unit_test(a_table_of_another_version_is_not_believed),
		cmocka_unit_test(a_table_with_other_objects_is_not_believed),
		cmocka_unit_test(offsets_come_from_the_interpreters_own_table),
		cmocka_unit_test(an_interpreter_without_its_table_is_not_walked),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
