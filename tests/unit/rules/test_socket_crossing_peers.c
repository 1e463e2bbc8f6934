/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT306 names direct copies between GPUs of different sockets, and nearer ones to use instead.
 */
#include "comm_bench.h"

#include <string.h>

#define MIB (1024 * 1024)

struct send {
	uint32_t to;
	double gbs;
};

/* Three GPUs; GPU 0 sends 64 MiB to each of `sends` in each of 20 steps. */
static void run_sends(struct bench *bench, const struct send *sends, size_t count,
		      int64_t kernel_ns)
{
	struct script *script = bench->script;
	int64_t now = 1000000;

	for (int step = 0; step < 20; step++) {
		struct script_call call;
		int64_t gpu_ns = now + 7000;

		for (size_t i = 0; i < count; i++) {
			int64_t copy_ns = (int64_t)(64 * MIB / sends[i].gbs);

			call = (struct script_call){.begin_ns = now,
						    .end_ns = now + 3000,
						    .thread = 1,
						    .api = "cudaMemcpyPeerAsync",
						    .site = 5 + i,
						    .flags = CALL_ASYNC};
			call.correlation = script_next_correlation(script);
			script_use_copy(script, 0, 0, 0, sends[i].to);
			script_add_copy(script, &call, COPY_PEER, 64 * MIB, MEMORY_DEVICE,
					MEMORY_DEVICE);
			script_add_gpu_copy(script, 0, COPY_PEER, 64 * MIB, MEMORY_DEVICE,
					    MEMORY_DEVICE, call.correlation, gpu_ns,
					    gpu_ns + copy_ns);
			gpu_ns += copy_ns;
			now += 4000;
		}
		call = (struct script_call){.begin_ns = now,
					    .end_ns = now + 3000,
					    .thread = 1,
					    .api = "cudaLaunchKernel",
					    .flags = CALL_ASYNC};
		call.correlation = script_next_correlation(script);
		script_add_launch(script, &call, "adam_step");
		script_add_kernel(script, 0, "adam_step", call.correlation, gpu_ns,
				  gpu_ns + kernel_ns);
		gpu_ns += kernel_ns;
		call = (struct script_call){.begin_ns = now + 4000,
					    .end_ns = gpu_ns,
					    .thread = 1,
					    .api = "cudaDeviceSynchronize"};
		script_add_sync(script, &call, SYNC_DEVICE);
		now = gpu_ns + 1000;
	}
	bench_run(bench);
}

static void init(struct bench *bench, const char *paths, const char *nvlinks)
{
	bench_init(bench);
	for (uint8_t i = 1; i <= 2; i++)
		script_add_device(bench->script, "NVIDIA A100-SXM4-80GB", 4, 16)->pci_bus = i;
	if (paths)
		script_info(bench->script, "gpu.0000:00:00.0.paths", paths);
	if (nvlinks)
		script_info(bench->script, "gpu.0000:00:00.0.nvlinks", nvlinks);
}

#define PATHS "0000:01:00.0=SYS 0000:02:00.0=PIX mlx5_0=PIX"

static void copies_to_the_other_socket_are_raised_with_a_nearer_gpu(void **state)
{
	static const struct send sends[] = {{1, 10}};
	struct bench bench;
	const struct finding *finding;

	(void)state;
	init(&bench, PATHS, NULL);
	run_sends(&bench, sends, 1, 5000000);
	finding = bench_only(&bench, "GT306");
	assert_float_equal(bench_number(finding, "to_gpu"), 1, 0);
	assert_float_equal(bench_number(finding, "bytes_per_step"), 64 * MIB, 1);
	assert_float_equal(bench_number(finding, "achieved_gbs"), 10, 0.01);
	assert_float_equal((float)finding->cost_ms, 6.71f, 0.01f);
	/* No pair of this run says what a nearer GPU would gain. */
	assert_float_equal(finding->gain_high_ms, 0, 0);
	assert_non_null(strstr(finding->fix, "0000:02:00.0 (PIX)"));
	assert_null(strstr(finding->fix, "mlx5_0"));
	bench_fini(&bench);
}

static void the_gain_is_that_of_a_nearer_pair_in_the_run(void **state)
{
	static const struct send before[] = {{1, 10}, {2, 24}}, after[] = {{2, 24}, {2, 24}};
	struct bench bench, cured;
	const struct finding *finding;

	(void)state;
	init(&bench, PATHS, NULL);
	run_sends(&bench, before, 2, 5000000);
	finding = bench_only(&bench, "GT306");
	assert_float_equal(bench_number(finding, "nearer_pair_gbs"), 24, 0.01);
	init(&cured, PATHS, NULL);
	run_sends(&cured, after, 2, 5000000);
	assert_int_equal(bench_status(&cured, "GT306"), JUDGED_SILENT);
	bench_assert_range_holds(finding, bench_step_ms(&bench) - bench_step_ms(&cured));
	bench_fini(&bench);
	bench_fini(&cured);
}

static void nvlink_and_near_pairs_are_silent(void **state)
{
	static const struct send far[] = {{1, 10}}, near[] = {{2, 10}};
	struct bench bench;

	(void)state;
	init(&bench, PATHS, "0000:01:00.0=NV12");
	run_sends(&bench, far, 1, 5000000);
	assert_int_equal(bench_status(&bench, "GT306"), JUDGED_SILENT);
	bench_fini(&bench);
	init(&bench, PATHS, NULL);
	run_sends(&bench, near, 1, 5000000);
	assert_int_equal(bench_status(&bench, "GT306"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_small_share_is_silent(void **state)
{
	static const struct send sends[] = {{1, 10}};
	struct bench bench;

	(void)state;
	init(&bench, PATHS, NULL);
	run_sends(&bench, sends, 1, 1000000000);
	assert_int_equal(bench_status(&bench, "GT306"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void unknown_ways_are_not_judged(void **state)
{
	static const struct send sends[] = {{1, 10}}, nameless[] = {{MARK_NO_PEER, 10}};
	struct bench bench;

	(void)state;
	init(&bench, NULL, NULL);
	run_sends(&bench, sends, 1, 5000000);
	assert_int_equal(bench_status(&bench, "GT306"), NOT_JUDGED);
	bench_fini(&bench);
	init(&bench, "0000:01:00.0=?", NULL);
	run_sends(&bench, sends, 1, 5000000);
	assert_int_equal(bench_status(&bench, "GT306"), NOT_JUDGED);
	bench_fini(&bench);
	init(&bench, PATHS, NULL);
	run_sends(&bench, nameless, 1, 5000000);
	assert_int_equal(bench_status(&bench, "GT306"), NOT_JUDGED);
	bench_fini(&bench);
}

static void nccl_is_raised_only_where_it_was_told_to(void **state)
{
	static const struct comm_loop exposed = {
		.sums = 4, .sum_bytes = 8 << 20, .sum_ns = 1500000, .has_calls = true};
	static const struct {
		const char *level, *paths;
		enum judgement_status wanted;
	} cases[] = {
		{"SYS", PATHS, JUDGED_RAISED},
		{"5", PATHS, JUDGED_RAISED},
		{"PXB", PATHS, JUDGED_SILENT},
		{"2", PATHS, JUDGED_SILENT},
		{NULL, PATHS, JUDGED_SILENT},
		{"SYS", "0000:01:00.0=PIX 0000:02:00.0=NODE", JUDGED_SILENT},
		{"SYS", NULL, NOT_JUDGED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench bench;

		init(&bench, cases[i].paths, NULL);
		if (cases[i].level)
			script_info(bench.script, "env.NCCL_P2P_LEVEL", cases[i].level);
		comm_bench_run(&bench, &exposed);
		if (bench_status(&bench, "GT306") != cases[i].wanted)
			fail_msg("case %zu", i);
		bench_fini(&bench);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_to_the_other_socket_are_raised_with_a_nearer_gpu),
		cmocka_unit_test(the_gain_is_that_of_a_nearer_pair_in_the_run),
		cmocka_unit_test(nvlink_and_near_pairs_are_silent),
		cmocka_unit_test(a_small_share_is_silent),
		cmocka_unit_test(unknown_ways_are_not_judged),
		cmocka_unit_test(nccl_is_raised_only_where_it_was_told_to),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
