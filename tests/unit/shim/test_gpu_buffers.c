/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers for CUPTI's records: used again, bounded, zeroed, and what does not fit is counted, from
 * several threads of CUPTI at once.
 */
#include "../../../shim/gpu_buffers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "../../../shim/gpu_records.h"

#define MOST	4096 /* far more than there can be */
#define THREADS 4
#define ROUNDS	20000

static _Atomic uint64_t dropped, read_bytes, read_buffers;

void gpu_records_count_dropped(uint64_t count)
{
	atomic_fetch_add(&dropped, count);
}

static void read_one(void *context, uint8_t *bytes, size_t valid_size)
{
	(void)context;
	for (size_t i = 0; i < valid_size; i++)
		assert_int_equal(bytes[i], 0xa5);
	atomic_fetch_add(&read_bytes, valid_size);
	atomic_fetch_add(&read_buffers, 1);
}

static int start_anew(void **state)
{
	(void)state;
	gpu_buffers_forget();
	dropped = read_bytes = read_buffers = 0;
	return 0;
}

static uint8_t *request(size_t *size)
{
	uint8_t *bytes = NULL;
	size_t max_records = 17;

	errno = 1234;
	gpu_buffers_request(&bytes, size, &max_records);
	assert_int_equal(errno, 1234);
	assert_non_null(bytes);
	assert_int_equal((uintptr_t)bytes % 8, 0);
	assert_int_equal(max_records, 0);
	return bytes;
}

static void a_buffer_is_used_again_and_zeroed(void **state)
{
	size_t size;
	uint8_t *first;

	(void)state;
	gpu_buffers_prepare();
	first = request(&size);
	for (int round = 0; round < 1000; round++) {
		uint8_t *bytes = round ? request(&size) : first;

		assert_ptr_equal(bytes, first);
		for (size_t i = 0; i < 1000; i++)
			assert_int_equal(bytes[i], 0);
		memset(bytes, 0xa5, 1000);
		assert_true(gpu_buffers_complete(bytes, 1000));
		assert_true(gpu_buffers_unread() > 0);
		gpu_buffers_drain(read_one, NULL);
		assert_int_equal(gpu_buffers_unread(), 0);
	}
	assert_int_equal(read_bytes, 1000 * 1000);
	assert_int_equal(dropped, 0);
}

static void memory_is_bounded_and_what_does_not_fit_is_counted(void **state)
{
	uint8_t *held[MOST], *bytes;
	size_t size, whole, total = 0;
	unsigned int count = 0;

	(void)state;
	held[count++] = request(&whole);
	total = whole;
	while (count < MOST && (bytes = request(&size)) && size == whole) {
		for (unsigned int i = 0; i < count; i++)
			assert_ptr_not_equal(bytes, held[i]);
		held[count++] = bytes;
		total += size;
	}
	/* 256 MiB, and then a small one whose records nobody reads. */
	assert_true(count < MOST);
	assert_true(total <= (size_t)256 << 20);
	assert_true(size < whole);
	assert_int_equal(dropped, 0);
	assert_true(gpu_buffers_complete(bytes, 10 * 224));
	assert_int_equal(dropped, 10);
	gpu_buffers_drain(read_one, NULL);
	assert_int_equal(read_buffers, 0);
	/* One comes back, and the next is a whole one again. */
	memset(held[7], 0xa5, 100);
	assert_true(gpu_buffers_complete(held[7], 100));
	gpu_buffers_drain(read_one, NULL);
	assert_ptr_equal(request(&size), held[7]);
	assert_int_equal(size, whole);
}

static void buffers_that_are_not_ours_are_left_to_others(void **state)
{
	uint8_t foreign[64];
	size_t size;
	uint8_t *bytes = request(&size);

	(void)state;
	assert_false(gpu_buffers_complete(foreign, sizeof(foreign)));
	assert_false(gpu_buffers_complete(NULL, 100));
	assert_true(gpu_buffers_complete(bytes, 0));
	/* Not out any more: a second time it is nobody's. */
	assert_false(gpu_buffers_complete(bytes, 100));
	gpu_buffers_drain(read_one, NULL);
	assert_int_equal(read_bytes, 0);
	assert_int_equal(dropped, 0);
}

/* More than the buffer has would be read past its end. */
static void a_valid_size_beyond_the_buffer_is_cut(void **state)
{
	size_t size;
	uint8_t *bytes = request(&size);

	(void)state;
	memset(bytes, 0xa5, size);
	assert_true(gpu_buffers_complete(bytes, size * 3));
	gpu_buffers_drain(read_one, NULL);
	assert_int_equal(read_bytes, size);
}

static _Atomic uint64_t written;

static void *fill_some(void *unused)
{
	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		size_t size, used = 8 + (size_t)round % 64;
		uint8_t *bytes = NULL;
		size_t max_records;

		gpu_buffers_request(&bytes, &size, &max_records);
		if (size >= 1 << 20) {
			memset(bytes, 0xa5, used);
			atomic_fetch_add(&written, used);
		}
		gpu_buffers_complete(bytes, used);
	}
	return NULL;
}

static void several_threads_lose_nothing(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	written = 0;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fill_some, NULL), 0);
	for (int round = 0; round < 1000; round++) {
		gpu_buffers_prepare();
		gpu_buffers_drain(read_one, NULL);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	gpu_buffers_drain(read_one, NULL);
	/* Each is read, or was too many and is counted. */
	assert_int_equal(read_bytes, written);
	assert_int_equal(read_buffers + dropped, THREADS * ROUNDS);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_buffer_is_used_again_and_zeroed, start_anew),
		cmocka_unit_test_setup(memory_is_bounded_and_what_does_not_fit_is_counted,
				       start_anew),
		cmocka_unit_test_setup(buffers_that_are_not_ours_are_left_to_others, start_anew),
		cmocka_unit_test_setup(a_valid_size_beyond_the_buffer_is_cut, start_anew),
		cmocka_unit_test_setup(several_threads_lose_nothing, start_anew),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
