/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of which one is damaged leave a set that decoding can rely on.
 */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bytes.h"
#include "event_model.h"
#include "pattern_set.h"
#include "record.h"
#include "trace_file.h"

/* A pattern of a wait; its size in the payload. */
static size_t add_pattern(uint8_t *to, uint16_t kind)
{
	struct record_sync record = {0};

	memset(to, 0, PATTERN_HEAD_BYTES);
	record.call.head.kind = kind;
	record.call.head.size_bytes = sizeof(record);
	memcpy(to + PATTERN_HEAD_BYTES, &record, sizeof(record));
	return PATTERN_HEAD_BYTES + sizeof(record);
}

static void a_damaged_pattern_leaves_the_beginning_of_lanes_defined(void **state)
{
	uint8_t payload[512] = {0};
	struct pattern_set set = {0};
	size_t bytes = PATTERNS_HEAD_BYTES;

	(void)state;
	/* Memory is never zero by chance. */
	mallopt(M_PERTURB, 0x5a);
	bytes_store32(payload, 1);
	bytes_store32(payload + 4, 2);
	bytes += add_pattern(payload + bytes, RECORD_KIND_sync);
	bytes += add_pattern(payload + bytes, 0xfff0);
	pattern_set_begin(&set, 1);
	assert_int_equal(pattern_set_add(&set, RECORD_KIND_call, payload, bytes), -EBADMSG);
	assert_int_equal(set.count, 2);
	assert_int_equal(set.kinds[0], 0);
	assert_true(set.states[0].next < EVENT_PATTERN_LIMIT);
	assert_int_equal(set.states[0].chain, 0);
	pattern_set_fini(&set);
	mallopt(M_PERTURB, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_damaged_pattern_leaves_the_beginning_of_lanes_defined),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
