/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The replay of a recording with shorter GPU work says what a machine with shorter GPU work does.
 */
#include "unit_test.h"

#include <math.h>

#include "model_script.h"
#include "replay.h"

#define KERNEL "elementwise_kernel"
#define STEPS  12

struct loop {
	int64_t launch_ns, kernel_ns, work_ns; /* work: of the host, between steps */
	int kernels;
	bool has_sync;		 /* at the end of a step */
	uint64_t readback_bytes; /* at the end of a step, 0 none */
	uint8_t host_kind;	 /* of what is read back */
};

static struct script *run_loop(const struct loop *loop, double kept)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct machine machine;

	machine_init(&machine, script);
	machine.launch_ns = loop->launch_ns;
	for (int step = 0; step < STEPS; step++) {
		int64_t begin_ns = machine.host_ns;

		for (int i = 0; i < loop->kernels; i++)
			machine_kernel(&machine, KERNEL, (int64_t)((double)loop->kernel_ns * kept));
		if (loop->readback_bytes)
			machine_copy(&machine, COPY_D2H, loop->readback_bytes, loop->host_kind,
				     true);
		if (loop->has_sync)
			machine_sync(&machine, "cudaDeviceSynchronize", SYNC_DEVICE);
		machine_work(&machine, loop->work_ns);
		script_add_mark(script, "ProfilerStep#1", begin_ns, machine.host_ns);
	}
	machine_sync(&machine, "cudaDeviceSynchronize", SYNC_DEVICE);
	return script;
}

static double gain_of(const struct model *model, double share)
{
	struct replay *replay = replay_new(model, 0);
	double removed[LEDGER_PART_COUNT] = {0};
	double gain_ms;

	removed[LEDGER_MEMORY_BOUND] = share;
	gain_ms = replay_gain_ms(replay, removed);
	replay_free(replay);
	return gain_ms;
}

/* What the replay says against what the machine does; both in ms per step. */
static void compare(const struct loop *loop, double share, double *said_ms, double *seen_ms)
{
	struct script *before_script = run_loop(loop, 1), *after_script = run_loop(loop, 1 - share);
	struct model *before = script_model(before_script), *after = script_model(after_script);

	*said_ms = gain_of(before, share);
	*seen_ms = ledger_step_ms(&before->devices[0].ledger) -
		   ledger_step_ms(&after->devices[0].ledger);
	assert_int_equal(before->devices[0].ledger.steady_count,
			 after->devices[0].ledger.steady_count);
	model_free(before);
	model_free(after);
	script_free(before_script);
	script_free(after_script);
}

static void a_replay_agrees_with_the_machine(void **state)
{
	static const struct loop loops[] = {
		{5000, 200000, 0, 20, 1, 0, 0},	      /* waits for the GPU in every step */
		{50000, 10000, 0, 40, 1, 0, 0},	      /* launches too slowly */
		{20000, 30000, 300000, 40, 1, 0, 0},  /* the host's path is not far behind */
		{5000, 100000, 1000000, 20, 1, 0, 0}, /* waits, then does something else */
		{5000, 100000, 500000, 30, 0, 0, 0},  /* runs ahead, waits at the end only */
		{5000, 50000, 100000, 30, 0, 256, MEMORY_PINNED}, /* reads a result back */
		{5000, 50000, 0, 30, 0, 1 << 20, MEMORY_PAGEABLE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++) {
		for (double share = 0.1; share < 0.95; share += 0.2) {
			double said_ms, seen_ms, work_ms;

			compare(&loops[i], share, &said_ms, &seen_ms);
			work_ms = (double)loops[i].kernel_ns * loops[i].kernels / 1e6;
			if (fabs(said_ms - seen_ms) > 0.02 * work_ms + 0.01)
				fail_msg("loop %zu, %.0f %% removed: %.3f ms said, %.3f ms seen", i,
					 100 * share, said_ms, seen_ms);
		}
	}
}

static void nothing_removed_changes_nothing(void **state)
{
	static const struct loop loop = {20000, 30000, 300000, 40, 1, 4096, MEMORY_PAGEABLE};
	struct script *script = run_loop(&loop, 1);
	struct model *model = script_model(script);

	(void)state;
	assert_true(gain_of(model, 0) == 0);
	model_free(model);
	script_free(script);
}

static void work_behind_slow_launches_gains_nothing(void **state)
{
	static const struct loop loop = {50000, 10000, 0, 40, 0, 0, 0};
	struct script *script = run_loop(&loop, 1);
	struct model *model = script_model(script);

	(void)state;
	assert_true(gain_of(model, 1) < 0.02);
	model_free(model);
	script_free(script);
}

/* A launch that returns only when the queue has room again is a wait for the GPU. */
static void a_full_queue_is_a_wait(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	int64_t host_ns = 0, stream_ns = 20000;
	struct model *model;
	double gain_ms;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		bool is_full = i >= 1024;
		struct script_call call = {.begin_ns = host_ns,
					   .thread = 1,
					   .api = "cudaLaunchKernel",
					   .correlation = script_next_correlation(script),
					   .flags = CALL_ASYNC};

		call.end_ns = is_full ? 20000 + 200000 * (int64_t)(i - 1023) : host_ns + 5000;
		script_add_launch(script, &call, KERNEL);
		script_add_kernel(script, 0, KERNEL, call.correlation, stream_ns,
				  stream_ns + 200000);
		stream_ns += 200000;
		host_ns = call.end_ns + 1000;
	}
	model = script_model(script);
	/* 600 ms of kernels, of which a tenth stays; the launches alone take 18 ms. */
	gain_ms = gain_of(model, 0.9) * (double)model_steady_count(model);
	assert_true(gain_ms > 0.85 * ledger_step_ms(&model->devices[0].ledger) *
				      (double)model_steady_count(model));
	model_free(model);
	script_free(script);
}

/* A copy that waited for a kernel on another stream comes earlier when the kernel does. */
static void what_another_stream_waited_for_moves_along(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct script_call kernel = {.begin_ns = 0,
				     .end_ns = 5000,
				     .thread = 1,
				     .api = "cudaLaunchKernel",
				     .correlation = script_next_correlation(script),
				     .flags = CALL_ASYNC};
	struct script_call copy = {.begin_ns = 6000,
				   .end_ns = 11000,
				   .thread = 1,
				   .api = "cudaMemcpyAsync",
				   .correlation = script_next_correlation(script),
				   .flags = CALL_ASYNC};
	struct model *model;

	(void)state;
	script_add_launch(script, &kernel, KERNEL);
	script_add_copy(script, &copy, COPY_D2H, 1 << 20, MEMORY_DEVICE, MEMORY_PINNED);
	script_add_kernel(script, 0, KERNEL, kernel.correlation, 10000, 1010000);
	script_use_stream(script, 9);
	script_add_gpu_copy(script, 0, COPY_D2H, 1 << 20, MEMORY_DEVICE, MEMORY_PINNED,
			    copy.correlation, 1012000, 1062000);
	model = script_model(script);
	assert_float_equal(gain_of(model, 0.5), 0.5, 0.001);
	model_free(model);
	script_free(script);
}

static void work_without_launches_is_taken_as_it_lies(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model;

	(void)state;
	for (int i = 0; i < 50; i++)
		script_add_kernel(script, 0, KERNEL, 0, i * 110000, i * 110000 + 100000);
	model = script_model(script);
	assert_float_equal(gain_of(model, 0.5), 2.5, 0.001);
	model_free(model);
	script_free(script);
}

/* Times that make no sense must not crash or hang, nor gain more than there is. */
static void random_recordings_gain_no_more_than_their_length(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 40; seed++) {
		struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
		uint32_t random = seed * 2654435761u;
		struct model *model;
		double gain_ms;

		for (uint32_t i = 0; i < 300; i++) {
			struct script_call call = {.thread = 1 + i % 3,
						   .api = "cudaLaunchKernel",
						   .correlation = script_next_correlation(script)};
			int64_t at_ns;

			random = random * 1664525u + 1013904223u;
			at_ns = (int64_t)(random >> 8) % 3000000;
			call.begin_ns = at_ns - (int64_t)(random % 30000);
			call.end_ns = call.begin_ns + (int64_t)(random % 9000);
			script_use_stream(script, random % 4);
			if (random % 5 == 0)
				script_add_sync(script, &call, SYNC_DEVICE);
			else
				script_add_launch(script, &call, KERNEL);
			script_add_kernel(script, 0, KERNEL, random % 7 ? call.correlation : 0,
					  at_ns, at_ns + (int64_t)(random % 20000));
		}
		model = script_model(script);
		gain_ms = gain_of(model, 1);
		assert_true(isfinite(gain_ms));
		assert_true(gain_of(model, 0) == 0);
		assert_true(gain_ms <= ledger_step_ms(&model->devices[0].ledger) + 1e-9);
		model_free(model);
		script_free(script);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_replay_agrees_with_the_machine),
		cmocka_unit_test(nothing_removed_changes_nothing),
		cmocka_unit_test(work_behind_slow_launches_gains_nothing),
		cmocka_unit_test(a_full_queue_is_a_wait),
		cmocka_unit_test(what_another_stream_waited_for_moves_along),
		cmocka_unit_test(work_without_launches_is_taken_as_it_lies),
		cmocka_unit_test(random_recordings_gain_no_more_than_their_length),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
