/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger adds up exactly on any model, follows its precedence, and charges idle gaps to what
 * caused them.
 */
#include "unit_test.h"

#include "model_script.h"

static struct script *new_script(void)
{
	return script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
}

static void add_kernel_at(struct script *script, const char *name, int64_t begin_ns, int64_t end_ns)
{
	script_add_kernel(script, 0, name, 0, begin_ns, end_ns);
}

/* A launch on the host and its kernel. */
static void add_launched(struct script *script, uint32_t thread, int64_t host_begin_ns,
			 int64_t host_end_ns, int64_t begin_ns, int64_t end_ns)
{
	struct script_call call = {.begin_ns = host_begin_ns,
				   .end_ns = host_end_ns,
				   .thread = thread,
				   .api = "cudaLaunchKernel",
				   .correlation = script_next_correlation(script),
				   .flags = CALL_ASYNC};

	script_add_launch(script, &call, "elementwise_kernel");
	script_add_kernel(script, 0, "elementwise_kernel", call.correlation, begin_ns, end_ns);
}

static double part_ns(const struct model *model, enum ledger_part part)
{
	return (double)model->devices[0].ledger.whole.part[part] / LEDGER_UNITS_PER_NS;
}

static uint32_t next_random(uint32_t *seed, uint32_t limit)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % limit;
}

/* Of windows it is known, of other times it is searched: both are what looking at all finds. */
static void expect_ops_between(const struct model *model, size_t device, int64_t begin_ns,
			       int64_t end_ns)
{
	const struct model_device *of = &model->devices[device];
	size_t first, limit, behind = of->first_op + of->op_count;
	size_t expected_first = behind, expected_limit = behind;

	for (size_t i = behind; i-- > of->first_op;) {
		if (model->ops[i].begin_ns >= begin_ns)
			expected_first = i;
		if (model->ops[i].begin_ns >= end_ns)
			expected_limit = i;
	}
	model_ops_between(model, device, begin_ns, end_ns, &first, &limit);
	assert_int_equal(first, expected_first);
	assert_int_equal(limit, expected_limit);
}

static void expect_ops_of_windows(const struct model *model, size_t device)
{
	const struct device_ledger *ledger = &model->devices[device].ledger;

	for (size_t s = 0; ledger->windows && s < model->steps.count; s++) {
		const struct step_window *window = &ledger->windows[s];

		if (window->end_ns <= window->begin_ns)
			continue;
		expect_ops_between(model, device, window->begin_ns, window->end_ns);
		expect_ops_between(model, device, window->begin_ns, window->end_ns - 1);
		expect_ops_between(model, device, window->begin_ns + 1, window->end_ns);
	}
}

static void parts_add_up_on_random_models(void **state)
{
	static const char *const kernels[] = {
		"ampere_sgemm", "conv2d_kernel", "flash_fwd_kernel",	   "softmax",
		"adam_step",	"mystery",	 "ncclDevKernel_AllReduce"};

	(void)state;
	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct script *script = new_script();
		uint32_t random = seed * 7919;
		struct model *model;

		for (int i = 0; i < 400; i++) {
			int64_t begin_ns = next_random(&random, 3000000);
			int64_t end_ns = begin_ns + next_random(&random, 20000);
			struct script_call call = {
				.begin_ns = begin_ns - next_random(&random, 30000),
				.thread = 1 + next_random(&random, 3),
				.api = "cudaLaunchKernel",
				.correlation = script_next_correlation(script),
			};
			uint32_t device = next_random(&random, 2);

			call.end_ns = call.begin_ns + next_random(&random, 9000);
			switch (next_random(&random, 6)) {
			case 0:
				script_add_sync(script, &call, SYNC_DEVICE);
				break;
			case 1:
				script_add_gpu_copy(script, device,
						    (uint8_t)next_random(&random, 6), 4096,
						    (uint8_t)next_random(&random, 4),
						    (uint8_t)next_random(&random, 4),
						    call.correlation, begin_ns, end_ns);
				script_add_copy(script, &call, COPY_H2D, 4096, MEMORY_PINNED,
						MEMORY_DEVICE);
				break;
			default:
				script_add_kernel(script, device, kernels[next_random(&random, 7)],
						  next_random(&random, 5) ? call.correlation : 0,
						  begin_ns, end_ns);
				script_add_launch(script, &call, "k");
			}
		}
		model = script_model(script);
		for (size_t d = 0; d < model->device_count; d++) {
			const struct device_ledger *ledger = &model->devices[d].ledger;
			int64_t copies = 0;

			assert_int_equal(ledger_sum(&ledger->whole),
					 ledger->whole.length_ns * LEDGER_UNITS_PER_NS);
			assert_int_equal(ledger->whole.length_ns,
					 model->devices[d].end_ns - model->devices[d].begin_ns);
			for (int lane = 0; lane < COPY_LANE_COUNT; lane++)
				copies += ledger->whole.copy_lane[lane];
			assert_int_equal(copies, ledger->whole.part[LEDGER_COPY]);
			expect_ops_of_windows(model, d);
			for (size_t s = 0; s < model->steps.count; s++) {
				assert_int_equal(ledger_sum(&ledger->steps[s]),
						 ledger->steps[s].length_ns * LEDGER_UNITS_PER_NS);
				assert_int_equal(ledger->steps[s].length_ns,
						 ledger->windows[s].end_ns -
							 ledger->windows[s].begin_ns);
			}
		}
		model_free(model);
		script_free(script);
	}
}

static void steps_of_a_loop_add_up_and_tile_the_run(void **state)
{
	struct script *script = new_script();
	struct machine machine;
	struct model *model;
	const struct device_ledger *ledger;
	int64_t covered_ns = 0;

	(void)state;
	machine_init(&machine, script);
	for (int step = 0; step < 30; step++) {
		machine_copy(&machine, COPY_H2D, 3 << 20, MEMORY_PAGEABLE, false);
		for (int i = 0; i < 7; i++)
			machine_kernel(&machine, "ampere_sgemm", 31000 + i * 1000);
		machine_kernel(&machine, "adam_step", 9000);
		machine_copy(&machine, COPY_D2H, 4, MEMORY_PINNED, true);
	}
	model = script_model(script);
	ledger = &model->devices[0].ledger;
	assert_true(ledger->steady_count > 25);
	for (size_t s = 0; s < model->steps.count; s++) {
		assert_int_equal(ledger_sum(&ledger->steps[s]),
				 ledger->steps[s].length_ns * LEDGER_UNITS_PER_NS);
		covered_ns += ledger->steps[s].length_ns;
	}
	assert_int_equal(covered_ns, ledger->whole.length_ns);
	assert_true(ledger->range_count > 25);
	expect_ops_of_windows(model, 0);
	model_free(model);
	script_free(script);
}

static void compute_hides_communication_and_copies(void **state)
{
	struct script *script = new_script();
	struct model *model;

	(void)state;
	add_kernel_at(script, "ampere_sgemm", 0, 1000);
	add_kernel_at(script, "ncclDevKernel_AllReduce", 500, 1600);
	script_add_gpu_copy(script, 0, COPY_H2D, 100, MEMORY_PINNED, MEMORY_DEVICE, 0, 900, 2000);
	model = script_model(script);
	assert_float_equal(part_ns(model, LEDGER_GEMM), 1000, 0);
	assert_float_equal(part_ns(model, LEDGER_COMM), 600, 0);
	assert_float_equal(part_ns(model, LEDGER_COPY), 400, 0);
	model_free(model);
	script_free(script);
}

static void overlapping_compute_classes_share_the_instant(void **state)
{
	struct script *script = new_script();
	struct model *model;

	(void)state;
	add_kernel_at(script, "ampere_sgemm", 0, 1000);
	add_kernel_at(script, "softmax", 0, 1000);
	add_kernel_at(script, "adam_step", 400, 1000);
	add_kernel_at(script, "ampere_sgemm", 100, 900); /* a second GEMM is no second share */
	model = script_model(script);
	assert_float_equal(part_ns(model, LEDGER_GEMM), 400, 0);
	assert_float_equal(part_ns(model, LEDGER_MEMORY_BOUND), 400, 0);
	assert_float_equal(part_ns(model, LEDGER_OPTIMIZER), 200, 0);
	model_free(model);
	script_free(script);
}

static void device_memory_work_is_compute_and_peer_copies_are_communication(void **state)
{
	struct script *script = new_script();
	struct model *model;

	(void)state;
	script_add_gpu_set(script, 0, 4096, 0, 0, 100);
	script_add_gpu_copy(script, 0, COPY_D2D, 1, MEMORY_DEVICE, MEMORY_DEVICE, 0, 100, 300);
	script_add_gpu_copy(script, 0, COPY_PEER, 1, MEMORY_DEVICE, MEMORY_DEVICE, 0, 300, 700);
	model = script_model(script);
	assert_float_equal(part_ns(model, LEDGER_MEMORY_BOUND), 300, 0);
	assert_float_equal(part_ns(model, LEDGER_COMM), 400, 0);
	model_free(model);
	script_free(script);
}

static void a_launch_that_returned_before_the_gap_leaves_the_host_innocent(void **state)
{
	struct script *script = new_script();
	struct model *model;

	(void)state;
	add_launched(script, 1, 0, 5000, 10000, 50000);
	add_launched(script, 1, 6000, 11000, 80000, 90000);
	model = script_model(script);
	assert_float_equal(part_ns(model, LEDGER_IDLE_GPU_WAIT), 30000, 0);
	model_free(model);
	script_free(script);
}

static void a_wait_that_saw_the_queue_drain_is_charged(void **state)
{
	struct script *script = new_script();
	struct script_call sync = {.begin_ns = 6000,
				   .end_ns = 53000,
				   .thread = 1,
				   .api = "cudaDeviceSynchronize",
				   .site = 77};
	struct model *model;

	(void)state;
	add_launched(script, 1, 0, 5000, 10000, 50000);
	script_add_sync(script, &sync, SYNC_DEVICE);
	/* Even when the thread then stays away for long: without the wait this had been hidden. */
	add_launched(script, 1, 3000000, 3005000, 3007000, 3050000);
	model = script_model(script);
	assert_float_equal(part_ns(model, LEDGER_IDLE_SYNC), 3007000 - 50000, 0);
	assert_int_equal(model->devices[0].ledger.charge_count, 1);
	assert_true(model->devices[0].ledger.charges[0].is_sync_call);
	assert_string_equal(model_api_name(model, model->devices[0].ledger.charges[0].call),
			    "cudaDeviceSynchronize");
	model_free(model);
	script_free(script);
}

static void a_wait_that_found_nothing_to_wait_for_is_not_charged(void **state)
{
	struct script *script = new_script();
	struct script_call sync = {.begin_ns = 9000000,
				   .end_ns = 9002000,
				   .thread = 1,
				   .api = "cudaDeviceSynchronize"};
	struct model *model;

	(void)state;
	for (int i = 0; i < 5; i++) /* this thread launches every 6 us when it is there */
		add_launched(script, 1, i * 6000, i * 6000 + 5000, 10000 + i * 8000,
			     18000 + i * 8000);
	script_add_sync(script, &sync, SYNC_DEVICE);
	add_launched(script, 1, 9003000, 9008000, 9010000, 9050000);
	model = script_model(script);
	assert_float_equal(part_ns(model, LEDGER_IDLE_SYNC), 0, 0);
	assert_float_equal(part_ns(model, LEDGER_IDLE_HOST_AWAY), 9010000 - 50000, 0);
	model_free(model);
	script_free(script);
}

static void waits_of_other_threads_are_no_excuse(void **state)
{
	struct script *script = new_script();
	struct script_call sync = {
		.begin_ns = 6000, .end_ns = 53000, .thread = 2, .api = "cudaDeviceSynchronize"};
	struct model *model;

	(void)state;
	add_launched(script, 1, 0, 5000, 10000, 50000);
	script_add_sync(script, &sync, SYNC_DEVICE);
	add_launched(script, 1, 60000, 65000, 67000, 70000);
	model = script_model(script);
	assert_float_equal(part_ns(model, LEDGER_IDLE_SYNC), 0, 0);
	assert_float_equal(part_ns(model, LEDGER_IDLE_ISSUE), 17000, 0);
	model_free(model);
	script_free(script);
}

static void a_long_gap_inside_cuda_calls_is_issue_bound(void **state)
{
	struct script *script = new_script();
	struct script_call allocation = {
		.begin_ns = 51000, .end_ns = 8000000, .thread = 1, .api = "cudaMalloc"};
	struct model *model;

	(void)state;
	add_launched(script, 1, 0, 5000, 10000, 50000);
	script_add_memory(script, &allocation, MEMORY_ALLOC, MEMORY_DEVICE, 0x1000, 4096);
	add_launched(script, 1, 8001000, 8006000, 8008000, 8050000);
	model = script_model(script);
	assert_float_equal(part_ns(model, LEDGER_IDLE_ISSUE), 8008000 - 50000, 0);
	model_free(model);
	script_free(script);
}

static void a_small_readback_is_told_from_a_plain_wait(void **state)
{
	struct script *script = new_script();
	struct script_call copy = {.begin_ns = 6000,
				   .end_ns = 9000,
				   .thread = 1,
				   .api = "cudaMemcpyAsync",
				   .flags = CALL_ASYNC,
				   .correlation = script_next_correlation(script)};
	struct script_call sync = {
		.begin_ns = 9500, .end_ns = 55000, .thread = 1, .api = "cudaStreamSynchronize"};
	struct model *model;
	const struct idle_charge *charge;

	(void)state;
	add_launched(script, 1, 0, 5000, 10000, 50000);
	script_add_copy(script, &copy, COPY_D2H, 4, MEMORY_DEVICE, MEMORY_PINNED);
	script_add_gpu_copy(script, 0, COPY_D2H, 4, MEMORY_DEVICE, MEMORY_PINNED, copy.correlation,
			    50000, 52000);
	script_add_sync(script, &sync, SYNC_STREAM);
	add_launched(script, 1, 60000, 65000, 67000, 70000);
	model = script_model(script);
	assert_int_equal(model->devices[0].ledger.charge_count, 1);
	charge = &model->devices[0].ledger.charges[0];
	assert_true(charge->is_readback);
	assert_string_equal(model_api_name(model, charge->call), "cudaMemcpyAsync");
	assert_int_equal(charge->idle_ns, 15000);
	model_free(model);
	script_free(script);
}

static void work_without_a_launch_ends_an_unknown_gap_and_is_counted(void **state)
{
	struct script *script = new_script();
	struct model *model;

	(void)state;
	add_launched(script, 1, 0, 5000, 10000, 50000);
	add_kernel_at(script, "softmax", 80000, 90000);
	model = script_model(script);
	assert_float_equal(part_ns(model, LEDGER_UNKNOWN), 30000, 0);
	assert_int_equal(model->devices[0].unlinked_ops, 1);
	model_free(model);
	script_free(script);
}

static void a_recording_without_gpu_work_has_no_ledger(void **state)
{
	struct script *script = new_script();
	struct script_call call = {.begin_ns = 0, .end_ns = 5, .thread = 1};
	struct model *model;

	(void)state;
	script_add_launch(script, &call, "k");
	model = script_model(script);
	assert_false(model->has_gpu_times);
	assert_int_equal(model->devices[0].ledger.steady_count, 0);
	assert_float_equal(ledger_step_ms(&model->devices[0].ledger), 0, 0);
	model_free(model);
	script_free(script);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_add_up_on_random_models),
		cmocka_unit_test(steps_of_a_loop_add_up_and_tile_the_run),
		cmocka_unit_test(compute_hides_communication_and_copies),
		cmocka_unit_test(overlapping_compute_classes_share_the_instant),
		cmocka_unit_test(device_memory_work_is_compute_and_peer_copies_are_communication),
		cmocka_unit_test(a_launch_that_returned_before_the_gap_leaves_the_host_innocent),
		cmocka_unit_test(a_wait_that_saw_the_queue_drain_is_charged),
		cmocka_unit_test(a_wait_that_found_nothing_to_wait_for_is_not_charged),
		cmocka_unit_test(waits_of_other_threads_are_no_excuse),
		cmocka_unit_test(a_long_gap_inside_cuda_calls_is_issue_bound),
		cmocka_unit_test(a_small_readback_is_told_from_a_plain_wait),
		cmocka_unit_test(work_without_a_launch_ends_an_unknown_gap_and_is_counted),
		cmocka_unit_test(a_recording_without_gpu_work_has_no_ledger),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
