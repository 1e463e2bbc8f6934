/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases of a step come from ranges and from Python frames; steps from the surest marks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model_script.h"

#define MS 1000000

static void texts_name_phases_by_whole_words(void **state)
{
	(void)state;
	assert_int_equal(phase_of_text("forward"), PHASE_FORWARD);
	assert_int_equal(phase_of_text("Forward pass 3"), PHASE_FORWARD);
	assert_int_equal(phase_of_text("fwd_microstep"), PHASE_FORWARD);
	assert_int_equal(phase_of_text("BACKWARD"), PHASE_BACKWARD);
	assert_int_equal(phase_of_text("bwd"), PHASE_BACKWARD);
	assert_int_equal(phase_of_text("autograd::engine::evaluate_function: MmBackward0"),
			 PHASE_BACKWARD);
	assert_int_equal(phase_of_text("Optimizer.step#AdamW.step"), PHASE_OPTIMIZER);
	assert_int_equal(phase_of_text("opt step"), PHASE_OPTIMIZER);
	assert_int_equal(phase_of_text("enumerate(DataLoader)#_SingleProcess"), PHASE_DATA);
	assert_int_equal(phase_of_text("load_batch"), PHASE_DATA);
	assert_int_equal(phase_of_text("prefill 512 tokens"), PHASE_PREFILL);
	assert_int_equal(phase_of_text("Decode forward"), PHASE_DECODE);
	assert_int_equal(phase_of_text("forward_decode"), PHASE_DECODE);
	assert_int_equal(phase_of_text("validation step"), PHASE_VALIDATION);
	assert_int_equal(phase_of_text("decoder layer"), PHASE_NONE);
	assert_int_equal(phase_of_text("prefill+decode"), PHASE_NONE);
	assert_int_equal(phase_of_text("forward-backward"), PHASE_NONE);
	assert_int_equal(phase_of_text("options"), PHASE_NONE);
	assert_int_equal(phase_of_text("adopt"), PHASE_NONE);
	assert_int_equal(phase_of_text("checkpoint"), PHASE_NONE);
	assert_int_equal(phase_of_text(""), PHASE_NONE);
}

static const char *const frame_texts[] = {
	NULL,
	"step\x1f/usr/lib/python3/dist-packages/torch/optim/adam.py",
	"backward\x1f/venv/lib/python3.11/site-packages/torch/_tensor.py",
	"_call_impl\x1f/venv/lib/python3.11/site-packages/torch/nn/modules/module.py",
	"main\x1f/home/me/train.py",
	"step\x1f/home/me/train.py",
	"__next__\x1f/x/torch/utils/data/dataloader.py",
	"backward\x1f/home/me/my_function.py",
	"step\x1f/x/apex/optimizers/fused_adam.py",
};

static const char *frame_text(void *context, uint64_t number)
{
	(void)context;
	return frame_texts[number];
}

/* values: innermost first; -1: FRAME_WAITING; 0 ends */
static enum model_phase phase_of_frames(const int *values)
{
	uint64_t memory[32] = {0};
	struct record_site *site = (struct record_site *)memory;

	for (; values[site->frame_count]; site->frame_count++) {
		struct site_frame *frame = &site->frames[site->frame_count];
		int value = values[site->frame_count];

		frame->type = value < 0 ? FRAME_WAITING : FRAME_PYTHON;
		frame->value = value < 0 ? 0 : (uint64_t)value;
	}
	return phase_of_site(site, frame_text, NULL);
}

static void frames_name_phases_by_the_outermost_that_tells(void **state)
{
	(void)state;
	assert_int_equal(phase_of_frames((int[]){1, 4, 0}), PHASE_OPTIMIZER);
	assert_int_equal(phase_of_frames((int[]){2, 4, 0}), PHASE_BACKWARD);
	assert_int_equal(phase_of_frames((int[]){3, 4, 0}), PHASE_FORWARD);
	assert_int_equal(phase_of_frames((int[]){6, 4, 0}), PHASE_DATA);
	assert_int_equal(phase_of_frames((int[]){8, 4, 0}), PHASE_OPTIMIZER);
	/* Recomputed within backward(), as checkpointing does. */
	assert_int_equal(phase_of_frames((int[]){3, 2, 4, 0}), PHASE_BACKWARD);
	/* An autograd thread, which borrows the frames of the waiting one. */
	assert_int_equal(phase_of_frames((int[]){-1, 4, 0}), PHASE_BACKWARD);
	assert_int_equal(phase_of_frames((int[]){4, 0}), PHASE_NONE);
	assert_int_equal(phase_of_frames((int[]){5, 4, 0}), PHASE_NONE);
	assert_int_equal(phase_of_frames((int[]){7, 4, 0}), PHASE_NONE);
}

static void kernels(struct machine *machine, int count)
{
	for (int i = 0; i < count; i++)
		machine_kernel(machine, "vectorized_elementwise_kernel", 100000);
}

/* Steps of 3 + 5 + 1 kernels of 0.1 ms, each named by the caller's ranges. */
static void add_step(struct script *script, struct machine *machine, bool has_ranges)
{
	int64_t begin_ns = machine->host_ns, middle_ns;

	machine->site = has_ranges ? 0 : 1;
	kernels(machine, 3);
	middle_ns = machine->host_ns;
	if (has_ranges)
		script_add_mark(script, "forward", begin_ns, middle_ns);
	machine->site = has_ranges ? 0 : 2;
	kernels(machine, 5);
	if (has_ranges)
		script_add_mark(script, "backward", middle_ns, machine->host_ns);
	machine->site = 3;
	kernels(machine, 1);
	machine_sync(machine, "cudaDeviceSynchronize", SYNC_DEVICE);
	script_add_mark_of(script, MARK_API, "step", begin_ns, machine->host_ns);
}

static struct script *script_with_sites(struct machine *machine)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);

	script_add_site(script, 1, frame_texts[3]);
	script_add_site(script, 2, frame_texts[2]);
	script_add_site(script, 3, frame_texts[1]);
	machine_init(machine, script);
	return script;
}

static void check_phases(struct script *script, bool has_ranges)
{
	struct model *model = script_model(script);
	const struct phase_usage *phases = &model->devices[0].phases;
	int64_t steps = (int64_t)model->steps.steady_count;

	assert_int_equal(model->steps.source, STEPS_MARKS);
	assert_int_equal(model->steps.mark_kind, STEP_MARK_API);
	assert_in_range(steps, 4, 10);
	assert_int_equal(phases->gpu_ns[PHASE_FORWARD], steps * 300000);
	assert_int_equal(phases->gpu_ns[PHASE_BACKWARD], steps * 500000);
	assert_int_equal(phases->gpu_ns[PHASE_OPTIMIZER], steps * 100000);
	assert_int_equal(phases->gpu_ns[PHASE_NONE], 0);
	assert_int_equal(phases->launches[PHASE_BACKWARD], 5 * steps);
	assert_int_equal(phases->by_marks_ns, has_ranges ? steps * 800000 : 0);
	assert_int_equal(phases->by_frames_ns, steps * (has_ranges ? 100000 : 900000));
	if (has_ranges)
		assert_true(phases->host_ns[PHASE_FORWARD] > 0);
	else
		assert_int_equal(phases->host_ns[PHASE_FORWARD], 0);
	model_free(model);
	script_free(script);
}

static void ranges_give_phases_and_frames_the_rest(void **state)
{
	struct machine machine;
	struct script *script = script_with_sites(&machine);

	(void)state;
	for (int i = 0; i < 10; i++)
		add_step(script, &machine, true);
	check_phases(script, true);
}

static void frames_alone_give_phases(void **state)
{
	struct machine machine;
	struct script *script = script_with_sites(&machine);

	(void)state;
	for (int i = 0; i < 10; i++)
		add_step(script, &machine, false);
	check_phases(script, false);
}

static void inner_ranges_win_over_outer_ones(void **state)
{
	struct machine machine;
	struct script *script = script_with_sites(&machine);
	struct model *model;

	(void)state;
	for (int i = 0; i < 6; i++) {
		int64_t begin_ns = machine.host_ns, inner_ns;

		kernels(&machine, 1);
		inner_ns = machine.host_ns;
		kernels(&machine, 2);
		script_add_mark(script, "forward", inner_ns, machine.host_ns);
		kernels(&machine, 1);
		machine_sync(&machine, "cudaDeviceSynchronize", SYNC_DEVICE);
		script_add_mark(script, "backward", begin_ns, machine.host_ns);
		script_add_mark(script, "iteration", begin_ns, machine.host_ns);
	}
	model = script_model(script);
	assert_int_equal(model->steps.mark_kind, STEP_MARK_RANGE);
	assert_int_equal(model->devices[0].phases.launches[PHASE_FORWARD],
			 2 * model->steps.steady_count);
	assert_int_equal(model->devices[0].phases.launches[PHASE_BACKWARD],
			 2 * model->steps.steady_count);
	model_free(model);
	script_free(script);
}

static void sparse_ranges_become_whole_steps(void **state)
{
	struct machine machine;
	struct script *script = script_with_sites(&machine);
	struct model *model;

	(void)state;
	for (int i = 0; i < 8; i++) {
		int64_t begin_ns = machine.host_ns;

		kernels(&machine, 1);
		script_add_mark(script, "step", begin_ns, machine.host_ns);
		kernels(&machine, 4);
		machine_work(&machine, 5 * MS);
		machine_sync(&machine, "cudaDeviceSynchronize", SYNC_DEVICE);
	}
	model = script_model(script);
	assert_int_equal(model->steps.source, STEPS_MARKS);
	assert_int_equal(model->steps.count, 8);
	assert_true(model->steps.marked_share < 0.5);
	for (size_t i = 0; i + 1 < model->steps.count; i++)
		assert_int_equal(model->steps.items[i].launches, 5);
	model_free(model);
	script_free(script);
}

static void surer_marks_win(void **state)
{
	struct machine machine;
	struct script *script = script_with_sites(&machine);
	struct model *model;

	(void)state;
	for (int i = 0; i < 6; i++) {
		int64_t begin_ns = machine.host_ns;

		/* Two micro-batches, each called a step; the profiler knows better. */
		for (int half = 0; half < 2; half++) {
			int64_t half_ns = machine.host_ns;

			kernels(&machine, 3);
			script_add_mark(script, "step", half_ns, machine.host_ns);
		}
		machine_sync(&machine, "cudaDeviceSynchronize", SYNC_DEVICE);
		script_add_mark(script, "ProfilerStep#1", begin_ns + 1, machine.host_ns);
	}
	model = script_model(script);
	assert_int_equal(model->steps.mark_kind, STEP_MARK_TORCH);
	assert_int_equal(model->steps.count, 6);
	model_free(model);
	script_free(script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_name_phases_by_whole_words),
		cmocka_unit_test(frames_name_phases_by_the_outermost_that_tells),
		cmocka_unit_test(ranges_give_phases_and_frames_the_rest),
		cmocka_unit_test(frames_alone_give_phases),
		cmocka_unit_test(inner_ranges_win_over_outer_ones),
		cmocka_unit_test(surer_marks_win),
		cmocka_unit_test(sparse_ranges_become_whole_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
