/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a trace holds, what is printed is valid UTF-8 without control characters.
 */
#include "unit_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "printable.h"

static void assert_printable(const char *bytes, const char *expected)
{
	struct text text;

	text_init(&text);
	text_add_printable(&text, bytes);
	assert_string_equal(text_string(&text), expected);
	text_fini(&text);
}

static void good_text_stays_as_it_is(void **state)
{
	(void)state;
	assert_printable("kernel<float>(int*)", "kernel<float>(int*)");
	assert_printable("Schrödinger 猫 \xf0\x9f\x90\x88", "Schrödinger 猫 \xf0\x9f\x90\x88");
	assert_printable("", "");
	assert_printable(NULL, "");
}

static void control_characters_are_spelled_out(void **state)
{
	(void)state;
	assert_printable("a\x1b[31mb\n\t", "a\\x1b[31mb\\x0a\\x09");
	assert_printable("\x7f\xc2\x9b", "\\x7f\\x9b"); /* DEL and the C1 control CSI */
}

static void bytes_that_are_no_utf8_become_the_replacement(void **state)
{
	(void)state;
	assert_printable("\xff", "\xef\xbf\xbd");
	assert_printable("\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");		  /* overlong */
	assert_printable("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* surrogate */
	assert_printable("\xf4\x90\x80\x80",
			 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* beyond U+10FFFF */
	assert_printable("a\xe2\x82", "a\xef\xbf\xbd\xef\xbf\xbd");	      /* cut short */
}

static void markup_is_escaped_for_pages(void **state)
{
	struct text text;

	(void)state;
	text_init(&text);
	text_add_html(&text, "<script>alert('x&\"')</script>\x01");
	assert_string_equal(text_string(&text),
			    "&lt;script&gt;alert(&#39;x&amp;&quot;&#39;)&lt;/script&gt;\\x01");
	text_fini(&text);
}

static void json_takes_any_text_and_number(void **state)
{
	struct json *json = json_new("gputrace.test/1", true);
	char *document;

	(void)state;
	json_text(json, "text", "quote \" back \\ new\nline \xff");
	json_text(json, "none", NULL);
	json_number(json, "nan", (double)NAN);
	json_number(json, "infinite", (double)INFINITY);
	json_number(json, "half", 0.5);
	json_number(json, "pebibyte", 0x1p50);
	json_unsigned(json, "large", UINT64_MAX);
	json_integer(json, "small", INT64_MIN);
	document = json_take(json);
	assert_string_equal(document,
			    "{\"schema\":\"gputrace.test/1\","
			    "\"text\":\"quote \\\" back \\\\ new\\\\x0aline \xef\xbf\xbd\","
			    "\"none\":null,\"nan\":null,\"infinite\":null,\"half\":0.5,"
			    "\"pebibyte\":1125899906842624,"
			    "\"large\":18446744073709551615,\"small\":-9223372036854775808}");
	free(document);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_text_stays_as_it_is),
		cmocka_unit_test(control_characters_are_spelled_out),
		cmocka_unit_test(bytes_that_are_no_utf8_become_the_replacement),
		cmocka_unit_test(markup_is_escaped_for_pages),
		cmocka_unit_test(json_takes_any_text_and_number),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
