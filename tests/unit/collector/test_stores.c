/* SPDX-License-Identifier: Apache-2.0 */
/* What a writer keeps in memory: names once, rows by kind, losses by kind and reason. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "loss_table.h"
#include "record.h"
#include "row_store.h"
#include "sample_record.h"
#include "text_store.h"

static uint32_t count_texts(const struct text_store *store, size_t offset)
{
	uint32_t count = 0;
	size_t bytes;

	while (text_store_next(store, &offset, &bytes))
		count++;
	return count;
}

static void a_thing_is_kept_once_and_again_when_it_changes(void **state)
{
	_Alignas(8) uint8_t record[SAMPLE_MAX_BYTES];
	struct text_store *store = text_store_new();
	size_t size = sample_text_record(record, RECORD_KIND_device, 1, 16);

	(void)state;
	assert_int_equal(text_store_add(store, record, size), 1);
	assert_int_equal(text_store_add(store, record, size), 0);
	((struct record_device *)record)->link_gen = 4;
	assert_int_equal(text_store_add(store, record, size), 1);
	assert_int_equal(count_texts(store, 0), 1);
	text_store_mark(store);
	assert_int_equal(text_store_new_bytes(store), 0);
	((struct record_device *)record)->link_gen = 5;
	assert_int_equal(text_store_add(store, record, size), 1);
	assert_int_equal(count_texts(store, text_store_marked(store)), 1);
	assert_int_equal(count_texts(store, 0), 1);
	text_store_free(store);
}

static void things_of_different_kinds_and_spaces_are_different(void **state)
{
	static const uint16_t kinds[] = {RECORD_KIND_name,    RECORD_KIND_info,
					 RECORD_KIND_device,  RECORD_KIND_thread,
					 RECORD_KIND_library, RECORD_KIND_site};
	_Alignas(8) uint8_t record[SAMPLE_MAX_BYTES];
	struct text_store *store = text_store_new();

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		for (uint64_t number = 1; number <= 3000; number++) {
			size_t size = sample_text_record(record, kinds[i], number, 32);

			assert_int_equal(text_store_add(store, record, size), 1);
		}
	}
	sample_text_record(record, RECORD_KIND_name, 1, 32);
	((struct record_name *)record)->space = NAME_API;
	assert_int_equal(text_store_add(store, record, sizeof(struct record_name) + 32), 1);
	assert_int_equal(count_texts(store, 0), 6 * 3000 + 1);
	text_store_clear(store);
	assert_int_equal(count_texts(store, 0), 0);
	assert_int_equal(text_store_bytes(store), 0);
	text_store_free(store);
}

static void rows_stay_in_order_over_growing_and_clearing(void **state)
{
	_Alignas(8) uint8_t record[SAMPLE_MAX_BYTES];
	struct row_store *store = row_store_new();
	struct row_columns columns;

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (uint32_t row = 0; row < 10000; row++) {
			sample_record(record, RECORD_KIND_set, SAMPLE_RISING, row);
			assert_int_equal(row_store_add(store, row, RECORD_KIND_set, record), 0);
		}
		assert_int_equal(row_store_count(store), 10000);
		assert_int_equal(row_store_columns(store, RECORD_KIND_set, &columns), 0);
		assert_int_equal(columns.count, 10000);
		for (uint32_t row = 0; row < 10000; row++) {
			const struct record_set *set = (const struct record_set *)record;

			sample_record(record, RECORD_KIND_set, SAMPLE_RISING, row);
			assert_int_equal(((const uint64_t *)columns.values[0])[row],
					 set->call.begin_ticks);
			assert_int_equal(columns.threads[row], row);
		}
		assert_int_equal(columns.first_time, ((const uint64_t *)columns.values[0])[0]);
		assert_true(columns.last_time >= ((const uint64_t *)columns.values[0])[9999]);
		row_store_clear(store);
		assert_int_equal(row_store_count(store), 0);
		assert_int_equal(row_store_count_of(store, RECORD_KIND_set), 0);
	}
	row_store_free(store);
}

static int sum_loss(void *context, const struct record_loss *loss)
{
	*(uint64_t *)context += loss->count;
	return 0;
}

static void losses_are_counted_once_in_the_tail_and_once_for_good(void **state)
{
	static struct loss_table table;
	uint64_t sum = 0;

	(void)state;
	loss_table_add(&table, RECORD_KIND_call, LOSS_RING_FULL, 5, 1);
	loss_table_add(&table, RECORD_KIND_copy, LOSS_WRITE, 7, 2);
	loss_table_add(&table, 9999, 9999, 1, 3);
	loss_table_each(&table, 1, sum_loss, &sum);
	assert_int_equal(sum, 13);
	loss_table_in_tail(&table);
	loss_table_add(&table, RECORD_KIND_call, LOSS_RING_FULL, 2, 4);
	sum = 0;
	loss_table_each(&table, 1, sum_loss, &sum);
	assert_int_equal(sum, 2);
	sum = 0;
	loss_table_each(&table, 0, sum_loss, &sum);
	assert_int_equal(sum, 15);
	loss_table_settled(&table);
	sum = 0;
	loss_table_each(&table, 0, sum_loss, &sum);
	assert_int_equal(sum, 0);
	assert_int_equal(table.total[RECORD_KIND_call], 7);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thing_is_kept_once_and_again_when_it_changes),
		cmocka_unit_test(things_of_different_kinds_and_spaces_are_different),
		cmocka_unit_test(rows_stay_in_order_over_growing_and_clearing),
		cmocka_unit_test(losses_are_counted_once_in_the_tail_and_once_for_good),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
