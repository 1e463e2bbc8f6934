/* SPDX-License-Identifier: Apache-2.0 */
/* Heads and headers: what is stored comes back, one wrong bit is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "trace_chunk.h"

static const struct chunk_header sample = {
	.type = CHUNK_COLUMNS,
	.kind = 20,
	.sequence = 0x0102030405060708ull,
	.covers_sequence = 77,
	.first_time = 5,
	.last_time = UINT64_MAX,
	.row_count = 65536,
	.thread = 9,
	.flags = CHUNK_TAIL,
	.payload_bytes = 12345,
	.decoded_bytes = 54321,
	.payload_crc = 0xdeadbeef,
	.segment = 3,
	.complete_ticks = 0x1122334455667788ull,
};

static void a_header_comes_back(void **state)
{
	uint8_t bytes[CHUNK_HEADER_BYTES];
	struct chunk_header loaded = {0};

	(void)state;
	chunk_header_store(bytes, &sample);
	assert_true(chunk_header_load(bytes, &loaded));
	assert_memory_equal(&loaded, &sample, sizeof(sample));
}

static void a_header_with_one_wrong_bit_is_refused(void **state)
{
	uint8_t bytes[CHUNK_HEADER_BYTES];
	struct chunk_header loaded;

	(void)state;
	chunk_header_store(bytes, &sample);
	for (unsigned int bit = 0; bit < CHUNK_HEADER_BYTES * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_false(chunk_header_load(bytes, &loaded));
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static void a_header_with_impossible_sizes_is_refused(void **state)
{
	uint8_t bytes[CHUNK_HEADER_BYTES];
	struct chunk_header header = sample, loaded;

	(void)state;
	header.decoded_bytes = CHUNK_MAX_PAYLOAD + 1;
	chunk_header_store(bytes, &header);
	assert_false(chunk_header_load(bytes, &loaded));
	header = sample;
	header.payload_bytes = UINT32_MAX;
	chunk_header_store(bytes, &header);
	assert_false(chunk_header_load(bytes, &loaded));
}

static void a_head_comes_back_and_one_wrong_bit_is_refused(void **state)
{
	const struct trace_head head = {.version_major = 1,
					.version_minor = 2,
					.start_realtime_ns = 99,
					.session_id = {1, 2, 3},
					.clock_kind = 1};
	uint8_t bytes[TRACE_HEAD_BYTES];
	struct trace_head loaded = {0};

	(void)state;
	trace_head_store(bytes, &head);
	assert_true(trace_head_load(bytes, &loaded));
	assert_memory_equal(&loaded, &head, sizeof(head));
	for (unsigned int bit = 0; bit < TRACE_HEAD_BYTES * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_false(trace_head_load(bytes, &loaded));
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static void chunks_end_at_multiples_of_eight(void **state)
{
	(void)state;
	for (uint32_t bytes = 0; bytes < 100; bytes++) {
		const struct chunk_header header = {.payload_bytes = bytes};
		uint32_t padding = chunk_padding_bytes(bytes);

		assert_int_equal(chunk_disk_bytes(&header) % 8, 0);
		assert_true(padding == 0 || (padding >= 8 && padding < 16));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_comes_back),
		cmocka_unit_test(a_header_with_one_wrong_bit_is_refused),
		cmocka_unit_test(a_header_with_impossible_sizes_is_refused),
		cmocka_unit_test(a_head_comes_back_and_one_wrong_bit_is_refused),
		cmocka_unit_test(chunks_end_at_multiples_of_eight),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
