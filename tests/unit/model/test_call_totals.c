/* SPDX-License-Identifier: Apache-2.0 */
/* Totals are called whole only of the time that they are whole of. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "call_totals.h"
#include "model.h"
#include "model_script.h"
#include "record.h"
#include "trace_file.h"

#define MS 1000000ll

static struct script *script;
static struct model *model;

static int begin(void **state)
{
	(void)state;
	script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	script_info(script, "recording.mode", "summary");
	script_health(script)->session_end = SESSION_EXITED;
	script_health(script)->host_complete_ns = 3500 * MS;
	return 0;
}

static int end(void **state)
{
	(void)state;
	model_free(model);
	script_free(script);
	model = NULL;
	return 0;
}

/* What a look at the sums found. */
static void add_total(int64_t begin_ns, int64_t end_ns, uint64_t count)
{
	struct record_total total = {
		.head = {.kind = RECORD_KIND_total, .size_bytes = sizeof(total)},
		.begin_ticks = (uint64_t)begin_ns,
		.end_ticks = (uint64_t)end_ns,
		.count = count,
		.duration = 1000 * count,
		.longest = 1000,
		.total_of = RECORD_KIND_call,
	};

	script_add_record(script, RECORD_KIND_total, &total, sizeof(total));
}

static struct totals_span span_of_three_looks(void)
{
	add_total(0, 1000 * MS, 10);
	add_total(1000 * MS, 2000 * MS, 20);
	add_total(2000 * MS, 3000 * MS, 30);
	model = script_model(script);
	assert_int_equal(model->total_count, 1);
	assert_int_equal(model->totals[0].count, 60);
	return call_totals_span(model);
}

static void a_session_that_ended_has_exact_totals(void **state)
{
	const struct totals_span span = span_of_three_looks();

	(void)state;
	assert_true(span.has_begin && span.has_end);
}

static void a_killed_job_whose_collector_lived_on_has_them_too(void **state)
{
	struct totals_span span;

	(void)state;
	script_health(script)->session_end = SESSION_KILLED;
	span = span_of_three_looks();
	assert_true(span.has_begin && span.has_end);
}

static void a_file_without_an_end_is_whole_up_to_the_last_look(void **state)
{
	struct totals_span span;

	(void)state;
	script_health(script)->session_end = 0;
	span = span_of_three_looks();
	assert_true(span.has_begin);
	assert_false(span.has_end);
	assert_int_equal(span.until_ns, 3000 * MS);
}

static void a_look_that_was_not_written_whole_does_not_count(void **state)
{
	struct totals_span span;

	(void)state;
	script_health(script)->session_end = 0;
	script_health(script)->host_complete_ns = 2500 * MS;
	span = span_of_three_looks();
	assert_false(span.has_end);
	assert_int_equal(span.until_ns, 2000 * MS);
}

static void a_file_that_promises_nothing_has_no_total_for_sure(void **state)
{
	struct totals_span span;

	(void)state;
	script_health(script)->session_end = 0;
	script_health(script)->host_complete_ns = 0;
	span = span_of_three_looks();
	assert_false(span.has_end);
	assert_int_equal(span.until_ns, 0);
}

static void dropped_segments_take_their_totals_with_them(void **state)
{
	struct totals_span span;

	(void)state;
	script_info(script, "rotation.dropped_segments", "3");
	add_total(7000 * MS, 8000 * MS, 5);
	model = script_model(script);
	span = call_totals_span(model);
	assert_false(span.has_begin);
	assert_true(span.has_end);
	assert_int_equal(span.from_ns, 7000 * MS);
}

static void damage_and_lost_totals_leave_nothing_for_sure(void **state)
{
	struct totals_span span;

	(void)state;
	script_health(script)->lost[RECORD_KIND_total] = 1;
	span = span_of_three_looks();
	assert_false(span.has_end);
	assert_int_equal(span.until_ns, 0);
	script_health(script)->lost[RECORD_KIND_total] = 0;
	assert_true(call_totals_span(model).has_end);
	script_health(script)->damaged_chunks = 1;
	span = call_totals_span(model);
	assert_false(span.has_end);
	assert_int_equal(span.until_ns, 0);
}

static void a_file_that_was_recovered_with_losses_is_not_exact(void **state)
{
	struct totals_span span;

	(void)state;
	script_info(script, "recovered.lost_records", "12");
	span = span_of_three_looks();
	assert_false(span.has_end);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_session_that_ended_has_exact_totals),
		TEST(a_killed_job_whose_collector_lived_on_has_them_too),
		TEST(a_file_without_an_end_is_whole_up_to_the_last_look),
		TEST(a_look_that_was_not_written_whole_does_not_count),
		TEST(a_file_that_promises_nothing_has_no_total_for_sure),
		TEST(dropped_segments_take_their_totals_with_them),
		TEST(damage_and_lost_totals_leave_nothing_for_sure),
		TEST(a_file_that_was_recovered_with_losses_is_not_exact),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
