/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT509 reads how long the launching thread waited for a CPU.
 */
#include "machine_bench.h"

#include <string.h>

/* Steps of kernels between which the host is away; counters grow at the given shares of the time.
 */
static void run_with(struct bench *bench, double wait_share, double throttled_share,
		     int64_t runnable)
{
	bench_init(bench);
	script_info(bench->script, "process.cpu_count", "2");
	for (int step = 0; step < 24; step++) {
		int64_t now_ns = bench->machine.host_ns;

		bench_sample(bench, SAMPLE_thread_wait_ns, now_ns,
			     (int64_t)(wait_share * (double)now_ns));
		if (throttled_share >= 0)
			bench_sample(bench, SAMPLE_cgroup_throttled_us, now_ns,
				     (int64_t)(throttled_share * (double)now_ns / 1000));
		bench_sample(bench, SAMPLE_process_runnable, now_ns, runnable);
		bench->machine.site = 5;
		machine_kernel(&bench->machine, "ampere_sgemm_128x128_nn", 2000000);
		machine_kernel(&bench->machine, "adam_step", 50000);
		machine_sync(&bench->machine, "cudaDeviceSynchronize", SYNC_DEVICE);
		machine_work(&bench->machine, 5000000);
	}
	bench_run(bench);
}

static void a_quota_that_stops_the_job_is_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	run_with(&bench, 0.2, 0.19, 4);
	finding = bench_only(&bench, "GT509");
	assert_float_equal(bench_number(finding, "waiting_percent"), 20, 0.5);
	assert_float_equal(bench_number(finding, "throttled_percent"), 19, 0.5);
	assert_float_equal((float)(finding->cost_ms / bench_step_ms(&bench)), 0.2f, 0.01f);
	assert_non_null(strstr(finding->fix, "quota"));
	bench_fini(&bench);
}

static void own_threads_that_crowd_it_out_are_named(void **state)
{
	struct bench bench;

	(void)state;
	run_with(&bench, 0.1, 0, 9);
	assert_non_null(strstr(bench_only(&bench, "GT509")->fix, "OMP_NUM_THREADS"));
	bench_fini(&bench);
}

static void other_processes_remain_when_nothing_else_explains_it(void **state)
{
	struct bench bench;

	(void)state;
	run_with(&bench, 0.1, -1, 1);
	assert_non_null(strstr(bench_only(&bench, "GT509")->fix, "other processes"));
	bench_fini(&bench);
}

static void a_thread_that_always_runs_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	run_with(&bench, 0.01, 0.5, 9);
	assert_int_equal(bench_status(&bench, "GT509"), JUDGED_SILENT);
	bench_fini(&bench);
}

/* The thread waits for a CPU, but the GPU has work queued all the time. */
static void a_gpu_that_never_idles_does_not_feel_it(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench.machine.site = 5;
	for (int step = 0; step < 200; step++) {
		bench_sample(&bench, SAMPLE_thread_wait_ns, bench.machine.host_ns,
			     bench.machine.host_ns / 2);
		machine_kernel(&bench.machine, "ampere_sgemm_128x128_nn", 2000000);
		machine_kernel(&bench.machine, "adam_step", 50000);
	}
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT509"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_samples_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_copy_steps(&bench, 1 << 20);
	bench_sample(&bench, SAMPLE_thread_wait_ns, 1000, 1000);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT509"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quota_that_stops_the_job_is_raised),
		cmocka_unit_test(own_threads_that_crowd_it_out_are_named),
		cmocka_unit_test(other_processes_remain_when_nothing_else_explains_it),
		cmocka_unit_test(a_thread_that_always_runs_is_silent),
		cmocka_unit_test(a_gpu_that_never_idles_does_not_feel_it),
		cmocka_unit_test(without_samples_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
