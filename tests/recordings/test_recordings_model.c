/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference numbers again, through the model: nothing that a recording holds may get lost
 * between the trace and the ledger, which must add up to each device's window.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "error.h"
#include "interval_union.h"
#include "model.h"
#include "recording_reference.h"

#define US(ns) ((double)(ns) / 1000.0)

struct through_model {
	const char *file;
	yajl_val entry;
};

/* The ledger's unit is a sixtieth of a nanosecond. */
static double part_us(const struct ledger *ledger, int first, int limit)
{
	int64_t sum = 0;
	for (int part = first; part < limit; part++)
		sum += ledger->part[part];
	return US((double)sum / LEDGER_UNITS_PER_NS);
}

/* See test_recordings_kineto.c: the reference's doubles hold some times to a quarter microsecond.
 */
static double slack_of(yajl_val device, uint64_t events)
{
	double busy = reference_number(device, "busy_us");
	return busy != floor(busy) && busy * 4 == floor(busy * 4) ? 0.01 * (double)events : 0.002;
}

static void compare_ledger(const char *file, yajl_val r, const struct model_device *device)
{
	const struct ledger *whole = &device->ledger.whole;
	double slack = slack_of(r, device->op_count);
	int64_t sum = 0;
	for (int part = 0; part < LEDGER_PART_COUNT; part++)
		sum += whole->part[part];
	/* Exactly: nothing is lost and nothing counted twice. */
	assert_true(sum == whole->length_ns * LEDGER_UNITS_PER_NS);
	assert_near(file, "window", reference_number(r, "window_us"), US(whole->length_ns), slack);
	assert_near(file, "busy", reference_number(r, "busy_us"),
		    part_us(whole, 0, LEDGER_COPY + 1), slack);
	assert_near(file, "idle", reference_number(r, "idle_us"),
		    part_us(whole, LEDGER_COPY + 1, LEDGER_PART_COUNT), slack);
}

static void compare_device(const char *file, yajl_val r, const struct model *model,
			   const struct model_device *device)
{
	uint64_t counts[GPU_OP_SET + 1] = {0};
	struct interval_set comm = {0}, copies = {0};
	uint64_t bytes = 0;
	for (size_t i = device->first_op; i < device->first_op + device->op_count; i++) {
		const struct gpu_op *op = &model->ops[i];
		counts[op->type]++;
		if (op->type == GPU_OP_KERNEL && op->kernel_class == KERNEL_COMMUNICATION)
			interval_add(&comm, op->begin_ns, op->end_ns);
		if (op->type != GPU_OP_COPY)
			continue;
		interval_add(&copies, op->begin_ns, op->end_ns);
		bytes += model->transfers[op->detail].size_bytes;
	}
	interval_join(&comm);
	interval_join(&copies);
	assert_count(file, "kernels", reference_number(r, "n_kernel"), counts[GPU_OP_KERNEL]);
	assert_count(file, "copies", reference_number(r, "n_memcpy"), counts[GPU_OP_COPY]);
	assert_count(file, "sets", reference_number(r, "n_memset"), counts[GPU_OP_SET]);
	assert_count(file, "without launch", reference_number(r, "unlinked"), device->unlinked_ops);
	double slack = slack_of(r, device->op_count);
	assert_near(file, "communication", reference_number(r, "comm_us"),
		    US(interval_length(&comm)), slack);
	assert_near(file, "copying", reference_number(r, "memcpy_us"), US(interval_length(&copies)),
		    slack);
	yajl_val kinds = reference_member(r, "memcpy");
	double expected = 0;
	for (size_t i = 0; i < kinds->u.object.len; i++)
		expected += reference_number(kinds->u.object.values[i], "bytes");
	assert_count(file, "bytes", expected, bytes);
	compare_ledger(file, r, device);
	interval_free(&comm);
	interval_free(&copies);
}

static void compare_model(const char *file, yajl_val entry, const struct model *model)
{
	yajl_val devices = reference_member(entry, "devices");
	size_t matched = 0;
	for (size_t i = 0; i < model->device_count; i++) {
		const struct model_device *device = &model->devices[i];
		for (size_t j = 0; j < devices->u.object.len; j++) {
			if ((uint32_t)atoi(devices->u.object.keys[j]) != device->ordinal)
				continue;
			compare_device(file, devices->u.object.values[j], model, device);
			matched++;
		}
	}
	assert_count(file, "devices with work", (double)devices->u.object.len, matched);
	assert_true(model->has_gpu_times == (devices->u.object.len > 0));

	uint64_t launches = 0;
	for (size_t i = 0; i < model->call_count; i++)
		launches += model->calls[i].kind == RECORD_KIND_launch &&
			    !(model->calls[i].flags & CALL_REDUNDANT);
	assert_count(file, "launches", reference_number(entry, "launches"), launches);
	yajl_val steps = reference_member(entry, "steps");
	assert_count(file, "named steps", (double)steps->u.array.len, model->step_mark_count);
	if (YAJL_IS_NUMBER(reference_member(entry, "rank")))
		assert_count(file, "rank", reference_number(entry, "rank"), (uint64_t)model->rank);
}

static void read_model(const char *path, void *context)
{
	struct through_model *t = context;
	struct trace *trace;
	struct model *model;
	struct error err = {0};
	if (trace_open(path, &trace, &err))
		fail_msg("%s", err.text);
	struct model_source source = model_source_of_trace(trace);
	if (model_build(&source, &model, &err))
		fail_msg("%s", err.text);
	compare_model(t->file, t->entry, model);
	model_free(model);
	trace_close(trace);
}

static void model_has_the_reference_numbers(void **state)
{
	struct through_model t = {.entry = *state};
	t.file = reference_text(t.entry, "file");
	recording_import(t.file, read_model, &t);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return reference_run("kineto", model_has_the_reference_numbers);
}
