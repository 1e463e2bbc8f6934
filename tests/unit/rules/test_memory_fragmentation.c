/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT401: half of the memory is unusable because small live blocks split every segment.
 */
#include <string.h>

#include "memory_bench.h"

static void segments_pinned_by_small_blocks_are_fragmentation(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	/* pytorch#35901: 512 segments of 20 MiB, each kept by a block of 1 MiB. */
	memory_bench_init(&bench, 11 * GIB);
	memory_fragmented_failure(&bench, 512);
	bench_run(&bench);
	finding = bench_only(&bench, "GT401");
	assert_true(finding->is_failure);
	assert_int_equal(finding->severity, SEVERITY_HIGH);
	assert_float_equal(bench_number(finding, "fragmented_bytes"), 512.0 * 19 * MIB, 1);
	assert_float_equal((bench_number(finding, "map_fragmented_bytes") /
			    bench_number(finding, "map_reserved_bytes")),
			   0.95, 0.01);
	assert_float_equal(bench_number(finding, "map_releasable_bytes"), 0, 0);
	assert_float_equal(bench_number(finding, "map_largest_free_bytes"), 19.0 * MIB, 0);
	assert_float_equal(bench_number(finding, "requested_bytes"), 512.0 * MIB, 0);
	assert_float_equal(bench_number(finding, "failures"), 1, 0);
	assert_string_equal(bench_text(finding, "expandable_segments_would_pass"), "yes");
	assert_non_null(strstr(bench_text(finding, "blocking_site_1"), "train.py"));
	assert_non_null(strstr(bench_text(finding, "blocking_site_1"), "512 blocks"));
	assert_non_null(strstr(finding->summary, "train.py"));
	assert_non_null(strstr(finding->fix, "expandable_segments:True"));
	bench_fini(&bench);
}

static void wholly_free_segments_are_releasable_not_fragmented(void **state)
{
	struct bench bench;

	(void)state;
	/* 8 GiB of cache in segments without a live block; the device is somebody else's. */
	memory_bench_init(&bench, 80 * GIB);
	memory_malloc(&bench, 10 * GIB, 8 * GIB, 0);
	memory_block(&bench, BLOCK_ALLOC, 10 * GIB, 8 * GIB, 7, 8 * GIB, 8 * GIB);
	memory_block(&bench, BLOCK_FREE, 10 * GIB, 8 * GIB, 0, 0, 8 * GIB);
	memory_block(&bench, BLOCK_OUT_OF_MEMORY, 0, GIB, 8, 0, 8 * GIB);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT401"), JUDGED_SILENT);
	assert_int_equal(bench_count(&bench, "GT403"), 1);
	bench_fini(&bench);
}

static void totals_alone_are_enough(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	/* MGFN#35: 6 GiB, 2.93 allocated, 5.23 reserved, 1.70 asked for. */
	memory_bench_init(&bench, 6 * GIB);
	memory_block(&bench, BLOCK_ALLOC, 0, 2930 * MIB, 7, 3000 * MIB, 5355 * MIB);
	memory_block(&bench, BLOCK_OUT_OF_MEMORY, 0, 1741 * MIB, 8, 3000 * MIB, 5355 * MIB);
	bench_run(&bench);
	finding = bench_only(&bench, "GT401");
	assert_float_equal(bench_number(finding, "fragmented_bytes"), 2355.0 * MIB, 1);
	bench_fini(&bench);
}

static void expandable_segments_are_not_advised_twice(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	memory_bench_init(&bench, 11 * GIB);
	script_info(bench.script, "env.PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");
	memory_fragmented_failure(&bench, 512);
	bench_run(&bench);
	finding = bench_only(&bench, "GT401");
	assert_null(strstr(finding->fix, "expandable_segments:True"));
	assert_string_equal(bench_text(finding, "expandable_segments_would_pass"), "no");
	bench_fini(&bench);
}

static void a_snapshot_taken_at_the_failure_is_its_map(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	memory_bench_init(&bench, 11 * GIB);
	memory_block(&bench, BLOCK_OUT_OF_MEMORY, 512 * MIB, 3 * GIB, 8, 4 * GIB, 10 * GIB);
	for (uint64_t i = 0; i < 5; i++) {
		uint64_t address = (i + 1) << 32;

		memory_block(&bench, BLOCK_HELD_SEGMENT, address, 2 * GIB, 0, 4 * GIB, 10 * GIB);
		memory_block(&bench, i == 4 ? BLOCK_HELD_FREE : BLOCK_HELD_LIVE, address, GIB, 7,
			     4 * GIB, 10 * GIB);
		memory_block(&bench, BLOCK_HELD_FREE, address + GIB, GIB, 0, 4 * GIB, 10 * GIB);
	}
	bench_run(&bench);
	finding = bench_only(&bench, "GT401");
	assert_float_equal(bench_number(finding, "fragmented_bytes"), 4.0 * GIB, 0);
	assert_float_equal(bench_number(finding, "map_releasable_bytes"), 2.0 * GIB, 0);
	assert_float_equal(bench_number(finding, "map_largest_free_bytes"), 2.0 * GIB, 0);
	assert_float_equal(bench_number(finding, "device_free_bytes"), 512.0 * MIB, 0);
	assert_string_equal(bench_text(finding, "expandable_segments_would_pass"), "yes");
	bench_fini(&bench);
}

static void a_run_without_failure_is_silent(void **state)
{
	(void)state;
	memory_check_run_without_failure("GT401");
}

static void an_unknown_device_is_not_judged(void **state)
{
	(void)state;
	memory_check_unknown_device("GT401");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_pinned_by_small_blocks_are_fragmentation),
		cmocka_unit_test(wholly_free_segments_are_releasable_not_fragmented),
		cmocka_unit_test(totals_alone_are_enough),
		cmocka_unit_test(expandable_segments_are_not_advised_twice),
		cmocka_unit_test(a_snapshot_taken_at_the_failure_is_its_map),
		cmocka_unit_test(a_run_without_failure_is_silent),
		cmocka_unit_test(an_unknown_device_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
