/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT109 compares copies between GPUs with the slower of their links.
 */
#include "rule_bench.h"

#include <string.h>

/* Steps that send 64 MiB to GPU 1 at the given rate. */
static void run_loop(struct bench *bench, double gbs, int64_t kernel_ns)
{
	uint64_t bytes = 64 << 20;
	int64_t copy_ns = (int64_t)((double)bytes / gbs), now = 1000000;

	script_use_copy(bench->script, 0, 0, 0, 1);
	for (int step = 0; step < 20; step++) {
		struct script_call call = {.begin_ns = now,
					   .end_ns = now + 5000,
					   .thread = 1,
					   .api = "cudaMemcpyPeerAsync",
					   .site = 5,
					   .flags = CALL_ASYNC};

		call.correlation = script_next_correlation(bench->script);
		script_add_copy(bench->script, &call, COPY_PEER, bytes, MEMORY_DEVICE,
				MEMORY_DEVICE);
		script_add_gpu_copy(bench->script, 0, COPY_PEER, bytes, MEMORY_DEVICE,
				    MEMORY_DEVICE, call.correlation, now + 7000,
				    now + 7000 + copy_ns);
		call = (struct script_call){.begin_ns = now + 6000,
					    .end_ns = now + 11000,
					    .thread = 1,
					    .api = "cudaLaunchKernel",
					    .flags = CALL_ASYNC};
		call.correlation = script_next_correlation(bench->script);
		script_add_launch(bench->script, &call, "adam_step");
		script_add_kernel(bench->script, 0, "adam_step", call.correlation,
				  now + 7000 + copy_ns, now + 7000 + copy_ns + kernel_ns);
		call = (struct script_call){.begin_ns = now + 12000,
					    .end_ns = now + 7000 + copy_ns + kernel_ns,
					    .thread = 1,
					    .api = "cudaDeviceSynchronize"};
		script_add_sync(bench->script, &call, SYNC_DEVICE);
		now += 7000 + copy_ns + kernel_ns;
	}
	bench_run(bench);
}

static void copies_at_a_sixth_of_the_link_are_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	script_add_device(bench.script, "NVIDIA A100-SXM4-80GB", 4, 16);
	run_loop(&bench, 4.3, 5000000);
	finding = bench_only(&bench, "GT109");
	assert_float_equal(bench_number(finding, "to_gpu"), 1, 0);
	assert_float_equal(bench_number(finding, "achieved_gbs"), 4.3, 0.05);
	assert_non_null(strstr(finding->fix, "peer access"));
	bench_fini(&bench);
}

static void with_peer_access_acs_is_the_candidate(void **state)
{
	struct script_call call = {
		.begin_ns = 1000, .end_ns = 2000, .thread = 1, .api = "cudaDeviceEnablePeerAccess"};
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_add_device(bench.script, "NVIDIA A100-SXM4-80GB", 4, 16);
	script_add_plain(bench.script, &call);
	run_loop(&bench, 4.3, 5000000);
	assert_non_null(strstr(bench_only(&bench, "GT109")->fix, "ACS"));
	bench_fini(&bench);
	bench_init(&bench);
	script_add_device(bench.script, "NVIDIA A100-SXM4-80GB", 4, 16)->numa_node = 1;
	script_add_plain(bench.script, &call);
	run_loop(&bench, 4.3, 5000000);
	assert_string_equal(bench_text(bench_only(&bench, "GT109"), "path"), "across NUMA nodes");
	bench_fini(&bench);
}

static void full_speed_gains_what_the_range_says(void **state)
{
	struct bench slow, fast;

	(void)state;
	bench_init(&slow);
	script_add_device(slow.script, "NVIDIA A100-SXM4-80GB", 4, 16);
	run_loop(&slow, 4.3, 5000000);
	bench_init(&fast);
	script_add_device(fast.script, "NVIDIA A100-SXM4-80GB", 4, 16);
	run_loop(&fast, 25, 5000000);
	bench_assert_range_holds(bench_only(&slow, "GT109"),
				 bench_step_ms(&slow) - bench_step_ms(&fast));
	assert_int_equal(bench_status(&fast, "GT109"), JUDGED_SILENT);
	bench_fini(&slow);
	bench_fini(&fast);
}

static void a_small_share_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_add_device(bench.script, "NVIDIA A100-SXM4-80GB", 4, 16);
	run_loop(&bench, 4.3, 5000000000);
	assert_int_equal(bench_status(&bench, "GT109"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void an_unknown_link_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_add_device(bench.script, "NVIDIA A100-SXM4-80GB", 0, 0);
	run_loop(&bench, 4.3, 5000000);
	assert_int_equal(bench_status(&bench, "GT109"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_at_a_sixth_of_the_link_are_raised),
		cmocka_unit_test(with_peer_access_acs_is_the_candidate),
		cmocka_unit_test(full_speed_gains_what_the_range_says),
		cmocka_unit_test(a_small_share_is_silent),
		cmocka_unit_test(an_unknown_link_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
