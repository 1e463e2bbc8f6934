/* SPDX-License-Identifier: Apache-2.0 */
/* Rings that are taken over before they are drained: whose a record is, and that none is lost. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>

#include "record.h"
#include "ring_reader.h"
#include "session_fixture.h"

#define RING_BYTES RING_MIN_BYTES
#define TOLD_MAX   64u

/* What a reader told: the threads in the order of their numbers, and how many calls each made. */
static struct {
	uint32_t threads;
	uint32_t thread_ids[TOLD_MAX];
	uint32_t last_id[TOLD_MAX];
	uint64_t damaged;
	bool out_of_order;
} told;

static void tell_thread(void *context, uint32_t thread, uint32_t thread_id, uint64_t claimed_ticks)
{
	(void)context;
	(void)claimed_ticks;
	told.threads++;
	told.thread_ids[thread % TOLD_MAX] = thread_id;
}

static void tell_records(void *context, uint32_t thread, const void *records, size_t bytes)
{
	const struct record_call *calls = records;

	(void)context;
	for (size_t i = 0; i < bytes / sizeof(*calls); i++) {
		told.out_of_order |= calls[i].call.call_id != told.last_id[thread % TOLD_MAX] + 1;
		told.last_id[thread % TOLD_MAX] = calls[i].call.call_id;
	}
}

static void tell_lost(void *context, uint16_t kind, uint16_t reason, uint64_t count)
{
	(void)context;
	(void)kind;
	told.damaged += reason == LOSS_DAMAGED ? count : 0;
}

static const struct ring_sink sink = {
	.thread = tell_thread, .records = tell_records, .lost = tell_lost};

static struct session_fixture session;
static struct ring_reader reader;
static struct session_ring ring;

static int begin(void **state)
{
	(void)state;
	memset(&told, 0, sizeof(told));
	session_fixture_init(&session, 3, RING_BYTES);
	assert_int_equal(ring_reader_open(&reader, session.memfd, NULL), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	ring_reader_close(&reader);
	session_fixture_fini(&session);
	return 0;
}

static void what_follows_in_a_ring_that_is_taken_over_is_another_threads(void **state)
{
	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	session_ring_put_call(&ring, 1);
	session_ring_put_call(&ring, 2);
	session_ring_retire(&ring);
	assert_true(session_ring_take_over(&ring, 101, 5));
	session_ring_put_call(&ring, 1);
	session_ring_retire(&ring);
	assert_true(session_ring_take_over(&ring, 102, 6));
	session_ring_put_call(&ring, 1);
	session_ring_put_call(&ring, 2);
	session_ring_put_call(&ring, 3);
	ring_reader_drain(&reader, &sink);
	assert_int_equal(told.threads, 3);
	assert_int_equal(told.thread_ids[1], 100);
	assert_int_equal(told.thread_ids[2], 101);
	assert_int_equal(told.thread_ids[3], 102);
	assert_int_equal(told.last_id[1], 2);
	assert_int_equal(told.last_id[2], 1);
	assert_int_equal(told.last_id[3], 3);
	assert_false(told.out_of_order);
	assert_int_equal(told.damaged, 0);
	assert_int_equal(atomic_load(&ring.slot->state), RING_SLOT_LIVE);
}

static void the_next_owner_of_a_drained_ring_is_the_slots_again(void **state)
{
	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	session_ring_put_call(&ring, 1);
	session_ring_retire(&ring);
	assert_true(session_ring_take_over(&ring, 101, 5));
	session_ring_put_call(&ring, 1);
	session_ring_retire(&ring);
	ring_reader_drain(&reader, &sink);
	assert_int_equal(atomic_load(&ring.slot->state), RING_SLOT_FREE);
	assert_false(session_ring_take_over(&ring, 102, 6));
	session_ring_claim(&session, &ring, 0, 103, 7);
	session_ring_put_call(&ring, 1);
	ring_reader_drain(&reader, &sink);
	assert_int_equal(told.threads, 3);
	assert_int_equal(told.thread_ids[3], 103);
	assert_int_equal(told.last_id[3], 1);
	assert_false(told.out_of_order);
}

/* The larger ring is in slot 0: it is looked at before the small one, which was another's at first.
 */
static void a_thread_that_moved_on_from_a_ring_it_took_over_stays_in_order(void **state)
{
	struct session_ring larger;

	(void)state;
	session_ring_claim(&session, &ring, 2, 100, 1);
	session_ring_put_call(&ring, 1);
	session_ring_retire(&ring);
	assert_true(session_ring_take_over(&ring, 101, 5));
	session_ring_put_call(&ring, 1);
	ring_slots(session.control)[0].data_bytes = 2 * RING_BYTES;
	session_ring_claim(&session, &larger, 0, 101, 5);
	session_ring_put_call(&larger, 2);
	session_ring_retire(&ring);
	ring_reader_drain(&reader, &sink);
	assert_int_equal(told.threads, 2);
	assert_int_equal(told.last_id[1] + told.last_id[2], 3);
	assert_false(told.out_of_order);
}

static void padding_is_not_taken_for_a_new_owner(void **state)
{
	const struct ring_owner pad = {.kind = RECORD_PAD, .size_bytes = sizeof(pad)};

	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	session_ring_put_call(&ring, 1);
	session_ring_put(&ring, &pad);
	session_ring_put_call(&ring, 2);
	ring_reader_drain(&reader, &sink);
	assert_int_equal(told.threads, 1);
	assert_int_equal(told.last_id[1], 2);
	assert_false(told.out_of_order);
}

/* ---- both sides at once ---- */

#define OWNERS		100000u
#define OWNER_RECORDS	3u
#define OWNER_FIRST_TID 1000u

/* Like a program that starts a thread per task: every owner lives shorter than the reader's looks.
 * Returns how many owners took the ring over. */
static void *own_one_after_the_other(void *unused)
{
	uintptr_t taken_over = 0;

	(void)unused;
	for (uint32_t owner = 1; owner < OWNERS; owner++) {
		bool has_ring = false;

		session_ring_retire(&ring);
		while (!has_ring) {
			uint32_t free_slot = RING_SLOT_FREE;

			has_ring =
				session_ring_take_over(&ring, OWNER_FIRST_TID + owner, 1 + owner);
			taken_over += has_ring;
			/* Freed meanwhile: an owner of the ordinary kind. */
			if (!has_ring &&
			    atomic_compare_exchange_strong(&ring.slot->state, &free_slot,
							   RING_SLOT_CLAIMED)) {
				session_ring_claim(&session, &ring, 0, OWNER_FIRST_TID + owner,
						   1 + owner);
				has_ring = true;
			}
			if (!has_ring)
				sched_yield();
		}
		for (uint32_t id = 1; id <= OWNER_RECORDS; id++) {
			while (!session_ring_put_call(&ring, id))
				sched_yield();
		}
	}
	session_ring_retire(&ring);
	return (void *)taken_over;
}

static struct {
	uint32_t owners, thread, records, strange;
} seen;

/* In the order of their lives, and the one before is complete. */
static void note_owner(void *context, uint32_t thread, uint32_t thread_id, uint64_t claimed_ticks)
{
	(void)context;
	seen.strange += thread_id != OWNER_FIRST_TID + seen.owners ||
			claimed_ticks != 1 + seen.owners ||
			(seen.owners > 1 && seen.records != OWNER_RECORDS);
	seen.owners++;
	seen.thread = thread;
	seen.records = 0;
}

static void note_records(void *context, uint32_t thread, const void *records, size_t bytes)
{
	(void)context;
	(void)records;
	seen.strange += thread != seen.thread;
	seen.records += (uint32_t)(bytes / sizeof(struct record_call));
}

static void a_hundred_thousand_short_owners_of_one_ring_lose_nothing(void **state)
{
	const struct ring_sink own_sink = {
		.thread = note_owner, .records = note_records, .lost = tell_lost};
	const struct ring_slot *slot;
	pthread_t producer;
	void *taken_over;

	(void)state;
	session_ring_claim(&session, &ring, 0, OWNER_FIRST_TID, 1);
	slot = ring.slot;
	ring_reader_drain(&reader, &own_sink);
	assert_int_equal(pthread_create(&producer, NULL, own_one_after_the_other, NULL), 0);
	while (seen.owners < OWNERS || atomic_load(&slot->state) != RING_SLOT_FREE) {
		if (ring_reader_drain(&reader, &own_sink) == 0)
			sched_yield();
	}
	pthread_join(producer, &taken_over);
	assert_int_equal(seen.owners, OWNERS);
	assert_int_equal(seen.records, OWNER_RECORDS);
	assert_int_equal(seen.strange, 0);
	assert_int_equal(told.damaged, 0);
	assert_true((uintptr_t)taken_over > OWNERS / 100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(what_follows_in_a_ring_that_is_taken_over_is_another_threads),
		TEST(the_next_owner_of_a_drained_ring_is_the_slots_again),
		TEST(a_thread_that_moved_on_from_a_ring_it_took_over_stays_in_order),
		TEST(padding_is_not_taken_for_a_new_owner),
		TEST(a_hundred_thousand_short_owners_of_one_ring_lose_nothing),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
