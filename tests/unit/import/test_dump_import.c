/* SPDX-License-Identifier: Apache-2.0 */
/* Memory snapshots and flight recorder dumps, written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "import_fixture.h"

/* A pickle is put together from text: protocol 0 is readable. */
#define INT(n)	   "I" #n "\n"
#define TEXT(t)	   "S'" t "'\n"
#define PAIR(k, v) TEXT(k) v

static void histories_get_running_totals(void **state)
{
	/* 1 block of 100 held at the end; before it, 60 was taken and given back. */
	static const char
		pickle[] =
			"(d" TEXT("segments") "(l(d" PAIR(
				"device",
				INT(0)) "s" PAIR("address", INT(4096)) "s" PAIR("total_size", INT(2048)) "s" PAIR("segment_type", TEXT("small")) "s" TEXT("blocks") "(l("
																				    "d" PAIR("size", INT(512)) "s" PAIR("requested_size", INT(100)) "s" PAIR("state", TEXT(
																															      "active_allocated")) "sa(d" PAIR("size",
																																			       INT(1536)) "s" PAIR("state",
																																						   TEXT("inactive")) "sasas" TEXT("device_traces") "(l(l"
																																												   "(d" PAIR(
																																													   "action",
																																													   TEXT("segment_alloc")) "s" PAIR("addr",
																																																	   INT(4096)) "s" PAIR("size",
																																																			       INT(2048)) "s" PAIR("time_us",
																																																						   INT(
																																																							   1700000000000001)) "sa"
																																																									      "(d" PAIR("action", TEXT("alloc")) "s" PAIR(
																																																										      "addr", INT(
																																																												      4096)) "s" PAIR("size",
																																																														      INT(60)) "s" PAIR("time_us",
																																																																	INT(1700000000000002)) "sa"
																																																																			       "(d" PAIR("action", TEXT("free_completed")) "s" PAIR(
																																																																				       "addr",
																																																																				       INT(
																																																																					       4096)) "s" PAIR("size",
																																																																							       INT(60)) "s" PAIR("time_us",
																																																																										 INT(
																																																																											 1700000000000003)) "sa"
																																																																													    "(d" PAIR("action",
																																																																														      TEXT("oom")) "s" PAIR("device_free", INT(777)) "s" PAIR("size", INT(5000)) "s" PAIR("time_us",
																																																																																									  INT(
																																																																																										  1700000000000004)) "sa"
																																																																																												     "(d" PAIR("action", TEXT("alloc")) "s" PAIR("addr", INT(
																																																																																																				 4096)) "s" PAIR("size",
																																																																																																						 INT(100)) "s" PAIR("time_us",
																																																																																																								    INT(1700000000000005)) "saas.";
	static const struct {
		uint8_t op;
		uint64_t size, allocated, reserved;
	} rows[] = {
		{BLOCK_SEGMENT_ALLOC, 2048, 0, 2048},
		{BLOCK_ALLOC, 60, 60, 2048},
		{BLOCK_FREE, 60, 0, 2048},
		{BLOCK_OUT_OF_MEMORY, 5000, 0, 2048},
		{BLOCK_ALLOC, 100, 100, 2048},
		{BLOCK_HELD_SEGMENT, 2048, 100, 2048},
		{BLOCK_HELD_LIVE, 512, 100, 2048},
		{BLOCK_HELD_FREE, 1536, 100, 2048},
	};
	struct imported in;
	(void)state;
	import_bytes(pickle, sizeof(pickle) - 1, false, &in);
	if (in.rc)
		fail_msg("%s", in.err.text);
	assert_int_equal(imported_count(&in, RECORD_KIND_block), sizeof(rows) / sizeof(rows[0]));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct record_block b;
		assert_true(imported_record(&in, RECORD_KIND_block, i, &b, NULL));
		assert_int_equal(b.op, rows[i].op);
		assert_int_equal(b.size_bytes, rows[i].size);
		assert_int_equal(b.allocated_bytes, rows[i].allocated);
		assert_int_equal(b.reserved_bytes, rows[i].reserved);
		if (b.op == BLOCK_OUT_OF_MEMORY)
			assert_int_equal(b.address, 777);
		if (b.op == BLOCK_HELD_FREE)
			assert_int_equal(b.address, 4096 + 512);
	}
	assert_string_equal(trace_info(in.trace, "import.out_of_memory"), "1");
	assert_int_equal(trace_start_realtime_ns(in.trace), 1700000000000001000);
	imported_free(&in);
}

static void unknown_actions_and_states_are_counted(void **state)
{
	static const char pickle[] =
		"(d" TEXT("segments") "(l(d" PAIR("device", INT(0)) "s" PAIR("total_size", INT(8)) "s" TEXT("blocks") "(l(d" PAIR(
			"size",
			INT(8)) "s" PAIR("state",
					 TEXT("strange")) "sasas" TEXT("device_traces") "(l(l("
											"d" PAIR(
												"a"
												"c"
												"t"
												"i"
												"o"
												"n",
												TEXT("dance")) "sa(d" PAIR("action",
															   TEXT("snapshot")) "saI7\naas.";
	struct imported in;
	(void)state;
	import_bytes(pickle, sizeof(pickle) - 1, false, &in);
	if (in.rc)
		fail_msg("%s", in.err.text);
	assert_int_equal(in.report.lost, 3); /* "snapshot" is no memory event and no loss */
	imported_free(&in);
}

static void collectives_become_spans(void **state)
{
	static const char json[] =
		"{\"version\": \"2.3\", \"rank\": 3, \"entries\": ["
		"{\"profiling_name\": \"nccl:all_reduce\", \"process_group\": [\"0\", "
		"\"default_pg\"], "
		"\"collective_seq_id\": 7, \"input_sizes\": [[3, 4]], \"input_dtypes\": "
		"[\"Float\"], \"time_created_ns\": 1700000000000000000, "
		"\"time_discovered_completed_ns\": 1700000000000005000, \"state\": \"completed\"},"
		"{\"profiling_name\": \"nccl:send\", \"pg_id\": 2, \"is_p2p\": true, "
		"\"p2p_seq_id\": 4, "
		"\"time_created_ns\": 1700000000000006000, \"time_discovered_completed_ns\": null, "
		"\"state\": \"started\"},"
		"{\"profiling_name\": 7, \"time_created_ns\": 1}]}";
	struct record_mark done, open;
	struct imported in;
	(void)state;
	import_text(json, &in);
	if (in.rc)
		fail_msg("%s", in.err.text);
	assert_true(imported_record(&in, RECORD_KIND_mark, 0, &done, NULL));
	assert_true(imported_record(&in, RECORD_KIND_mark, 1, &open, NULL));
	assert_string_equal(imported_name(&in, NAME_MARK, done.name), "nccl:all_reduce");
	assert_string_equal(imported_name(&in, NAME_MARK, done.domain), "default_pg");
	assert_int_equal(done.end_ticks - done.begin_ticks, 5000);
	assert_int_equal(done.category, 7);
	assert_int_equal(done.value, 3 * 4 * 4);
	assert_int_equal(done.peer, MARK_NO_PEER);
	assert_int_equal(done.type, MARK_SPAN);
	assert_int_equal(open.end_ticks, 0);
	assert_int_equal(open.category, 4);
	assert_int_equal(open.value, 0);
	assert_string_equal(imported_name(&in, NAME_MARK, open.domain), "group 2");
	assert_int_equal(in.report.rank, 3);
	assert_int_equal(in.report.lost, 1);
	imported_free(&in);
}

static void other_pickles_are_refused(void **state)
{
	static const struct {
		const char *text, *reason;
	} rows[] = {
		{"(dp0\nS'weights'\nI1\ns.", "neither a memory snapshot"},
		{"(lp0\n.", "neither a memory snapshot"},
		{"\x80\x04\x8c\x02os\x8c\x06system\x93.", "STACK_GLOBAL"},
		{"(dp0\nS'segments'\n(lsS'device_traces'\n(ls.", "without segments"},
		{"(dp0\nS'segments'\nI5\ns.", "without segments"},
		{"(dp0\nS'entries'\n(lsS'version'\nS'2'\ns.", "without entries"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct imported in;
		import_text(rows[i].text, &in);
		if (!in.rc || !strstr(in.err.text, rows[i].reason) || in.left_files)
			fail_msg("row %zu: rc %d, \"%s\"", i, in.rc, in.err.text);
		imported_free(&in);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(histories_get_running_totals),
		cmocka_unit_test(unknown_actions_and_states_are_counted),
		cmocka_unit_test(collectives_become_spans),
		cmocka_unit_test(other_pickles_are_refused),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
