/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What real recordings hold and a hasty analyzer gets wrong, as small recordings.
 */
#include "rule_bench.h"

#include <string.h>

#include "quality.h"

static bool has_line(const struct model *model, const char *id)
{
	struct quality quality;
	bool found = false;

	quality_check(model, &quality);
	for (size_t i = 0; i < quality.count; i++)
		found |= !strcmp(quality.lines[i].id, id);
	quality_free(&quality);
	return found;
}

/* A run that spends most of its time in kernels of an expert-parallel library. */
static void communication_need_not_be_named_nccl(void **state)
{
	static const char *const kernels[] = {
		"void dpsk::ep::internode::dispatch<false, 8>(int4*, float*)",
		"void dpsk::ep::internode::combine<false, 8, __nv_bfloat16>(int4*, float*)",
		"void dpsk::ep::internode::cached_notify<false>(int, int, int)",
	};
	const struct ledger *ledger;
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		for (size_t i = 0; i < 3; i++)
			machine_kernel(&bench.machine, kernels[i], 1000000);
		machine_kernel(&bench.machine, "ampere_bf16_s16816gemm_bf16_128x64", 500000);
		machine_kernel(&bench.machine, "adam_step", 100000);
	}
	bench_run(&bench);
	ledger = &bench.model->devices[0].ledger.whole;
	assert_int_equal(ledger->part[LEDGER_COMM],
			 (int64_t)20 * 3 * 1000000 * LEDGER_UNITS_PER_NS);
	bench_fini(&bench);
}

/* threebody: 50141024507 ns do not fit into 32 bits. */
static void a_kernel_of_fifty_seconds_keeps_its_length(void **state)
{
	const int64_t length_ns = 50141024507;
	struct bench bench;

	(void)state;
	bench_init(&bench);
	machine_kernel(&bench.machine, "three_body", length_ns);
	machine_kernel(&bench.machine, "three_body", length_ns);
	bench_run(&bench);
	assert_int_equal(bench.model->ops[0].end_ns - bench.model->ops[0].begin_ns, length_ns);
	assert_int_equal(ledger_compute(&bench.model->devices[0].ledger.whole),
			 2 * length_ns * LEDGER_UNITS_PER_NS);
	assert_float_equal(bench_step_ms(&bench), 100282.049, 0.01);
	bench_fini(&bench);
}

/* zoology, nsys' sgemm: records are missing; the GPU was not idle. */
static void launches_without_kernels_are_missing_times_not_idle(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int i = 0; i < 260; i++) {
		struct script_call call = {.begin_ns = 1000000 + i * 10000,
					   .end_ns = 1005000 + i * 10000,
					   .thread = 1,
					   .api = "cudaLaunchKernel",
					   .correlation = script_next_correlation(bench.script)};

		script_add_launch(bench.script, &call, "elementwise_kernel");
	}
	bench_run(&bench);
	assert_false(bench.model->has_gpu_times);
	assert_int_equal(bench.model->devices[0].ledger.whole.length_ns, 0);
	assert_true(has_line(bench.model, "GT902"));
	assert_int_equal(bench_status(&bench, "GT501"), NOT_JUDGED);
	assert_int_equal(bench_status(&bench, "GT502"), NOT_JUDGED);
	assert_int_equal(bench_status(&bench, "GT503"), NOT_JUDGED);
	bench_fini(&bench);
}

static void a_recording_of_the_cpu_alone_has_no_findings(void **state)
{
	struct script *script = script_new(NULL, 0, 0, 0);
	struct script_call call = {.begin_ns = 1000, .end_ns = 2000, .thread = 1};
	struct model *model;

	(void)state;
	for (int i = 0; i < 100; i++) {
		call.begin_ns += 5000;
		call.end_ns += 5000;
		call.device = DEVICE_UNKNOWN;
		script_add_plain(script, &call);
	}
	model = script_model(script);
	assert_int_equal(model->device_count, 0);
	assert_false(model->has_gpu_times);
	assert_true(has_line(model, "GT902"));
	model_free(model);
	script_free(script);
}

/* qwen: the recording begins while the step before still runs. */
static void work_launched_before_the_recording_is_counted_and_blames_nobody(void **state)
{
	const struct model_device *device;
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench.machine.host_ns = 900000000;
	for (int i = 0; i < 100; i++)
		script_add_kernel(bench.script, 0, "elementwise_kernel", 0, 100000000 + i * 8000000,
				  101000000 + i * 8000000);
	for (int i = 0; i < 100; i++)
		machine_kernel(&bench.machine, "softmax_kernel", 1000000);
	bench_run(&bench);
	device = &bench.model->devices[0];
	assert_int_equal(device->unlinked_ops, 100);
	assert_true(has_line(bench.model, "GT907"));
	/* The gaps between them have no known cause. */
	assert_true(device->ledger.whole.part[LEDGER_UNKNOWN] >=
		    (int64_t)99 * 7000000 * LEDGER_UNITS_PER_NS);
	assert_int_equal(bench_status(&bench, "GT501"), JUDGED_SILENT);
	bench_fini(&bench);
}

/* M = 141 is odd; the kernel says that it loads eight elements at a time. */
static void an_odd_batch_is_no_alignment_problem_when_the_kernel_is_aligned(void **state)
{
	struct record_gemm gemm = script_gemm_f16(4096, 141, 4096);
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_run_beside_aligned(&bench, &gemm,
				 "cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x5_tn_align8",
				 400000);
	assert_int_equal(bench_count(&bench, "GT201"), 0);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(communication_need_not_be_named_nccl),
		cmocka_unit_test(a_kernel_of_fifty_seconds_keeps_its_length),
		cmocka_unit_test(launches_without_kernels_are_missing_times_not_idle),
		cmocka_unit_test(a_recording_of_the_cpu_alone_has_no_findings),
		cmocka_unit_test(work_launched_before_the_recording_is_counted_and_blames_nobody),
		cmocka_unit_test(an_odd_batch_is_no_alignment_problem_when_the_kernel_is_aligned),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
