/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is taken out of rings while the drains wait: the stage by itself, its order and its limits,
 * and the thread that does it.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "record.h"
#include "ring_reader.h"
#include "ring_relief.h"
#include "ring_stage.h"
#include "session_fixture.h"

#define RING_BYTES (128u * 1024)
#define MOST_PUT   (RING_BYTES / sizeof(struct record_call))

static struct {
	uint64_t records;
	uint32_t last_id[8];
	uint64_t lost[RECORD_KIND_LIMIT][16];
	uint32_t threads;
	int out_of_order;
	_Atomic uint32_t *wait_for; /* the sink waits until that is as large as wait_until */
	uint32_t wait_until;
	int waited_in_vain;
} told;

static struct session_fixture session;
static struct ring_reader reader;

static void tell_thread(void *context, uint32_t thread, uint32_t thread_id, uint64_t claimed_ticks)
{
	(void)context;
	(void)thread;
	(void)thread_id;
	(void)claimed_ticks;
	told.threads++;
}

/* A write that takes long, as far as rings can see. */
static void wait_for_producer(void)
{
	const struct timespec pause = {0, 1000000};

	for (int i = 0; i < 20000; i++) {
		if (atomic_load(told.wait_for) >= told.wait_until)
			return;
		nanosleep(&pause, NULL);
	}
	told.waited_in_vain = 1;
}

static void tell_records(void *context, uint32_t thread, const void *records, size_t bytes)
{
	const uint8_t *at = records;

	(void)context;
	if (told.wait_for)
		wait_for_producer();
	for (; bytes > 0; told.records++) {
		const struct record_call *call = (const struct record_call *)at;

		told.out_of_order |= call->call.call_id != told.last_id[thread % 8] + 1;
		told.last_id[thread % 8] = call->call.call_id;
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

/* Until the ring is full; the next number. */
static uint32_t fill(struct session_ring *ring, uint32_t id)
{
	while (session_ring_put_call(ring, id))
		id++;
	return id;
}

/* ---- the stage ---- */

static void put_piece(struct ring_stage *stage, uint32_t number, uint64_t bytes)
{
	const struct ring_piece piece = {
		.what = RING_PIECE_RECORDS, .slot = number, .bytes = bytes};

	memset(ring_stage_put(stage, &piece), (int)(number & 0xff), (size_t)bytes);
}

static void expect_piece(struct ring_stage *stage, uint32_t number)
{
	const struct ring_piece *piece;
	const uint8_t *bytes;

	/* What fills up to the end of the memory comes between. */
	while ((piece = ring_stage_next(stage, stage->write)) && piece->what == RING_PIECE_NONE)
		ring_stage_pop(stage, piece);
	assert_non_null(piece);
	assert_int_equal(piece->slot, number);
	bytes = (const uint8_t *)(piece + 1);
	for (uint64_t i = 0; i < piece->bytes; i++)
		assert_int_equal(bytes[i], number & 0xff);
	ring_stage_pop(stage, piece);
}

static void pieces_come_out_as_they_were_put_in_around_the_end_of_the_memory(void **state)
{
	uint32_t in = 0, out = 0, around = 0;
	struct ring_stage stage;

	(void)state;
	assert_int_equal(ring_stage_open(&stage, 65536), 0);
	srand(7);
	for (int i = 0; i < 20000; i++) {
		uint64_t wanted = (uint64_t)(rand() % 9000);

		if (ring_stage_room(&stage, wanted) == wanted && rand() % 2)
			put_piece(&stage, in++, wanted);
		else if (out < in)
			expect_piece(&stage, out++);
		around += stage.write > stage.size_bytes;
		assert_true(ring_stage_free(&stage) <= stage.size_bytes);
	}
	while (out < in)
		expect_piece(&stage, out++);
	assert_true(in > 4000 && around > 0);
	ring_stage_rewind(&stage);
	assert_int_equal(stage.write, 0);
	ring_stage_close(&stage);
}

static void a_full_stage_has_no_room_and_an_empty_one_has_all(void **state)
{
	struct ring_stage stage;

	(void)state;
	assert_int_equal(ring_stage_open(&stage, 65536), 0);
	assert_int_equal(ring_stage_room(&stage, UINT32_MAX), 65536 - sizeof(struct ring_piece));
	put_piece(&stage, 1, 65536 - sizeof(struct ring_piece));
	assert_int_equal(ring_stage_free(&stage), 0);
	assert_int_equal(ring_stage_room(&stage, 1), 0);
	expect_piece(&stage, 1);
	assert_int_equal(ring_stage_free(&stage), 65536);
	ring_stage_close(&stage);
}

/* ---- order and limits ---- */

static void what_was_taken_comes_before_what_followed(void **state)
{
	struct session_ring small, large;
	uint32_t id;

	(void)state;
	session_ring_claim(&session, &small, 0, 100, 1);
	id = fill(&small, 1);
	assert_true(ring_reader_relieve(&reader, 4));
	id = fill(&small, id); /* there is room again */
	assert_true(id > MOST_PUT * 3 / 2);
	assert_true(ring_reader_relieve(&reader, 4));
	assert_int_equal(told.records, 0);
	assert_true(ring_reader_waiting(&reader) > RING_BYTES);
	/* The thread moves on to another ring, which is met by whoever comes by first. */
	session_ring_claim(&session, &large, 1, 100, 1);
	session_ring_retire(&small);
	session_ring_put_call(&large, id++);
	assert_true(ring_reader_relieve(&reader, 4));
	session_ring_put_call(&large, id++);
	ring_reader_drain(&reader, &sink);
	assert_int_equal(told.records, id - 1);
	assert_int_equal(told.threads, 1);
	assert_false(told.out_of_order);
	assert_int_equal(ring_reader_waiting(&reader), 0);
	assert_int_equal(atomic_load(&small.slot->state), RING_SLOT_FREE);
}

static void a_ring_that_is_hardly_filled_is_left_to_the_drain(void **state)
{
	struct session_ring ring;

	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	session_ring_put_call(&ring, 1);
	ring_reader_drain(&reader, &sink);
	session_ring_put_call(&ring, 2);
	assert_true(ring_reader_relieve(&reader, 4));
	assert_int_equal(ring_reader_waiting(&reader), 0);
	ring_reader_drain(&reader, &sink);
	assert_int_equal(told.records, 2);
}

static void what_has_no_room_stays_in_its_ring(void **state)
{
	struct session_ring rings[3];
	uint32_t ids[3] = {1, 1, 1};

	(void)state;
	assert_int_equal(ring_reader_set_room(&reader, 256 * 1024), 0);
	for (uint32_t i = 0; i < 3; i++)
		session_ring_claim(&session, &rings[i], i, 100 + i, 1 + i);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 3; i++)
			ids[i] = fill(&rings[i], ids[i]);
		/* Records are taken as wholes up to the limit, and not one is lost by it. */
		assert_false(ring_reader_relieve(&reader, 4));
		assert_true(ring_reader_waiting(&reader) > 200 * 1024);
		ring_reader_drain(&reader, &sink);
	}
	assert_int_equal(told.records, ids[0] + ids[1] + ids[2] - 3);
	assert_int_equal(told.threads, 3);
	assert_int_equal(told.lost[0][LOSS_DAMAGED], 0);
	assert_false(told.out_of_order);
	assert_true(reader.stage.most_bytes > 200 * 1024);
}

static void drops_and_damage_are_told_of_what_was_taken(void **state)
{
	static const uint16_t no_size = 4;
	struct session_ring ring;
	uint32_t id, count;

	(void)state;
	session_ring_claim(&session, &ring, 0, 100, 1);
	id = fill(&ring, 1);
	session_ring_drop(&ring, RECORD_KIND_call);
	memcpy(ring.data + 5 * sizeof(struct record_call) + 2, &no_size, 2);
	assert_true(ring_reader_relieve(&reader, 4));
	/* What was committed with the damaged record goes with it, what came later is good. */
	for (count = 0; count < 10; count++)
		session_ring_put_call(&ring, 6 + count);
	session_ring_retire(&ring);
	assert_true(ring_reader_relieve(&reader, 4));
	ring_reader_drain(&reader, &sink);
	assert_true(id > 100);
	assert_int_equal(told.records, 5 + count);
	assert_false(told.out_of_order);
	assert_int_equal(told.lost[0][LOSS_DAMAGED], 1);
	assert_int_equal(told.lost[RECORD_KIND_call][LOSS_RING_FULL], 1);
	ring_reader_count_drops(&reader, &sink);
	assert_int_equal(told.lost[RECORD_KIND_call][LOSS_RING_FULL], 1);
}

static void random_memory_never_crashes_either_step(void **state)
{
	(void)state;
	srand(11);
	assert_int_equal(ring_reader_set_room(&reader, 256 * 1024), 0);
	for (int round = 0; round < 300; round++) {
		uint8_t *bytes = (uint8_t *)ring_slots(session.control);

		for (int i = 0; i < 64; i++)
			bytes[rand() % 192] = (uint8_t)rand();
		for (int i = 0; i < 64; i++)
			bytes[RING_CONTROL_BYTES - RING_SLOTS_OFFSET +
			      (size_t)rand() % (session.bytes - RING_CONTROL_BYTES)] =
				(uint8_t)rand();
		for (uint32_t i = 0; i < 3; i++)
			atomic_store(&ring_slots(session.control)[i].state,
				     rand() % 4 ? RING_SLOT_LIVE : RING_SLOT_RETIRED);
		ring_reader_relieve(&reader, 4);
		if (round % 3 == 0)
			ring_reader_drain(&reader, &sink);
		ring_reader_count_drops(&reader, &sink);
	}
	assert_true(told.lost[0][LOSS_DAMAGED] > 0);
}

/* ---- the thread ---- */

struct producer {
	struct session_ring ring;
	uint32_t count;
	_Atomic uint32_t put;
};

static void *produce(void *argument)
{
	struct producer *mine = argument;

	for (uint32_t id = 1; id <= mine->count; id++) {
		while (!session_ring_put_call(&mine->ring, id))
			sched_yield();
		atomic_store(&mine->put, id);
	}
	return NULL;
}

static void rings_are_emptied_while_a_drain_waits(void **state)
{
	static struct producer producer;
	struct ring_relief_thread *relief = ring_relief.start(&reader);
	pthread_t thread;

	(void)state;
	assert_non_null(relief);
	producer = (struct producer){.count = 20 * MOST_PUT};
	session_ring_claim(&session, &producer.ring, 0, 100, 1);
	session_ring_put_call(&producer.ring, 0);
	ring_reader_drain(&reader, &sink);
	told.records = 0;
	told.out_of_order = 0;
	assert_int_equal(pthread_create(&thread, NULL, produce, &producer), 0);
	while (atomic_load(&producer.put) == 0)
		sched_yield();
	/* The sink returns when twenty times what the ring holds was put. */
	told.wait_for = &producer.put;
	told.wait_until = producer.count;
	ring_relief.begin(relief);
	ring_reader_drain(&reader, &sink);
	ring_relief.end(relief);
	pthread_join(thread, NULL);
	ring_reader_drain(&reader, &sink);
	ring_relief.stop(relief);
	assert_false(told.waited_in_vain);
	assert_int_equal(told.records, producer.count);
	assert_false(told.out_of_order);
	assert_true(reader.stage.most_bytes > 10 * RING_BYTES);
	ring_reader_trim(&reader);
}

static void both_threads_together_lose_nothing(void **state)
{
	static struct producer producers[3];
	struct ring_relief_thread *relief = ring_relief.start(&reader);
	uint64_t wanted = 0;
	pthread_t threads[3];

	(void)state;
	assert_non_null(relief);
	for (uint32_t i = 0; i < 3; i++) {
		producers[i] = (struct producer){.count = 100000};
		wanted += producers[i].count;
		session_ring_claim(&session, &producers[i].ring, i, 100 + i, 1 + i);
		assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
	}
	for (int round = 0; told.records < wanted; round++) {
		const struct timespec pause = {0, 3000000};

		ring_relief.begin(relief);
		if (round % 8 == 0)
			nanosleep(&pause, NULL);
		ring_reader_drain(&reader, &sink);
		ring_reader_count_drops(&reader, &sink);
		if (round % 4 == 0)
			ring_reader_trim(&reader);
		ring_relief.end(relief);
	}
	for (uint32_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	ring_relief.stop(relief);
	assert_int_equal(told.threads, 3);
	assert_false(told.out_of_order);
	assert_int_equal(told.lost[0][LOSS_DAMAGED], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_come_out_as_they_were_put_in_around_the_end_of_the_memory),
		cmocka_unit_test(a_full_stage_has_no_room_and_an_empty_one_has_all),
		TEST(what_was_taken_comes_before_what_followed),
		TEST(a_ring_that_is_hardly_filled_is_left_to_the_drain),
		TEST(what_has_no_room_stays_in_its_ring),
		TEST(drops_and_damage_are_told_of_what_was_taken),
		TEST(random_memory_never_crashes_either_step),
		TEST(rings_are_emptied_while_a_drain_waits),
		TEST(both_threads_together_lose_nothing),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
