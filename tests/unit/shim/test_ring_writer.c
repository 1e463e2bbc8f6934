/* SPDX-License-Identifier: Apache-2.0 */
/* The ring's writer against a reader that follows ring.h. */
#include "../../../shim/ring_writer.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../collector/format/record.h"

#define DATA_BYTES (32u * 1024)

struct test_record {
	struct record_head head;
	uint64_t number;
	unsigned char filling[];
};

static struct ring_header *new_ring(void)
{
	size_t size = RING_HEADER_BYTES + DATA_BYTES;
	return memset(aligned_alloc(4096, (size + 4095) & ~(size_t)4095), 0, size);
}

static bool write_record(struct ring_writer *writer, uint64_t number, size_t size)
{
	struct test_record *record = ring_writer_reserve(writer, size);
	if (!record)
		return false;
	record->head = (struct record_head){1, (uint16_t)size, 0};
	record->number = number;
	memset(record->filling, (int)number, size - sizeof(*record));
	ring_writer_commit(writer, size);
	return true;
}

/* Reads one record as the collector would; false when there is none. */
static bool read_record(struct ring_header *header, uint64_t *tail, uint64_t *number)
{
	const unsigned char *data = (const unsigned char *)header + RING_HEADER_BYTES;
	for (;;) {
		uint64_t head = atomic_load_explicit(&header->head, memory_order_acquire);
		if (*tail == head)
			return false;
		uint64_t offset = *tail & (DATA_BYTES - 1);
		const struct test_record *record = (const void *)(data + offset);
		assert_true(record->head.size_bytes >= 8 && record->head.size_bytes % 8 == 0);
		assert_true(offset + record->head.size_bytes <= DATA_BYTES);
		bool is_pad = record->head.kind == RECORD_PAD;
		if (!is_pad) {
			*number = record->number;
			for (size_t i = sizeof(*record); i < record->head.size_bytes; i++)
				assert_int_equal(((const unsigned char *)record)[i],
						 (unsigned char)record->number);
		}
		*tail += record->head.size_bytes;
		atomic_store_explicit(&header->tail, *tail, memory_order_release);
		if (!is_pad)
			return true;
	}
}

static void records_come_out_as_they_went_in(void **state)
{
	(void)state;
	struct ring_header *header = new_ring();
	struct ring_writer writer;
	uint64_t tail = 0, number;
	ring_writer_attach(&writer, header, DATA_BYTES, 0, 0);
	for (uint64_t i = 0; i < 5000; i++) {
		/* Sizes that never divide the ring evenly: pads of every length. */
		assert_true(write_record(&writer, i, 16 + 8 * (i * 7 % 61)));
		assert_true(read_record(header, &tail, &number));
		assert_int_equal(number, i);
	}
	assert_false(read_record(header, &tail, &number));
	free(header);
}

static void a_full_ring_takes_nothing_until_it_is_read(void **state)
{
	(void)state;
	struct ring_header *header = new_ring();
	struct ring_writer writer;
	uint64_t tail = 0, number, written = 0;
	ring_writer_attach(&writer, header, DATA_BYTES, 0, 0);
	while (write_record(&writer, written, 96))
		written++;
	assert_int_equal(written, DATA_BYTES / 96);
	assert_false(write_record(&writer, written, 96));
	for (int i = 0; i < 3; i++)
		assert_true(read_record(header, &tail, &number));
	assert_true(write_record(&writer, written, 96));
	for (uint64_t i = 3; i <= written; i++) {
		assert_true(read_record(header, &tail, &number));
		assert_int_equal(number, i);
	}
	free(header);
}

static void a_large_record_fits_an_empty_ring(void **state)
{
	(void)state;
	struct ring_header *header = new_ring();
	struct ring_writer writer;
	uint64_t tail = 0, number;
	ring_writer_attach(&writer, header, DATA_BYTES, 0, 0);
	assert_true(write_record(&writer, 1, DATA_BYTES / 2 + 8));
	assert_true(read_record(header, &tail, &number));
	/* Half of the ring is pad now; the record itself must still find its place. */
	assert_false(write_record(&writer, 2, DATA_BYTES / 2 + 1024));
	assert_true(write_record(&writer, 2, DATA_BYTES / 2 - 8));
	assert_true(read_record(header, &tail, &number));
	assert_int_equal(number, 2);
	free(header);
}

static void an_unbelievable_tail_counts_as_full(void **state)
{
	(void)state;
	struct ring_header *header = new_ring();
	struct ring_writer writer;
	const uint64_t lies[] = {1, UINT64_MAX, 1ull << 63, DATA_BYTES};
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		atomic_store(&header->tail, lies[i]);
		ring_writer_attach(&writer, header, DATA_BYTES, 0, 0);
		assert_false(write_record(&writer, 1, 96));
		assert_int_equal(ring_writer_used(&writer), DATA_BYTES);
	}
	free(header);
}

static void a_new_owner_goes_on_where_the_old_one_left(void **state)
{
	(void)state;
	struct ring_header *header = new_ring();
	struct ring_writer writer;
	uint64_t tail = 0, number;
	ring_writer_attach(&writer, header, DATA_BYTES, 0, 0);
	assert_true(write_record(&writer, 1, 200));
	uint64_t head = writer.head;
	memset(&writer, 0xa5, sizeof(writer));
	ring_writer_attach(&writer, header, DATA_BYTES, 0, head);
	assert_true(write_record(&writer, 2, 200));
	assert_true(read_record(header, &tail, &number));
	assert_true(read_record(header, &tail, &number));
	assert_int_equal(number, 2);
	free(header);
}

static void drops_are_counted_by_kind(void **state)
{
	(void)state;
	struct ring_header *header = new_ring();
	struct ring_writer writer;
	ring_writer_attach(&writer, header, DATA_BYTES, 0, 0);
	for (int i = 0; i < 3; i++)
		ring_writer_drop(&writer, RECORD_KIND_copy);
	ring_writer_drop(&writer, RECORD_KIND_launch);
	assert_int_equal(header->dropped[RECORD_KIND_copy], 3);
	assert_int_equal(header->dropped[RECORD_KIND_launch], 1);
	free(header);
}

#define RACE_RECORDS 50000u

static void *racing_writer(void *argument)
{
	struct ring_writer *writer = argument;
	for (uint64_t i = 0; i < RACE_RECORDS;) {
		if (write_record(writer, i, 16 + 8 * (i % 29)))
			i++;
	}
	return NULL;
}

static void a_reader_on_another_thread_misses_nothing(void **state)
{
	(void)state;
	struct ring_header *header = new_ring();
	struct ring_writer writer;
	pthread_t thread;
	uint64_t tail = 0, number;
	ring_writer_attach(&writer, header, DATA_BYTES, 0, 0);
	pthread_create(&thread, NULL, racing_writer, &writer);
	for (uint64_t expected = 0; expected < RACE_RECORDS;) {
		if (!read_record(header, &tail, &number))
			continue;
		assert_int_equal(number, expected);
		expected++;
	}
	pthread_join(thread, NULL);
	free(header);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_out_as_they_went_in),
		cmocka_unit_test(a_full_ring_takes_nothing_until_it_is_read),
		cmocka_unit_test(a_large_record_fits_an_empty_ring),
		cmocka_unit_test(an_unbelievable_tail_counts_as_full),
		cmocka_unit_test(a_new_owner_goes_on_where_the_old_one_left),
		cmocka_unit_test(drops_are_counted_by_kind),
		cmocka_unit_test(a_reader_on_another_thread_misses_nothing),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
