/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of totals that change hands while they are read: no sum is lost, and whose it is. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "record.h"
#include "ring_reader.h"
#include "session_fixture.h"
#include "totals_reader.h"

#define RING_BYTES (4 * RING_MIN_BYTES) /* one of them holds a table instead */
#define TABLE_RING 2u

static struct session_fixture session;
static struct ring_reader reader;
static struct session_ring ring;
static struct totals_reader totals;
static struct ring_table *table;
static struct ring_total *row;

static struct {
	uint64_t calls;
	uint64_t damaged;
	uint32_t last_thread;
	void (*meanwhile)(void); /* done once, when records come */
} told;

static void tell_thread(void *context, uint32_t thread, uint32_t thread_id, uint64_t claimed_ticks)
{
	(void)context;
	(void)thread;
	(void)thread_id;
	(void)claimed_ticks;
}

static void tell_records(void *context, uint32_t thread, const void *records, size_t bytes)
{
	const struct record_total *sums = records;
	void (*meanwhile)(void) = told.meanwhile;

	(void)context;
	told.meanwhile = NULL;
	for (size_t i = 0; i < bytes / sizeof(*sums); i++)
		told.calls += sums[i].count;
	told.last_thread = thread;
	if (meanwhile)
		meanwhile();
}

static void tell_lost(void *context, uint16_t kind, uint16_t reason, uint64_t count)
{
	(void)context;
	(void)kind;
	told.damaged += reason == LOSS_DAMAGED ? count : 0;
}

static const struct ring_sink sink = {
	.thread = tell_thread, .records = tell_records, .lost = tell_lost};

static int begin(void **state)
{
	struct ring_slot *room;

	(void)state;
	memset(&told, 0, sizeof(told));
	session_fixture_init(&session, TABLE_RING + 1, RING_BYTES);
	session.control->recording = RING_RECORD_SUMMED;
	room = &ring_slots(session.control)[TABLE_RING];
	table = &ring_tables(session.control)[0];
	table->offset = room->offset;
	table->row_count = RING_TABLE_MIN_ROWS;
	row = (struct ring_total *)((char *)session.control + room->offset) + 5;
	assert_int_equal(ring_reader_open(&reader, session.memfd, NULL), 0);
	totals_reader_init(&totals, &reader);
	return 0;
}

static int end(void **state)
{
	(void)state;
	totals_reader_close(&totals);
	ring_reader_close(&reader);
	session_fixture_fini(&session);
	return 0;
}

static void claim_table(uint32_t thread_id, uint64_t claimed_ticks)
{
	table->thread_id = thread_id;
	table->claimed_ticks = claimed_ticks;
	table->generation++;
	atomic_store(&table->state, RING_SLOT_LIVE);
}

static void add_calls(uint64_t calls)
{
	row->site = 77;
	atomic_store(&row->what, ring_total_what(9, RECORD_KIND_set, 0, 0, 0));
	atomic_fetch_add(&row->count, calls);
}

static void retire_table(void)
{
	atomic_store(&table->state, RING_SLOT_RETIRED);
}

static void take_over_and_leave(void)
{
	uint32_t retired = RING_SLOT_RETIRED;

	assert_true(atomic_compare_exchange_strong(&table->state, &retired, RING_SLOT_LIVE));
	add_calls(20);
	retire_table();
}

/* One look as the collector does it. */
static void look(enum totals_look what)
{
	ring_reader_drain(&reader, &sink);
	totals_reader_run(&totals, &sink, 1000, what);
}

static void sums_added_between_reading_and_freeing_are_not_lost(void **state)
{
	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	claim_table(100, 1);
	add_calls(3);
	retire_table();
	told.meanwhile = take_over_and_leave;
	look(TOTALS_ENDED);
	assert_int_equal(told.calls, 23);
	assert_int_equal(atomic_load(&table->state), RING_SLOT_FREE);
	assert_int_equal(told.damaged, 0);
}

static void sums_keep_their_thread_when_its_ring_has_gone_on_to_another(void **state)
{
	uint32_t owner;

	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	session_ring_retire(&ring);
	assert_true(session_ring_take_over(&ring, 101, 2));
	claim_table(101, 2);
	add_calls(4);
	retire_table();
	session_ring_retire(&ring);
	assert_true(session_ring_take_over(&ring, 102, 3));
	look(TOTALS_ENDED);
	owner = ring_reader_thread(&reader, 101, 2);
	assert_int_equal(told.calls, 4);
	assert_int_equal(owner, 2);
	assert_int_equal(told.last_thread, owner);
}

static void last_look_reads_what_belongs_to_no_known_thread(void **state)
{
	(void)state;
	claim_table(555, 9);
	add_calls(6);
	look(TOTALS_ALL);
	assert_int_equal(told.calls, 0);
	look(TOTALS_LAST);
	assert_int_equal(told.calls, 6);
	assert_int_equal(told.last_thread, 0);
}

static void next_owner_of_a_free_table_starts_at_nothing(void **state)
{
	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	claim_table(100, 1);
	add_calls(3);
	retire_table();
	look(TOTALS_ENDED);
	memset((void *)row, 0, sizeof(*row));
	claim_table(100, 1);
	add_calls(2);
	look(TOTALS_ENDED);
	assert_int_equal(told.calls, 3);
	look(TOTALS_ALL);
	assert_int_equal(told.calls, 5);
	assert_int_equal(told.damaged, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sums_added_between_reading_and_freeing_are_not_lost),
		TEST(sums_keep_their_thread_when_its_ring_has_gone_on_to_another),
		TEST(last_look_reads_what_belongs_to_no_known_thread),
		TEST(next_owner_of_a_free_table_starts_at_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
