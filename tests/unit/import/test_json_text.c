/* SPDX-License-Identifier: Apache-2.0 */
/* Scanner of JSON text: exact times, odd escapes, text that ends anywhere. */
#include "json_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "text.h"

static struct json_slice slice_of(const char *text)
{
	return (struct json_slice){text, strlen(text), false, strchr(text, '\\') != NULL};
}

static void times_are_exact_nanoseconds(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {
		{"1712195495506161.288", 1712195495506161288},
		{"4458676522690.655", 4458676522690655},
		{"0", 0},
		{"-1.5", -1500},
		{"0.0005", 1},
		{"0.0004999", 0},
		{"1e3", 1000000},
		{"1.7e15", 1700000000000000000},
		{"12.50E-1", 1250},
		{"1E-30", 0},
		{"9223372036854775.807", INT64_MAX},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_slice slice = slice_of(rows[i].text);
		int64_t ns = -1;
		if (!json_to_ns(&slice, &ns) || ns != rows[i].ns)
			fail_msg("%s became %lld", rows[i].text, (long long)ns);
	}
}

static void what_is_no_number_is_refused(void **state)
{
	static const char *const rows[] = {"NaN",
					   "Infinity",
					   "-Infinity",
					   "",
					   "-",
					   "1.2.3",
					   "0x10",
					   "1e",
					   "1e+",
					   "true",
					   "null",
					   "12a",
					   "1e99",
					   "9223372036854775.808",
					   "99999999999999999999999",
					   "."};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_slice slice = slice_of(rows[i]);
		int64_t ns;
		if (json_to_ns(&slice, &ns))
			fail_msg("%s was taken for a time", rows[i]);
	}
}

static void numbers_keep_64_bits(void **state)
{
	struct json_slice most = slice_of("18446744073709551615"),
			  more = slice_of("18446744073709551616"),
			  least = slice_of("-9223372036854775807");
	uint64_t big;
	int64_t small;
	(void)state;
	assert_true(json_to_uint(&most, &big));
	assert_true(big == UINT64_MAX);
	assert_false(json_to_uint(&more, &big));
	assert_true(json_to_int(&least, &small));
	assert_true(small == -INT64_MAX);
	assert_false(json_to_int(&most, &small));
}

static void escapes_become_characters(void **state)
{
	static const struct {
		const char *raw, *plain;
		unsigned odd;
	} rows[] = {
		{"a\\\"b\\\\c\\/d", "a\"b\\c/d", 0},
		{"\\b\\f\\n\\r\\t", "\b\f\n\r\t", 0},
		{"\\u00e9\\u20ac", "\xc3\xa9\xe2\x82\xac", 0},
		{"\\ud83d\\ude00", "\xf0\x9f\x98\x80", 0},
		{"\\ud83d!", "\xef\xbf\xbd!", 1},
		{"\\ude00", "\xef\xbf\xbd", 1},
		{"\\u0000", "\xef\xbf\xbd", 1},
		{"C:\\Windows", "C:\\Windows", 1},
		{"\\u12", "\\u12", 1},
		{"\\uzzzz", "\\uzzzz", 1},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_slice slice = slice_of(rows[i].raw);
		struct text text;
		text_init(&text);
		assert_int_equal(json_unescape(&slice, &text), rows[i].odd);
		assert_string_equal(text_string(&text), rows[i].plain);
		text_fini(&text);
	}
}

static void every_cut_asks_for_more(void **state)
{
	static const char whole[] =
		"{\"a\\\\\\\"b\": [1, {\"c\": \"}]\"}, null], \"d\": {\"e\": -1.5e3}} ";
	size_t length = sizeof(whole) - 2; /* without the last space */
	(void)state;
	for (size_t cut = 0; cut < length; cut++) {
		struct json_cursor cursor = {whole, whole + cut};
		assert_int_equal(json_value(&cursor, NULL), JSON_MORE);
	}
	struct json_cursor cursor = {whole, whole + length};
	assert_int_equal(json_value(&cursor, NULL), JSON_OK);
	assert_ptr_equal(cursor.at, whole + length);
}

static void long_strings_end_at_the_right_quote(void **state)
{
	char raw[4096];
	(void)state;
	for (size_t length = 0; length < 200; length++) {
		for (int backslashes = 0; backslashes < 4; backslashes++) {
			memset(raw, 'x', sizeof(raw));
			raw[0] = '"';
			memset(raw + 1 + length, '\\', (size_t)backslashes);
			raw[1 + length + (size_t)backslashes] = '"';
			raw[300] = '"';
			struct json_cursor cursor = {raw, raw + 400};
			struct json_slice slice;
			assert_int_equal(json_string(&cursor, &slice), JSON_OK);
			size_t expected = backslashes % 2 ? 299 : length + (size_t)backslashes;
			assert_int_equal(slice.length, expected);
		}
	}
}

static void members_are_walked_in_order(void **state)
{
	static const char object[] = " { \"one\" : 1 , \"two\":[2], \"three\" : \"3\" , } rest";
	struct json_cursor cursor = {object, object + sizeof(object) - 1};
	struct json_slice key, value;
	bool is_first = true, done = false;
	(void)state;
	const char *const keys[] = {"one", "two", "three"};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(json_member(&cursor, &is_first, &key, &done), JSON_OK);
		assert_false(done);
		assert_true(json_is(&key, keys[i]));
		assert_int_equal(json_value(&cursor, &value), JSON_OK);
	}
	assert_int_equal(json_member(&cursor, &is_first, &key, &done), JSON_OK);
	assert_true(done);
	assert_string_equal(cursor.at, " rest");
}

static void broken_objects_are_bad_not_more(void **state)
{
	static const char *const rows[] = {"[1]", "{1: 2}", "{\"a\" 1}", "{\"a\": 1 \"b\": 2}",
					   "x"};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_cursor cursor = {rows[i], rows[i] + strlen(rows[i])};
		struct json_slice key;
		bool is_first = true, done = false;
		enum json_result rc;
		while ((rc = json_member(&cursor, &is_first, &key, &done)) == JSON_OK && !done)
			assert_int_equal(json_value(&cursor, NULL), JSON_OK);
		assert_int_equal(rc, JSON_BAD);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_exact_nanoseconds),
		cmocka_unit_test(what_is_no_number_is_refused),
		cmocka_unit_test(numbers_keep_64_bits),
		cmocka_unit_test(escapes_become_characters),
		cmocka_unit_test(every_cut_asks_for_more),
		cmocka_unit_test(long_strings_end_at_the_right_quote),
		cmocka_unit_test(members_are_walked_in_order),
		cmocka_unit_test(broken_objects_are_bad_not_more),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
