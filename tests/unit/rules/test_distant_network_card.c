/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT305 asks whether a job of several machines has a network card on the GPU's own socket.
 */
#include "comm_bench.h"

#include <string.h>

static const struct comm_loop exposed = {
	.sums = 4, .sum_bytes = 8 << 20, .sum_ns = 1500000, .has_calls = true};

#define OTHER_GPU "0000:5e:00.0=SYS "

static void init(struct bench *bench, const char *paths, const char *ranks, const char *local)
{
	bench_init(bench);
	script_device(bench->script, 0)->numa_node = 1;
	if (paths)
		script_info(bench->script, "gpu.0000:00:00.0.paths", paths);
	if (ranks)
		script_info(bench->script, "world_size", ranks);
	if (local)
		script_info(bench->script, "env.LOCAL_WORLD_SIZE", local);
}

static enum judgement_status judge(const char *paths, const char *ranks, const char *local)
{
	enum judgement_status status;
	struct bench bench;

	init(&bench, paths, ranks, local);
	comm_bench_run(&bench, &exposed);
	status = bench_status(&bench, "GT305");
	bench_fini(&bench);
	return status;
}

static void a_gpu_without_a_card_on_its_socket_is_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	init(&bench, OTHER_GPU "mlx5_0=SYS mlx5_1=SYS", "16", "2");
	comm_bench_run(&bench, &exposed);
	finding = bench_only(&bench, "GT305");
	assert_string_equal(bench_text(finding, "network_cards"), "mlx5_0, mlx5_1");
	assert_string_equal(bench_text(finding, "nearest_path"), "SYS");
	assert_float_equal(bench_number(finding, "ranks"), 16, 0);
	assert_float_equal(finding->cost_ms, 6, 0.05);
	/* What the way costs is not measured, so nothing is announced. */
	assert_float_equal(finding->gain_high_ms, 0, 0);
	assert_true(finding->severity <= SEVERITY_MEDIUM);
	bench_fini(&bench);
}

static void more_ranks_than_gpus_are_on_several_machines(void **state)
{
	(void)state;
	assert_int_equal(judge(OTHER_GPU "mlx5_0=SYS", "4", NULL), JUDGED_RAISED);
	assert_int_equal(judge(OTHER_GPU "mlx5_0=SYS", "2", NULL), NOT_JUDGED);
}

static void one_near_card_is_silent(void **state)
{
	(void)state;
	assert_int_equal(judge("mlx5_0=SYS mlx5_1=PIX", "16", "2"), JUDGED_SILENT);
	assert_int_equal(judge("mlx5_0=NODE mlx5_1=SYS", "16", "2"), JUDGED_SILENT);
}

static void near_cards_that_nccl_may_not_use_do_not_count(void **state)
{
	static const struct {
		const char *chosen;
		enum judgement_status wanted;
	} cases[] = {
		{"mlx5_0", JUDGED_RAISED},  {"=mlx5_0:1", JUDGED_RAISED},
		{"^mlx5_1", JUDGED_RAISED}, {"^=mlx5_1", JUDGED_RAISED},
		{"=mlx5", NOT_JUDGED}, /* no card has that name */
		{"mlx5", JUDGED_SILENT},    {"mlx5_0,mlx5_1:1", JUDGED_SILENT},
		{"^mlx5_0", JUDGED_SILENT}, {"", JUDGED_SILENT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench bench;

		init(&bench, "mlx5_0=SYS mlx5_1=PIX", "16", "2");
		script_info(bench.script, "env.NCCL_IB_HCA", cases[i].chosen);
		comm_bench_run(&bench, &exposed);
		if (bench_status(&bench, "GT305") != cases[i].wanted)
			fail_msg("NCCL_IB_HCA=%s", cases[i].chosen);
		bench_fini(&bench);
	}
}

static void ranks_of_one_machine_are_silent(void **state)
{
	(void)state;
	assert_int_equal(judge(OTHER_GPU "mlx5_0=SYS", "2", "2"), JUDGED_SILENT);
}

static void hidden_communication_is_silent(void **state)
{
	struct comm_loop hidden = exposed;
	struct bench bench;

	(void)state;
	hidden.is_hidden = true;
	hidden.sum_ns = 100000;
	init(&bench, "mlx5_0=SYS", "16", "2");
	comm_bench_run(&bench, &hidden);
	assert_int_equal(bench_status(&bench, "GT305"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_communication_it_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	init(&bench, "mlx5_0=SYS", "16", "2");
	bench_run_kernel(&bench, "ampere_sgemm_128x128_nn", 10000000);
	assert_int_equal(bench_status(&bench, "GT305"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void unknown_machines_are_not_judged(void **state)
{
	(void)state;
	assert_int_equal(judge(NULL, "16", "2"), NOT_JUDGED);
	assert_int_equal(judge(OTHER_GPU, "16", "2"), NOT_JUDGED);
	assert_int_equal(judge("mlx5_0=?", "16", "2"), NOT_JUDGED);
	assert_int_equal(judge("mlx5_0=SYS mlx5_1=?", "16", "2"), NOT_JUDGED);
	assert_int_equal(judge("=SYS mlx5_0= x", "16", "2"), NOT_JUDGED);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gpu_without_a_card_on_its_socket_is_raised),
		cmocka_unit_test(more_ranks_than_gpus_are_on_several_machines),
		cmocka_unit_test(one_near_card_is_silent),
		cmocka_unit_test(near_cards_that_nccl_may_not_use_do_not_count),
		cmocka_unit_test(ranks_of_one_machine_are_silent),
		cmocka_unit_test(hidden_communication_is_silent),
		cmocka_unit_test(without_communication_it_is_silent),
		cmocka_unit_test(unknown_machines_are_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
