/* SPDX-License-Identifier: Apache-2.0 */
/* The pickle reader: every plain opcode, everything else refused by name, damage of any kind. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data_tree.h"
#include "error.h"

/* Strings with NUL bytes: a macro, so that sizeof sees them. */
#define PICKLE(text) text, sizeof(text) - 1

struct read {
	struct data_tree *tree;
	struct data_value *root;
	struct error err;
	int rc;
};

static struct read read_pickle(const char *bytes, size_t count)
{
	struct read r = {.tree = data_tree_new()};
	r.rc = pickle_read(bytes, count, r.tree, &r.root, &r.err);
	return r;
}

static void expect_integer(const char *bytes, size_t count, int64_t expected)
{
	struct read r = read_pickle(bytes, count);
	if (r.rc || r.root->type != DATA_INTEGER || r.root->integer != expected)
		fail_msg("rc %d (%s), not %lld", r.rc, r.err.text, (long long)expected);
	data_tree_free(r.tree);
}

static void integers_are_read_in_every_spelling(void **state)
{
	(void)state;
	expect_integer(PICKLE("\x80\x04K\xff."), 255);
	expect_integer(PICKLE("\x80\x04M\x34\x12."), 0x1234);
	expect_integer(PICKLE("\x80\x04J\xfe\xff\xff\xff."), -2);
	expect_integer(PICKLE("\x80\x04\x8a\x00."), 0);
	expect_integer(PICKLE("\x80\x04\x8a\x01\xff."), -1);
	expect_integer(PICKLE("\x80\x04\x8a\x06\x00\x00\x00\x00\x00\x7f."), 0x7f0000000000);
	expect_integer(PICKLE("\x80\x04\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f."), INT64_MAX);
	expect_integer(PICKLE("\x80\x04\x8b\x02\x00\x00\x00\x00\x01."), 256);
	expect_integer(PICKLE("I-17\n."), -17);
	expect_integer(PICKLE("L99L\n."), 99);
}

static void integers_beyond_64_bits_are_none(void **state)
{
	(void)state;
	struct read r =
		read_pickle(PICKLE("\x80\x04\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00."));
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.root->type, DATA_NONE);
	data_tree_free(r.tree);
}

static void other_scalars_are_read(void **state)
{
	(void)state;
	struct read r =
		read_pickle(PICKLE("\x80\x04]\x94(N\x88\x89G\x3f\xf8\x00\x00\x00\x00\x00\x00"
				   "\x8c\x02hiX\x03\x00\x00\x00"
				   "abcF2.5\nI01\nVuni\nS'str'\ne."));
	assert_int_equal(r.rc, 0);
	assert_int_equal(data_count(r.root), 10);
	assert_int_equal(data_item(r.root, 0)->type, DATA_NONE);
	assert_int_equal(data_integer(data_item(r.root, 1), -1), 1);
	assert_int_equal(data_item(r.root, 2)->type, DATA_BOOL);
	assert_true(data_item(r.root, 3)->number == 1.5);
	assert_true(data_is_text(data_item(r.root, 4), "hi"));
	assert_true(data_is_text(data_item(r.root, 5), "abc"));
	assert_true(data_item(r.root, 6)->number == 2.5);
	assert_int_equal(data_item(r.root, 7)->type, DATA_BOOL);
	assert_true(data_is_text(data_item(r.root, 8), "uni"));
	assert_true(data_is_text(data_item(r.root, 9), "str"));
	data_tree_free(r.tree);
}

static void containers_are_built_and_shared(void **state)
{
	(void)state;
	/* {"a": [1, (2,)], "b": the same list} with memo */
	struct read r = read_pickle(PICKLE("\x80\x04}\x94(\x8c\x01"
					   "a]\x94(K\x01K\x02\x85"
					   "e\x8c\x01"
					   "bh\x01u."));
	assert_int_equal(r.rc, 0);
	const struct data_value *a = data_member(r.root, "a");
	assert_int_equal(data_count(a), 2);
	assert_int_equal(data_count(data_item(a, 1)), 1);
	assert_ptr_equal(data_member(r.root, "b"), a);
	assert_null(data_member(r.root, "c"));
	assert_null(data_member(a, "a"));
	data_tree_free(r.tree);

	/* protocol 0: marks, dictionaries and PUT/GET as text */
	r = read_pickle(PICKLE("(dp0\nS'k'\np1\n(lp2\nI1\naI2\nas."));
	assert_int_equal(r.rc, 0);
	assert_int_equal(data_count(data_member(r.root, "k")), 2);
	data_tree_free(r.tree);
}

static void a_list_may_hold_itself(void **state)
{
	(void)state;
	struct read r = read_pickle(PICKLE("\x80\x04]\x94h\x00"
					   "a."));
	assert_int_equal(r.rc, 0);
	assert_ptr_equal(data_item(r.root, 0), r.root);
	data_tree_free(r.tree);
}

static void code_is_refused_by_name(void **state)
{
	static const struct {
		const char *bytes;
		size_t count;
		const char *name;
	} rows[] = {
		{PICKLE("cos\nsystem\n(S'true'\ntR."), "GLOBAL"},
		{PICKLE("\x80\x04\x8c\x02os\x8c\x06system\x93."), "STACK_GLOBAL"},
		{PICKLE("\x80\x04N)R."), "REDUCE"},
		{PICKLE("\x80\x04N}b."), "BUILD"},
		{PICKLE("(ios\nsystem\n."), "INST"},
		{PICKLE("(No."), "OBJ"},
		{PICKLE("\x80\x04N)\x81."), "NEWOBJ"},
		{PICKLE("\x80\x04N)}\x92."), "NEWOBJ_EX"},
		{PICKLE("\x80\x04\x82\x01."), "EXT1"},
		{PICKLE("\x80\x04\x83\x01\x00."), "EXT2"},
		{PICKLE("\x80\x04\x84\x01\x00\x00\x00."), "EXT4"},
		{PICKLE("Pid\n."), "PERSID"},
		{PICKLE("\x80\x04NQ."), "BINPERSID"},
		{PICKLE("\x80\x05\x97."), "NEXT_BUFFER"},
		{PICKLE("\x80\x05N\x98."), "READONLY_BUFFER"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct read r = read_pickle(rows[i].bytes, rows[i].count);
		char expected[64];
		snprintf(expected, sizeof(expected), "opcode %s at byte", rows[i].name);
		if (r.rc != -EINVAL || !strstr(r.err.text, expected) || r.root)
			fail_msg("%s: rc %d, \"%s\"", rows[i].name, r.rc, r.err.text);
		data_tree_free(r.tree);
	}
}

static void damage_is_an_error_with_its_place(void **state)
{
	static const struct {
		const char *bytes;
		size_t count;
		const char *reason;
	} rows[] = {
		{PICKLE(""), "cut short"},
		{PICKLE("\x80"), "ends inside an argument"},
		{PICKLE("\x80\x06N."), "newer than 5"},
		{PICKLE("\x80\x04N"), "cut short"},
		{PICKLE("."), "nothing on the stack"},
		{PICKLE("0."), "the stack is empty"},
		{PICKLE("1."), "no mark"},
		{PICKLE("2."), "the stack is empty"},
		{PICKLE("Na."), "the stack is too short"},
		{PICKLE("NNa."), "holds none"},
		{PICKLE("}Na."), "holds none"},
		{PICKLE("]NNs."), "holds none"},
		{PICKLE("}(Nu."), "a key has no value"},
		{PICKLE("]e."), "no mark"},
		{PICKLE("(NNN\x86."), NULL},
		{PICKLE("N(\x85."), "the stack is too short"},
		{PICKLE("N(a."), "the stack is too short"},
		{PICKLE("h\x00."), "never set"},
		{PICKLE("Nq\x05h\x04."), "never set"},
		{PICKLE("\x94."), "nothing to remember"},
		{PICKLE("Nr\xff\xff\xff\xff."), "out of range"},
		{PICKLE("X\xff\xff\xff\xff"
			"abc."),
		 "longer than the file"},
		{PICKLE("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
			"abc."),
		 "longer than the file"},
		{PICKLE("\x8b\xff\xff\xff\x7f."), "longer than the file"},
		{PICKLE("I12"), "ends inside a line"},
		{PICKLE("gx\n."), "no number"},
		{PICKLE("\xff."), "unknown opcode"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct read r = read_pickle(rows[i].bytes, rows[i].count);
		if (rows[i].reason ? !r.rc || !strstr(r.err.text, rows[i].reason) : r.rc)
			fail_msg("row %zu: rc %d, \"%s\"", i, r.rc, r.err.text);
		data_tree_free(r.tree);
	}
}

static void every_cut_and_flip_is_survived(void **state)
{
	static const char whole[] = "\x80\x04\x95\x20\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01"
				    "a]\x94(K\x01K\x02\x85"
				    "e\x8c\x01"
				    "bh\x01\x8c\x01"
				    "cG\x3f\xf8\x00\x00\x00\x00\x00\x00u.";
	(void)state;
	for (size_t cut = 0; cut < sizeof(whole) - 1; cut++) {
		struct read r = read_pickle(whole, cut);
		assert_int_not_equal(r.rc, 0);
		data_tree_free(r.tree);
	}
	for (size_t at = 0; at < sizeof(whole) - 1; at++) {
		for (int value = 0; value < 256; value++) {
			char copy[sizeof(whole)];
			memcpy(copy, whole, sizeof(whole));
			copy[at] = (char)value;
			struct read r = read_pickle(copy, sizeof(whole) - 1);
			assert_true(r.rc == 0 || r.err.text[0]);
			data_tree_free(r.tree);
		}
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_read_in_every_spelling),
		cmocka_unit_test(integers_beyond_64_bits_are_none),
		cmocka_unit_test(other_scalars_are_read),
		cmocka_unit_test(containers_are_built_and_shared),
		cmocka_unit_test(a_list_may_hold_itself),
		cmocka_unit_test(code_is_refused_by_name),
		cmocka_unit_test(damage_is_an_error_with_its_place),
		cmocka_unit_test(every_cut_and_flip_is_survived),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
