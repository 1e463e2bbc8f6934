/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings that are damaged or no recordings: one clear error or counted skips, never a crash. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

#include "import_fixture.h"

#define GOOD(ts)                                                                                   \
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, "           \
	"\"ts\": " ts ", "                                                                         \
	"\"dur\": 5, \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": 1}}"

static void one_bad_event_is_a_counted_skip(void **state)
{
	static const struct {
		const char *event;
		uint64_t lost;
	} rows[] = {
		/* not JSON */
		{"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"a \"quoted\" k\", \"ts\": 1, "
		 "\"dur\": 1}",
		 1},
		{"{\"ph\": \"X\" \"cat\": \"kernel\"}", 1},
		{"{\"ph\": \"X\", \"cat\" = \"kernel\"}", 1},
		{"{ph: \"X\"}", 1},
		{"17", 1},
		{"\"text\"", 1},
		{"null", 1},
		{"[1, 2]", 1},
		/* numbers that are none */
		{"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": NaN, \"dur\": 1}",
		 1},
		{"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1, \"dur\": "
		 "Infinity}",
		 1},
		{"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1, \"dur\": "
		 "-Infinity}",
		 1},
		{"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": \"soon\", \"dur\": "
		 "1}",
		 1},
		{"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": [1], \"dur\": 1}",
		 1},
		{"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": null, \"dur\": 1}",
		 1},
		{"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"dur\": 1}", 1},
		{"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1}", 1},
		/* times that cannot be */
		{"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1000010, \"dur\": "
		 "-1}",
		 1},
		{"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": -5, \"dur\": 1}",
		 1},
		{"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1000010, \"dur\": "
		 "3e13}",
		 1},
		{"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1e14, \"dur\": 1}",
		 1},
		{"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 9e15, \"dur\": "
		 "9e15}",
		 1},
		{"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 0, \"dur\": 0}", 1},
		/* harmless */
		{"{\"ph\": \"X\", \"cat\": \"vendor_thing\", \"name\": \"k\"}", 0},
		{"{}", 0},
		{"{\"ph\": 7, \"cat\": [], \"name\": {}, \"args\": 3}", 0},
	};
	char events[2048];
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct imported in;
		snprintf(events, sizeof(events), "%s, %s, %s, %s", GOOD("1000000"), GOOD("1000100"),
			 rows[i].event, GOOD("1000200"));
		import_events(events, &in);
		if (in.rc || in.report.gpu_records != 3 || in.report.lost != rows[i].lost ||
		    trace_health(in.trace)->lost_total != rows[i].lost)
			fail_msg("%s: rc %d (%s), %llu kept, %llu lost", rows[i].event, in.rc,
				 in.err.text, (unsigned long long)in.report.gpu_records,
				 (unsigned long long)in.report.lost);
		imported_free(&in);
	}
}

static void odd_members_do_not_cost_the_event(void **state)
{
	static const char *const args[] = {
		"{\"correlation\": \"many\"}",
		"{\"correlation\": 1e400, \"stream\": null}",
		"{\"grid\": [1, 2], \"block\": \"x\"}",
		"{\"grid\": [NaN, Infinity, 3]}",
		"{\"memory bandwidth (GB/s)\": inf, \"bytes\": -5}",
		"{\"device\": -1, \"stream\": -7, \"context\": 99999999999}",
		"{\"device\": 70000}",
		"{\"deep\": [[[[{\"a\": [{}]}]]]]}",
		"[]",
		"\"none\"",
	};
	char events[1024];
	(void)state;
	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
		struct imported in;
		snprintf(events, sizeof(events),
			 "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"bad \\q escape \x01 "
			 "\xff\", "
			 "\"pid\": 0, \"tid\": 7, \"ts\": 10, \"dur\": 5, \"args\": %s}",
			 args[i]);
		import_events(events, &in);
		if (in.rc || in.report.gpu_records != 1 || in.report.lost)
			fail_msg("%s: rc %d (%s)", args[i], in.rc, in.err.text);
		imported_free(&in);
	}
}

static void what_is_no_recording_is_refused_with_a_reason(void **state)
{
	static const struct {
		const char *text, *reason;
	} rows[] = {
		{"", "is empty"},
		{"   \n", "no recording"},
		{"hello", "no recording"},
		{"{}", "no \"traceEvents\""},
		{"[]", "holds no events"},
		{"{\"traceEvents\": []}", "holds no events"},
		{"{\"traceEvents\": {}}", "no \"traceEvents\""},
		{"{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"x\"}]}", "none of a kind"},
		{"{\"traceEvents\": [1, 2]}", "none of them can be read"},
		{"{\"schema\": \"1.0\", \"nodes\": [1]}", "execution trace"},
		{"{1: 2}", "not valid JSON"},
		{"{\"a\" 2}", "not valid JSON"},
		{"[rank0]: error", "no recording"},
		{"PK\x03\x04rest", "zip archive"},
		{"NVIDIA Tegra Profiler Report", "nsys export"},
		{"\x7f"
		 "ELF",
		 "a program"},
		{"SQLite format 3", "no recording"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct imported in;
		import_text(rows[i].text, &in);
		if (!in.rc || !strstr(in.err.text, rows[i].reason))
			fail_msg("\"%s\": rc %d, \"%s\"", rows[i].text, in.rc, in.err.text);
		assert_false(in.left_files);
		imported_free(&in);
	}
}

static void a_cut_at_any_byte_is_one_clear_error(void **state)
{
	static const char whole[] = "{\"schemaVersion\": 1, \"traceEvents\": [" GOOD(
		"10") ",\n" GOOD("20") "], \"traceName\": \"x\"}";
	(void)state;
	for (size_t cut = 1; cut < sizeof(whole) - 1; cut++) {
		struct imported in;
		import_bytes(whole, cut, false, &in);
		if (!in.rc || !strstr(in.err.text, "cut short") || in.left_files)
			fail_msg("cut at %zu: rc %d, \"%s\"", cut, in.rc, in.err.text);
		imported_free(&in);
	}
}

static void what_a_cut_recording_holds_can_be_kept(void **state)
{
	static const char cut[] =
		"{\"traceEvents\": [" GOOD("10") "," GOOD("20") ", {\"ph\": \"X\", \"ca";
	struct imported in;
	(void)state;
	import_bytes(cut, sizeof(cut) - 1, true, &in);
	assert_int_equal(in.rc, 0);
	assert_true(in.report.is_cut);
	assert_int_equal(in.report.gpu_records, 2);
	assert_non_null(trace_info(in.trace, "import.cut"));
	imported_free(&in);
}

static void an_absurd_first_time_does_not_win(void **state)
{
	struct imported in;
	(void)state;
	import_events(GOOD("1") "," GOOD("1700000000000000") "," GOOD("1700000000000100") "," GOOD(
			      "1700000000000200"),
		      &in);
	assert_int_equal(in.rc, 0);
	assert_int_equal(in.report.gpu_records, 3);
	assert_int_equal(in.report.lost_bad_time, 1);
	imported_free(&in);
}

static void a_byte_order_mark_is_no_damage(void **state)
{
	struct imported in;
	(void)state;
	import_text("\xef\xbb\xbf [" GOOD("10") "]", &in);
	assert_int_equal(in.rc, 0);
	imported_free(&in);
}

static void nothing_is_written_over(void **state)
{
	struct import_options options = {0};
	struct import_report report;
	struct error err = {0};
	(void)state;
	/* The file exists; it is this test's own source of truth that it is refused before reading.
	 */
	assert_int_equal(import_file("/dev/null", -100, "/dev/null", &options, &report, &err),
			 -EEXIST);
	assert_non_null(strstr(err.text, "exists already"));
}

static void wrapped_recordings_are_unwrapped(void **state)
{
	static const char json[] = "{\"traceEvents\": [" GOOD("10") "]}";
	char packed[1024];
	struct imported in;
	(void)state;

	size_t size = ZSTD_compress(packed, sizeof(packed), json, sizeof(json) - 1, 1);
	assert_false(ZSTD_isError(size));
	import_bytes(packed, size, false, &in);
	assert_int_equal(in.rc, 0);
	imported_free(&in);
	import_bytes(packed, size - 3, false, &in);
	assert_int_not_equal(in.rc, 0);
	assert_non_null(strstr(in.err.text, "zstd data is cut short"));

	/* Two gzip members, cut between the bytes of one event, then zeros. */
	z_stream gz = {0};
	size_t at = 0;
	for (int part = 0; part < 2; part++) {
		size_t half = (sizeof(json) - 1) / 2;
		memset(&gz, 0, sizeof(gz));
		assert_int_equal(deflateInit2(&gz, 6, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY),
				 Z_OK);
		gz.next_in = (Bytef *)(uintptr_t)(json + (part ? half : 0));
		gz.avail_in = (uInt)(part ? sizeof(json) - 1 - half : half);
		gz.next_out = (Bytef *)packed + at;
		gz.avail_out = (uInt)(sizeof(packed) - at);
		assert_int_equal(deflate(&gz, Z_FINISH), Z_STREAM_END);
		at += gz.total_out;
		deflateEnd(&gz);
	}
	memset(packed + at, 0, 16);
	import_bytes(packed, at + 16, false, &in);
	assert_int_equal(in.rc, 0);
	assert_int_equal(in.report.gpu_records, 1);
	imported_free(&in);
	import_bytes(packed, at - 4, false, &in);
	assert_int_not_equal(in.rc, 0);
	assert_non_null(strstr(in.err.text, "gzip data is cut short"));
	packed[at / 4] = (char)~packed[at / 4];
	import_bytes(packed, at, false, &in);
	assert_int_not_equal(in.rc, 0);
}

static void random_damage_never_crashes(void **state)
{
	static const char whole[] = "{\"deviceProperties\": [{\"id\": 0, \"name\": \"A\", "
				    "\"numSms\": 8}], \"traceEvents\": ["
				    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", "
				    "\"pid\": 1, \"tid\": 1, "
				    "\"ts\": 1, \"dur\": 9, \"args\": {\"Input Dims\": [[4, 8], "
				    "[8, 2]], \"Input type\": "
				    "[\"float\", \"float\"]}}," GOOD("10") "," GOOD("20.5") "]}";
	unsigned seed = 1;
	(void)state;
	for (int round = 0; round < 3000; round++) {
		char copy[sizeof(whole)];
		memcpy(copy, whole, sizeof(whole));
		for (int flips = 0; flips < 1 + round % 4; flips++) {
			seed = seed * 1103515245 + 12345;
			size_t at = (seed >> 8) % (sizeof(whole) - 1);
			seed = seed * 1103515245 + 12345;
			copy[at] = "\"{}[],:\\x0\n"[(seed >> 16) % 11];
		}
		struct imported in;
		import_bytes(copy, sizeof(whole) - 1, round % 2, &in);
		assert_true(in.rc == 0 || in.err.text[0] != 0);
		assert_false(in.left_files);
		imported_free(&in);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_bad_event_is_a_counted_skip),
		cmocka_unit_test(odd_members_do_not_cost_the_event),
		cmocka_unit_test(what_is_no_recording_is_refused_with_a_reason),
		cmocka_unit_test(a_cut_at_any_byte_is_one_clear_error),
		cmocka_unit_test(what_a_cut_recording_holds_can_be_kept),
		cmocka_unit_test(an_absurd_first_time_does_not_win),
		cmocka_unit_test(a_byte_order_mark_is_no_damage),
		cmocka_unit_test(nothing_is_written_over),
		cmocka_unit_test(wrapped_recordings_are_unwrapped),
		cmocka_unit_test(random_damage_never_crashes),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
