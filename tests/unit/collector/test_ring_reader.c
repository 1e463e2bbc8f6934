/* SPDX-License-Identifier: Apache-2.0 */
/* Rings of well-behaved and of hostile producers; drops are counted, damage stays where it is. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "error.h"
#include "record.h"
#include "ring_reader.h"
#include "session_fixture.h"

#define RING_BYTES RING_MIN_BYTES

/* What a reader told. */
static struct {
	uint64_t records, bytes;
	uint32_t last_id[8];
	uint64_t lost[RECORD_KIND_LIMIT][16];
	uint32_t threads;
	uint32_t thread_ids[64];
	int out_of_order;
} told;

static void tell_thread(void *context, uint32_t thread, uint32_t thread_id, uint64_t claimed_ticks)
{
	(void)context;
	(void)claimed_ticks;
	told.threads++;
	told.thread_ids[thread % 64] = thread_id;
}

static void tell_records(void *context, uint32_t thread, const void *records, size_t bytes)
{
	const uint8_t *at = records;

	(void)context;
	told.bytes += bytes;
	while (bytes > 0) {
		const struct record_call *call = (const struct record_call *)at;

		if (call->call.head.kind == RECORD_KIND_call) {
			told.out_of_order |= call->call.call_id != told.last_id[thread % 8] + 1;
			told.last_id[thread % 8] = call->call.call_id;
		}
		told.records++;
		at += call->call.head.size_bytes;
		bytes -= call->call.head.size_bytes;
	}
}

static void tell_lost(void *context, uint16_t kind, uint16_t reason, uint64_t count)
{
	(void)context;
	told.lost[kind % RECORD_KIND_LIMIT][reason] += count;
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

static struct record_call make_call(uint32_t id)
{
	return (struct record_call){
		.call = {.head = {.kind = RECORD_KIND_call,
				  .size_bytes = sizeof(struct record_call)},
			 .call_id = id},
	};
}

static bool put(uint32_t id)
{
	const struct record_call call = make_call(id);

	return session_ring_put(&ring, &call);
}

static void records_come_in_order_over_many_rounds_of_the_ring(void **state)
{
	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	for (uint32_t id = 1; id <= 20000;) {
		while (id <= 20000 && put(id))
			id++;
		ring_reader_drain(&reader, &sink);
	}
	assert_int_equal(told.records, 20000);
	assert_false(told.out_of_order);
	assert_int_equal(told.threads, 1);
	assert_int_equal(told.thread_ids[1], 100);
}

/* Slot 2 is the thread's first ring; slot 0, with the room of two, that which it moved to. */
static void a_thread_that_moved_to_a_larger_ring_stays_in_order(void **state)
{
	const struct record_call third = make_call(3);
	struct session_ring larger;

	(void)state;
	session_ring_claim(&session, &ring, 2, 100, 1);
	put(1);
	ring_reader_drain(&reader, &sink);
	put(2);
	ring_slots(session.control)[0].data_bytes = 2 * RING_BYTES;
	session_ring_claim(&session, &larger, 0, 100, 1);
	session_ring_put(&larger, &third);
	ring_reader_drain(&reader, &sink);
	assert_int_equal(told.records, 3);
	assert_false(told.out_of_order);
	assert_int_equal(told.threads, 1);
}

static void drops_are_counted_by_kind_when_the_ring_is_full(void **state)
{
	uint64_t dropped = 0;

	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	for (uint32_t id = 1; id <= 3000; id++) {
		if (!put(id)) {
			session_ring_drop(&ring, RECORD_KIND_call);
			dropped++;
		}
	}
	assert_true(dropped > 0);
	ring_reader_drain(&reader, &sink);
	ring_reader_count_drops(&reader, &sink);
	assert_int_equal(told.lost[RECORD_KIND_call][LOSS_RING_FULL], dropped);
	ring_reader_count_drops(&reader, &sink);
	assert_int_equal(told.lost[RECORD_KIND_call][LOSS_RING_FULL], dropped);
	assert_int_equal(told.records + dropped, 3000);
}

static void calls_of_threads_without_a_ring_are_counted(void **state)
{
	(void)state;
	atomic_store(&session.control->unrecorded, 12);
	ring_reader_count_drops(&reader, &sink);
	atomic_store(&session.control->unrecorded, 15);
	ring_reader_count_drops(&reader, &sink);
	assert_int_equal(told.lost[0][LOSS_NO_RING], 15);
}

static void retired_slots_are_drained_and_freed(void **state)
{
	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	put(1);
	session_ring_drop(&ring, RECORD_KIND_call);
	session_ring_retire(&ring);
	ring_reader_drain(&reader, &sink);
	assert_int_equal(told.records, 1);
	assert_int_equal(told.lost[RECORD_KIND_call][LOSS_RING_FULL], 1);
	assert_int_equal(atomic_load(&ring.slot->state), RING_SLOT_FREE);
}

static void the_next_owner_of_a_slot_is_another_thread(void **state)
{
	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	put(1);
	session_ring_retire(&ring);
	ring_reader_drain(&reader, &sink);
	session_ring_claim(&session, &ring, 0, 100, 2); /* same thread id, later */
	put(1);
	ring_reader_drain(&reader, &sink);
	assert_int_equal(told.threads, 2);
	assert_int_equal(told.last_id[1], 1);
	assert_int_equal(told.last_id[2], 1);
	assert_int_equal(told.lost[RECORD_KIND_call][LOSS_RING_FULL], 0);
}

static void a_thread_that_moves_to_another_ring_keeps_its_number(void **state)
{
	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	put(1);
	ring_reader_drain(&reader, &sink);
	session_ring_retire(&ring);
	session_ring_claim(&session, &ring, 1, 100, 1);
	put(2);
	ring_reader_drain(&reader, &sink);
	assert_int_equal(told.threads, 1);
	assert_int_equal(told.last_id[1], 2);
	assert_false(told.out_of_order);
}

static void claimed_slots_are_not_read(void **state)
{
	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	put(1);
	atomic_store(&ring.slot->state, RING_SLOT_CLAIMED);
	ring_reader_drain(&reader, &sink);
	assert_int_equal(told.records, 0);
}

/* ---- hostile memory ---- */

static void a_head_beyond_the_ring_is_damage_and_the_ring_goes_on(void **state)
{
	static const uint64_t heads[] = {RING_BYTES + 8, UINT64_MAX, UINT64_MAX - 7, 1ull << 63};

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		end(NULL);
		begin(NULL);
		session_ring_claim(&session, &ring, 0, 100, 1);
		atomic_store(&ring.header->head, heads[i]);
		ring_reader_drain(&reader, &sink);
		assert_int_equal(told.records, 0);
		assert_int_equal(told.lost[0][LOSS_DAMAGED], 1);
		ring_reader_drain(&reader, &sink);
		assert_int_equal(told.lost[0][LOSS_DAMAGED], 1);
	}
}

static void a_head_that_goes_back_is_damage(void **state)
{
	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	put(1);
	put(2);
	ring_reader_drain(&reader, &sink);
	atomic_store(&ring.header->head, sizeof(struct record_call));
	ring_reader_drain(&reader, &sink);
	assert_int_equal(told.records, 2);
	assert_int_equal(told.lost[0][LOSS_DAMAGED], 1);
}

static void the_shared_tail_is_not_believed(void **state)
{
	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	put(1);
	ring_reader_drain(&reader, &sink);
	atomic_store(&ring.header->tail, 12345678);
	put(2);
	ring.head = atomic_load(&ring.header->head);
	ring_reader_drain(&reader, &sink);
	assert_true(told.records >= 1);
	assert_false(told.out_of_order);
}

static void records_of_impossible_size_end_what_is_there(void **state)
{
	static const uint16_t sizes[] = {0, 1, 4, 7, 12, 65535, 65528};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		end(NULL);
		begin(NULL);
		session_ring_claim(&session, &ring, 0, 100, 1);
		put(1);
		put(2);
		put(3);
		memcpy(ring.data + sizeof(struct record_call) + 2, &sizes[i], 2);
		ring_reader_drain(&reader, &sink);
		assert_int_equal(told.records, 1);
		assert_int_equal(told.lost[0][LOSS_DAMAGED], 1);
		/* What is committed afterwards is good again. */
		put(2);
		ring_reader_drain(&reader, &sink);
		assert_int_equal(told.records, 2);
	}
}

static void slots_with_impossible_numbers_are_refused(void **state)
{
	static const struct {
		uint64_t offset;
		uint32_t data_bytes;
	} slots[] = {
		{0, RING_BYTES},
		{RING_CONTROL_BYTES, 0},
		{RING_CONTROL_BYTES, RING_BYTES + 8},
		{RING_CONTROL_BYTES, RING_BYTES / 2},
		{RING_CONTROL_BYTES, RING_MAX_BYTES},
		{RING_CONTROL_BYTES, 1u << 31},
		{RING_CONTROL_BYTES + 8, RING_BYTES},
		{UINT64_MAX - 4095, RING_BYTES},
		{1ull << 40, RING_BYTES},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		struct ring_slot *slot;

		end(NULL);
		begin(NULL);
		slot = &ring_slots(session.control)[0];
		slot->offset = slots[i].offset;
		slot->data_bytes = slots[i].data_bytes;
		slot->generation = 1;
		atomic_store(&slot->state, RING_SLOT_LIVE);
		ring_reader_drain(&reader, &sink);
		assert_int_equal(told.records, 0);
		assert_int_equal(told.lost[0][LOSS_DAMAGED], 1);
		atomic_store(&slot->state, RING_SLOT_RETIRED);
		ring_reader_drain(&reader, &sink);
		assert_int_equal(atomic_load(&slot->state), RING_SLOT_FREE);
		assert_int_equal(told.lost[0][LOSS_DAMAGED], 1);
	}
}

static void random_memory_never_crashes_the_reader(void **state)
{
	uint64_t random = 42;

	(void)state;
	for (int round = 0; round < 300; round++) {
		end(NULL);
		begin(NULL);
		session_ring_claim(&session, &ring, 0, 100, 1);
		for (uint32_t at = 0; at < RING_BYTES; at += 8) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			memcpy(ring.data + at, &random, 8);
			/* Plausible small sizes now and then, so that the walk goes on. */
			if (random >> 60 < 8)
				ring.data[at + 3] = 0;
			if (random >> 60 < 8)
				ring.data[at + 2] &= 0x78;
		}
		atomic_store(&ring.header->head, (random >> 20) % (2 * RING_BYTES) / 8 * 8);
		ring_reader_drain(&reader, &sink);
		ring_reader_drain(&reader, &sink);
	}
	assert_true(told.bytes <= 2ull * RING_BYTES);
}

static void memory_that_can_shrink_is_refused(void **state)
{
	struct ring_reader other;
	struct error err = {0};
	int fd = memfd_create("gputrace", MFD_ALLOW_SEALING);

	(void)state;
	assert_int_equal(ftruncate(fd, RING_CONTROL_BYTES), 0);
	assert_int_equal(ring_reader_open(&other, fd, &err), -EPROTO);
	assert_non_null(strstr(err.text, "sealed"));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(ring_reader_open(&other, fd, &err), -EPROTO);
	assert_non_null(strstr(err.text, "not a gputrace session"));
	close(fd);
}

/* ---- both sides at once ---- */

#define RACE_RECORDS 300000u

static void *produce(void *argument)
{
	struct session_ring *mine = argument;

	for (uint32_t id = 1; id <= RACE_RECORDS; id++) {
		const struct record_call call = make_call(id);

		while (!session_ring_put(mine, &call))
			sched_yield();
	}
	session_ring_retire(mine);
	return NULL;
}

static void two_producers_and_a_reader_lose_nothing(void **state)
{
	struct session_ring rings[2];
	pthread_t threads[2];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		session_ring_claim(&session, &rings[i], i, 100 + i, 1 + i);
		assert_int_equal(pthread_create(&threads[i], NULL, produce, &rings[i]), 0);
	}
	while (atomic_load(&rings[0].slot->state) != RING_SLOT_FREE ||
	       atomic_load(&rings[1].slot->state) != RING_SLOT_FREE) {
		if (ring_reader_drain(&reader, &sink) == 0)
			sched_yield();
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	assert_int_equal(told.records, 2 * RACE_RECORDS);
	assert_int_equal(told.threads, 2);
	assert_false(told.out_of_order);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(records_come_in_order_over_many_rounds_of_the_ring),
		TEST(drops_are_counted_by_kind_when_the_ring_is_full),
		TEST(calls_of_threads_without_a_ring_are_counted),
		TEST(retired_slots_are_drained_and_freed),
		TEST(the_next_owner_of_a_slot_is_another_thread),
		TEST(a_thread_that_moves_to_another_ring_keeps_its_number),
		TEST(a_thread_that_moved_to_a_larger_ring_stays_in_order),
		TEST(claimed_slots_are_not_read),
		TEST(a_head_beyond_the_ring_is_damage_and_the_ring_goes_on),
		TEST(a_head_that_goes_back_is_damage),
		TEST(the_shared_tail_is_not_believed),
		TEST(records_of_impossible_size_end_what_is_there),
		TEST(slots_with_impossible_numbers_are_refused),
		TEST(random_memory_never_crashes_the_reader),
		cmocka_unit_test(memory_that_can_shrink_is_refused),
		TEST(two_producers_and_a_reader_lose_nothing),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
