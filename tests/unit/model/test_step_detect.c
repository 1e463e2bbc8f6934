/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps are found without markers where there is a loop, and nowhere else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model_script.h"
#include "step_mark_name.h"

struct loop {
	struct script *script;
	struct machine machine;
	uint32_t seed;
};

static void loop_init(struct loop *loop)
{
	loop->script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	machine_init(&loop->machine, loop->script);
	loop->seed = 12345;
}

static uint32_t loop_random(struct loop *loop, uint32_t limit)
{
	loop->seed = loop->seed * 1664525u + 1013904223u;
	return (loop->seed >> 8) % limit;
}

static void forward_backward(struct loop *loop, int layers)
{
	struct record_gemm gemm = script_gemm_f16(1024, 1024, 1024);

	machine_kernel(&loop->machine, "embedding_kernel", 20000);
	for (int layer = 0; layer < layers; layer++) {
		machine_gemm(&loop->machine, &gemm, "ampere_fp16_s16816gemm_fp16_128x128", 50000);
		machine_kernel(&loop->machine, "vectorized_elementwise_kernel", 10000);
		machine_kernel(&loop->machine, "layer_norm_kernel", 10000);
	}
	machine_kernel(&loop->machine, "cross_entropy_kernel", 8000);
	for (int layer = 0; layer < layers; layer++) {
		machine_gemm(&loop->machine, &gemm, "ampere_fp16_s16816gemm_fp16_128x128", 50000);
		machine_gemm(&loop->machine, &gemm, "ampere_fp16_s16816gemm_fp16_128x128", 50000);
		machine_kernel(&loop->machine, "layer_norm_backward_kernel", 10000);
	}
}

static void upload_weights(struct loop *loop, int count)
{
	for (int i = 0; i < count; i++)
		machine_copy(&loop->machine, COPY_H2D, 4 << 20, MEMORY_PINNED, false);
	machine_sync(&loop->machine, "cudaDeviceSynchronize", SYNC_DEVICE);
}

static void optimizer(struct loop *loop, int kernels)
{
	for (int i = 0; i < kernels; i++)
		machine_kernel(&loop->machine, "multi_tensor_apply_kernel", 15000);
}

static void loop_check(struct loop *loop, enum step_source source, size_t least, size_t most,
		       uint32_t launches)
{
	struct model *model = script_model(loop->script);

	assert_int_equal(model->steps.source, source);
	assert_in_range(model->steps.count, least, most);
	if (launches) {
		size_t right = 0;

		for (size_t i = 0; i < model->steps.count; i++)
			right += model->steps.items[i].launches == launches;
		assert_true(right + 3 >= model->steps.count);
	}
	model_free(model);
	script_free(loop->script);
}

static void regular_loop_is_found_with_its_launch_count(void **state)
{
	struct loop loop;

	(void)state;
	loop_init(&loop);
	upload_weights(&loop, 60);
	for (int step = 0; step < 20; step++) {
		machine_copy(&loop.machine, COPY_H2D, 1 << 20, MEMORY_PINNED, false);
		forward_backward(&loop, 4);
		optimizer(&loop, 3);
	}
	loop_check(&loop, STEPS_OPTIMIZER, 19, 21, 2 + 4 * 3 + 4 * 3 + 3);
}

static void loop_without_optimizer_names_is_found_by_its_period(void **state)
{
	struct loop loop;

	(void)state;
	loop_init(&loop);
	upload_weights(&loop, 30);
	for (int step = 0; step < 16; step++) {
		forward_backward(&loop, 6);
		machine_copy(&loop.machine, COPY_D2H, 4, MEMORY_PINNED, false);
		machine_sync(&loop.machine, "cudaStreamSynchronize", SYNC_STREAM);
	}
	loop_check(&loop, STEPS_PERIOD, 15, 17, 2 + 6 * 3 + 6 * 3);
}

static void jitter_in_time_changes_nothing(void **state)
{
	struct loop loop;

	(void)state;
	loop_init(&loop);
	for (int step = 0; step < 25; step++) {
		machine_work(&loop.machine, loop_random(&loop, 3000000));
		forward_backward(&loop, 3);
		machine_work(&loop.machine, loop_random(&loop, 500000));
		optimizer(&loop, 2);
	}
	loop_check(&loop, STEPS_OPTIMIZER, 24, 26, 2 + 3 * 6 + 2);
}

static void dynamic_shapes_with_other_kernels_keep_the_steps(void **state)
{
	static const char *const kernels[] = {
		"ampere_fp16_s16816gemm_fp16_128x128",
		"ampere_fp16_s16816gemm_fp16_64x64",
		"cutlass_80_tensorop_f16_s16816gemm_f16_256x128_32x3_tn_align8",
		"sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize96x128x32",
	};
	struct loop loop;

	(void)state;
	loop_init(&loop);
	for (int step = 0; step < 30; step++) {
		struct record_gemm gemm = script_gemm_f16(1024, 64 + loop_random(&loop, 900), 1024);

		machine_kernel(&loop.machine, "embedding_kernel", 20000);
		for (int layer = 0; layer < 12; layer++) {
			machine_gemm(&loop.machine, &gemm, kernels[loop_random(&loop, 4)], 40000);
			if (loop_random(&loop, 8) == 0)
				machine_kernel(&loop.machine, "splitKreduce_kernel", 4000);
			machine_kernel(&loop.machine, "softmax_warp_forward", 9000);
			machine_kernel(&loop.machine, "layer_norm_kernel", 9000);
		}
		optimizer(&loop, 2);
	}
	loop_check(&loop, STEPS_OPTIMIZER, 29, 31, 0);
}

static void micro_batches_are_grouped_to_the_optimizer(void **state)
{
	struct loop loop;

	(void)state;
	loop_init(&loop);
	for (int step = 0; step < 8; step++) {
		for (int micro = 0; micro < 16; micro++)
			forward_backward(&loop, 2);
		optimizer(&loop, 1);
	}
	loop_check(&loop, STEPS_OPTIMIZER, 7, 9, 16 * (2 + 2 * 6) + 1);
}

static void micro_batches_are_grouped_without_optimizer_names(void **state)
{
	struct loop loop;

	(void)state;
	loop_init(&loop);
	for (int step = 0; step < 8; step++) {
		for (int micro = 0; micro < 4; micro++)
			forward_backward(&loop, 2);
		for (int i = 0; i < 8; i++)
			machine_kernel(&loop.machine, "my_tuning_pass", 9000);
	}
	loop_check(&loop, STEPS_PERIOD, 7, 9, 4 * (2 + 2 * 6) + 8);
}

static void layers_are_no_steps(void **state)
{
	struct loop loop;

	(void)state;
	loop_init(&loop);
	for (int step = 0; step < 10; step++) {
		machine_kernel(&loop.machine, "embedding_kernel", 20000);
		for (int layer = 0; layer < 40; layer++) {
			struct record_gemm gemm = script_gemm_f16(1024, 16, 1024);

			machine_gemm(&loop.machine, &gemm, "gemv_kernel", 5000);
			machine_kernel(&loop.machine, "flash_fwd_kernel", 5000);
			machine_kernel(&loop.machine, "rms_norm_kernel", 5000);
		}
		machine_kernel(&loop.machine, "topk_kernel", 5000);
		machine_kernel(&loop.machine, "sampling_kernel", 5000);
		machine_copy(&loop.machine, COPY_D2H, 64, MEMORY_PINNED, false);
		machine_sync(&loop.machine, "cudaStreamSynchronize", SYNC_STREAM);
	}
	loop_check(&loop, STEPS_PERIOD, 9, 11, 1 + 40 * 3 + 2);
}

static void an_optimizer_inside_the_backward_pass_makes_no_steps_of_layers(void **state)
{
	struct loop loop;

	(void)state;
	loop_init(&loop);
	for (int step = 0; step < 12; step++) {
		struct record_gemm gemm = script_gemm_f16(1024, 1024, 1024);

		machine_copy(&loop.machine, COPY_H2D, 1 << 20, MEMORY_PINNED, false);
		for (int layer = 0; layer < 10; layer++) {
			machine_gemm(&loop.machine, &gemm, "ampere_fp16_s16816gemm_fp16", 50000);
			machine_kernel(&loop.machine, "gelu_kernel", 10000);
		}
		for (int layer = 0; layer < 10; layer++) {
			machine_gemm(&loop.machine, &gemm, "ampere_fp16_s16816gemm_fp16", 50000);
			machine_gemm(&loop.machine, &gemm, "ampere_fp16_s16816gemm_fp16", 50000);
			machine_kernel(&loop.machine, "adam_step", 10000);
		}
	}
	loop_check(&loop, STEPS_PERIOD, 11, 13, 10 * 2 + 10 * 3);
}

static void logging_every_tenth_step_does_not_make_ten_steps_one(void **state)
{
	struct loop loop;

	(void)state;
	loop_init(&loop);
	for (int step = 0; step < 60; step++) {
		forward_backward(&loop, 3);
		if (step % 10 == 9) {
			machine_copy(&loop.machine, COPY_D2H, 4, MEMORY_PINNED, false);
			machine_sync(&loop.machine, "cudaStreamSynchronize", SYNC_STREAM);
		}
	}
	loop_check(&loop, STEPS_PERIOD, 59, 61, 2 + 3 * 6);
}

static void saving_every_tenth_step_does_not_make_ten_steps_one(void **state)
{
	struct loop loop;

	(void)state;
	loop_init(&loop);
	for (int step = 0; step < 60; step++) {
		forward_backward(&loop, 3);
		for (int tensor = 0; step % 10 == 9 && tensor < 30; tensor++)
			machine_copy(&loop.machine, COPY_D2H, 1u << (12 + tensor % 4),
				     MEMORY_PAGEABLE, true);
	}
	loop_check(&loop, STEPS_PERIOD, 59, 61, 2 + 3 * 6);
}

/* Images of different size, each encoded at length and then cut into many small masks: the masks
 * repeat best, and hold almost none of the time. */
static void an_inner_loop_with_little_of_the_time_makes_no_steps(void **state)
{
	struct loop loop;
	struct record_gemm gemm = script_gemm_f16(1024, 1024, 1024);
	struct model *model;

	(void)state;
	loop_init(&loop);
	for (int image = 0; image < 6; image++) {
		for (uint32_t i = 0; i < 10 + loop_random(&loop, 40); i++) {
			machine_gemm(&loop.machine, &gemm, "ampere_fp16_s16816gemm_fp16_128x128",
				     4000000 + loop_random(&loop, 1000000));
			if (loop_random(&loop, 2))
				machine_kernel(&loop.machine, "layer_norm_kernel", 900000);
		}
		for (int mask = 0; mask < 80; mask++) {
			machine_kernel(&loop.machine, "vectorized_elementwise_kernel", 2000);
			machine_kernel(&loop.machine, "reduce_kernel", 2000);
			machine_kernel(&loop.machine, "index_put_kernel", 2000);
			machine_copy(&loop.machine, COPY_D2H, 4, MEMORY_PINNED, false);
			machine_sync(&loop.machine, "cudaStreamSynchronize", SYNC_STREAM);
		}
	}
	model = script_model(loop.script);
	/* The images may be taken for steps, the masks may not. */
	assert_true(model->steps.count <= 7);
	model_free(model);
	script_free(loop.script);
}

static void random_launches_have_no_steps(void **state)
{
	static const char *const kernels[] = {"alpha", "beta",	"gamma", "delta", "epsilon", "zeta",
					      "eta",   "theta", "iota",	 "kappa", "lambda",  "mu"};
	struct loop loop;

	(void)state;
	loop_init(&loop);
	for (int i = 0; i < 3000; i++)
		machine_kernel(&loop.machine, kernels[loop_random(&loop, 12)], 5000);
	loop_check(&loop, STEPS_NONE, 1, 1, 3000);
}

static void a_run_too_short_for_a_period_has_no_steps(void **state)
{
	struct loop loop;

	(void)state;
	loop_init(&loop);
	for (int step = 0; step < 2; step++)
		forward_backward(&loop, 3);
	loop_check(&loop, STEPS_NONE, 1, 1, 0);
}

static void named_ranges_win_over_the_period(void **state)
{
	struct loop loop;

	(void)state;
	loop_init(&loop);
	for (int step = 0; step < 6; step++) {
		int64_t begin_ns = loop.machine.host_ns;
		char name[32];

		for (int half = 0; half < 2; half++) {
			forward_backward(&loop, 3);
			optimizer(&loop, 2);
		}
		snprintf(name, sizeof(name), "ProfilerStep#%d", step);
		script_add_mark(loop.script, name, begin_ns, loop.machine.host_ns);
	}
	loop_check(&loop, STEPS_MARKS, 6, 6, 2 * (2 + 3 * 6 + 2));
}

static void warm_up_and_partial_steps_are_left_out(void **state)
{
	struct loop loop;
	struct model *model;

	(void)state;
	loop_init(&loop);
	for (int step = 0; step < 20; step++) {
		struct script_call load = {.begin_ns = loop.machine.host_ns,
					   .end_ns = loop.machine.host_ns + 900000,
					   .thread = 1,
					   .api = "cuModuleLoadData"};

		if (step < 3) { /* lazy loading in the first steps */
			script_add_plain(loop.script, &load);
			machine_work(&loop.machine, 900000);
		}
		forward_backward(&loop, 3);
		optimizer(&loop, 2);
	}
	model = script_model(loop.script);
	assert_int_equal(model->steps.source, STEPS_OPTIMIZER);
	assert_int_equal(model->steps.partial_count, 1);
	assert_in_range(model->steps.warm_up_count, 2, 3);
	assert_int_equal(model->steps.steady_count, model->devices[0].ledger.steady_count);
	for (size_t i = 0; i < model->steps.count; i++) {
		if (model->steps.items[i].kind == STEP_STEADY)
			assert_int_equal(model->steps.items[i].launches, 2 + 3 * 6 + 2);
	}
	model_free(model);
	script_free(loop.script);
}

/* Two products per step; from some step on the host waits for the step before the last. */
static size_t paced_steps(int unpaced, int paced)
{
	struct record_gemm gemm = script_gemm_f16(1024, 1024, 1024);
	struct loop loop;
	struct model *model;
	size_t count;

	loop_init(&loop);
	for (int step = 0; step < unpaced + paced; step++) {
		machine_gemm(&loop.machine, &gemm, "ampere_fp16_s16816gemm_fp16_128x128", 500000);
		machine_gemm(&loop.machine, &gemm, "ampere_fp16_s16816gemm_fp16_128x128", 500000);
		if (step >= unpaced)
			machine_sync(&loop.machine, "cudaEventSynchronize", SYNC_EVENT);
	}
	model = script_model(loop.script);
	assert_int_equal(model->steps.source, STEPS_PERIOD);
	count = model->steps.count;
	model_free(model);
	script_free(loop.script);
	return count;
}

static void first_steps_that_run_ahead_of_the_wait_are_steps(void **state)
{
	(void)state;
	assert_int_equal(paced_steps(0, 30), 30);
	assert_int_equal(paced_steps(2, 28), 30);
	assert_int_equal(paced_steps(3, 27), 30);
}

static void a_long_loop_without_waits_is_another_loop(void **state)
{
	(void)state;
	assert_in_range(paced_steps(20, 40), 39, 40);
}

static void a_stalled_step_stands_apart(void **state)
{
	struct loop loop;
	struct model *model;

	(void)state;
	loop_init(&loop);
	for (int step = 0; step < 20; step++) {
		if (step == 12)
			machine_work(&loop.machine, 50000000);
		forward_backward(&loop, 3);
		optimizer(&loop, 2);
		machine_sync(&loop.machine, "cudaDeviceSynchronize", SYNC_DEVICE);
	}
	model = script_model(loop.script);
	assert_int_equal(model->steps.outlier_count, 1);
	assert_true(ledger_step_ms(&model->devices[0].ledger) < 5);
	model_free(model);
	script_free(loop.script);
}

static void names_of_steps_are_told_from_other_ranges(void **state)
{
	(void)state;
	assert_true(step_mark_name_matches("ProfilerStep#12"));
	assert_true(step_mark_name_matches("iteration 7"));
	assert_true(step_mark_name_matches("train_step"));
	assert_true(step_mark_name_matches("Step 3"));
	assert_false(step_mark_name_matches("Optimizer.step#Adam.step"));
	assert_false(step_mark_name_matches("forward"));
	assert_false(step_mark_name_matches("stepwise refinement"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regular_loop_is_found_with_its_launch_count),
		cmocka_unit_test(loop_without_optimizer_names_is_found_by_its_period),
		cmocka_unit_test(first_steps_that_run_ahead_of_the_wait_are_steps),
		cmocka_unit_test(a_long_loop_without_waits_is_another_loop),
		cmocka_unit_test(jitter_in_time_changes_nothing),
		cmocka_unit_test(dynamic_shapes_with_other_kernels_keep_the_steps),
		cmocka_unit_test(micro_batches_are_grouped_to_the_optimizer),
		cmocka_unit_test(micro_batches_are_grouped_without_optimizer_names),
		cmocka_unit_test(layers_are_no_steps),
		cmocka_unit_test(an_optimizer_inside_the_backward_pass_makes_no_steps_of_layers),
		cmocka_unit_test(logging_every_tenth_step_does_not_make_ten_steps_one),
		cmocka_unit_test(saving_every_tenth_step_does_not_make_ten_steps_one),
		cmocka_unit_test(an_inner_loop_with_little_of_the_time_makes_no_steps),
		cmocka_unit_test(random_launches_have_no_steps),
		cmocka_unit_test(a_run_too_short_for_a_period_has_no_steps),
		cmocka_unit_test(named_ranges_win_over_the_period),
		cmocka_unit_test(warm_up_and_partial_steps_are_left_out),
		cmocka_unit_test(a_stalled_step_stands_apart),
		cmocka_unit_test(names_of_steps_are_told_from_other_ranges),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
