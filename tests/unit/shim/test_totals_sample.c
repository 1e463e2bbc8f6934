/* SPDX-License-Identifier: Apache-2.0 */
/* One launch of each N is kept, as a whole, and the same ones in the same run. */
#include "../../../shim/totals_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../../collector/format/record.h"
#include "../../../shim/mark_name.h"
#include "../../../shim/thread.h"

#define LAUNCH_API  7
#define OTHER_API   8
#define TICKS_PER_S 1000000u

/* ---- what it needs of the rest of the shim ---- */

static struct record_mark marks[64];
static unsigned int mark_count;

void *ring_writer_reserve_slow(struct ring_writer *ring, size_t size_bytes)
{
	(void)ring;
	(void)size_bytes;
	return NULL;
}

void *thread_reserve_full(struct thread *thread, unsigned int kind, size_t size_bytes)
{
	(void)thread;
	assert_int_equal(kind, RECORD_KIND_mark);
	assert_int_equal(size_bytes, sizeof(marks[0]));
	assert_true(mark_count < 64);
	return &marks[mark_count++];
}

void *thread_reserve_refused(struct thread *thread, unsigned int kind)
{
	(void)thread;
	(void)kind;
	return NULL;
}

const struct mark_name *mark_name_intern(const char *text, size_t length)
{
	(void)length;
	return (const struct mark_name *)text;
}

uint64_t mark_name_number(struct thread *thread, const struct mark_name *name)
{
	(void)thread;
	return (uintptr_t)name;
}

/* ---- a thread that launches ---- */

static struct ring_header header;

static void begin(struct sample_state *state, struct thread *thread)
{
	memset(state, 0, sizeof(*state));
	memset(thread, 0, sizeof(*thread));
	thread->is_live = 1;
	thread->ring.header = &header;
	mark_count = 0;
	sample_learn_launch(LAUNCH_API);
}

/* A call of the program, which may be asked about several times: by itself, by calls inside it. */
static bool call(struct sample_state *state, struct thread *thread, uint16_t api,
		 uint64_t now_ticks)
{
	thread->operation++;
	thread->operation_api = api;
	bool keeps = sample_keeps(state, thread, now_ticks);

	assert_int_equal(sample_keeps(state, thread, now_ticks), keeps);
	return keeps;
}

static void one_of_each_group_is_kept(void **unused)
{
	static const uint32_t sizes[] = {2, 5, 1000};

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		struct sample_state state;
		struct thread thread;
		unsigned int places[1000] = {0}, different = 0;

		begin(&state, &thread);
		sample_open(sizes[i], 0, TICKS_PER_S);
		for (unsigned int group = 0; group < 200; group++) {
			unsigned int kept = 0;

			for (uint32_t n = 0; n < sizes[i]; n++) {
				bool keeps = call(&state, &thread, LAUNCH_API, n);

				kept += keeps;
				places[n] += keeps;
			}
			assert_int_equal(kept, 1);
		}
		for (uint32_t n = 0; n < sizes[i]; n++)
			different += places[n] > 0;
		/* A step as long as a group does not show the same kernel again and again. */
		assert_true(different > 100 || different == sizes[i]);
	}
}

static void the_same_run_keeps_the_same_launches(void **unused)
{
	struct sample_state state[2];
	struct thread thread[2];

	(void)unused;
	sample_open(7, 0, TICKS_PER_S);
	begin(&state[0], &thread[0]);
	begin(&state[1], &thread[1]);
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(call(&state[0], &thread[0], LAUNCH_API, i),
				 call(&state[1], &thread[1], LAUNCH_API, 3 * i + 1));
}

static void calls_that_launch_nothing_are_all_kept(void **unused)
{
	struct sample_state state;
	struct thread thread;

	(void)unused;
	sample_open(1000, 0, TICKS_PER_S);
	begin(&state, &thread);
	for (uint64_t i = 0; i < 3000; i++)
		assert_true(call(&state, &thread, OTHER_API, i));
}

/* 1,000 a second are wanted: a tenth of a second of 100 launches is kept whole. */
static void slow_launches_are_kept_and_fast_ones_thinned_to_the_rate(void **unused)
{
	struct sample_state state;
	struct thread thread;
	unsigned int kept = 0;
	uint64_t now = TICKS_PER_S;

	(void)unused;
	sample_open(0, 1000, TICKS_PER_S);
	begin(&state, &thread);
	for (unsigned int i = 0; i < 900; i++, now += TICKS_PER_S / 900)
		kept += call(&state, &thread, LAUNCH_API, now);
	assert_int_equal(kept, 900);
	sample_finish(&state, &thread, now);
	assert_int_equal(mark_count, 0);

	kept = 0;
	for (unsigned int i = 0; i < 100000; i++, now += 10)
		kept += call(&state, &thread, LAUNCH_API, now);
	/* The first window of many is found out on the way. */
	assert_in_range(kept, 800, 7000);
	kept = 0;
	for (unsigned int i = 0; i < 100000; i++, now += 10) {
		kept += call(&state, &thread, LAUNCH_API, now);
		if (state.untold_end_ticks)
			sample_tell(&state, &thread);
	}
	assert_in_range(kept, 900, 1100);

	/* That time is told, as pieces one after the other. */
	sample_finish(&state, &thread, now);
	assert_true(mark_count >= 1);
	for (unsigned int i = 0; i < mark_count; i++) {
		assert_string_equal((const char *)(uintptr_t)marks[i].name, MARK_LAUNCHES_SAMPLED);
		assert_true(marks[i].begin_ticks < marks[i].end_ticks);
		assert_true(marks[i].value > 1);
		assert_true(!i || marks[i].begin_ticks == marks[i - 1].end_ticks);
	}
	assert_int_equal(marks[mark_count - 1].end_ticks, now);
}

static void work_is_kept_with_its_launch(void **unused)
{
	(void)unused;
	sample_keep_correlation(12345);
	assert_true(sample_has_correlation(12345));
	assert_false(sample_has_correlation(12346));
	assert_true(sample_has_correlation(0)); /* not known whose: it is kept */
	/* A number that another one replaced in the table is forgotten, not mistaken. */
	sample_keep_correlation(12345 + (1u << 18));
	assert_false(sample_has_correlation(12345));
	assert_true(sample_has_correlation(12345 + (1u << 18)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_each_group_is_kept),
		cmocka_unit_test(the_same_run_keeps_the_same_launches),
		cmocka_unit_test(calls_that_launch_nothing_are_all_kept),
		cmocka_unit_test(slow_launches_are_kept_and_fast_ones_thinned_to_the_rate),
		cmocka_unit_test(work_is_kept_with_its_launch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
