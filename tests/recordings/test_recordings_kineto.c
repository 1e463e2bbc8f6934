/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every PyTorch recording with reference numbers, imported and read back: the same windows, unions,
 * counts, bytes and steps as an independent program computed from the JSON itself.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "import_api.h"
#include "recording_facts.h"
#include "recording_reference.h"

#define US(ns) ((double)(ns) / 1000.0)

/*
 * Where a recording has nanoseconds since 1970, the reference's doubles hold each time only to a
 * quarter of a microsecond; its sums then are that many quarters off, here up to a hundredth per
 * event. Elsewhere it is exact.
 */
static double reference_slack(yajl_val device, uint64_t events)
{
	double busy = reference_number(device, "busy_us");
	bool has_quarters = busy != floor(busy) && busy * 4 == floor(busy * 4);
	return has_quarters ? 0.01 * (double)events : 0.002;
}

static void compare_copies(const char *file, yajl_val device, const struct device_facts *d)
{
	yajl_val copies = reference_member(device, "memcpy");
	assert_true(YAJL_IS_OBJECT(copies));
	for (size_t i = 0; i < copies->u.object.len; i++) {
		const char *name = copies->u.object.keys[i];
		yajl_val expected = copies->u.object.values[i];
		struct copy_kinds kinds = import_copy_kinds(name, strlen(name));
		const struct copy_facts *found = NULL;
		for (uint32_t j = 0; j < d->copy_kind_count; j++) {
			const struct copy_facts *c = &d->copy_kinds[j];
			if (c->direction == kinds.direction && c->source_kind == kinds.source &&
			    c->destination_kind == kinds.destination)
				found = c;
		}
		if (!found)
			fail_msg("%s: no copy \"%s\" in the trace", file, name);
		assert_count(file, name, reference_number(expected, "n"), found->count);
		assert_count(file, "bytes", reference_number(expected, "bytes"), found->bytes);
		assert_near(file, "copy time", reference_number(expected, "us"), US(found->ns),
			    0.002 + reference_slack(device, found->count));
	}
	assert_count(file, "kinds of copies", (double)copies->u.object.len, d->copy_kind_count);
}

static const struct device_facts *find_device(const struct recording_facts *f, uint32_t ordinal)
{
	for (uint32_t i = 0; i < f->device_count; i++) {
		if (f->devices[i].ordinal == ordinal)
			return &f->devices[i];
	}
	return NULL;
}

static void compare_times(const char *file, yajl_val r, const struct device_facts *d)
{
	const struct {
		const char *name;
		double got;
	} times[] = {
		{"window_us", US(d->window_ns)},
		{"busy_us", US(d->busy_ns)},
		{"idle_us", US(d->window_ns - d->busy_ns)},
		{"compute_us", US(d->compute_ns)},
		{"kernel_only_us", US(d->kernel_only_ns)},
		{"comm_us", US(d->comm_ns)},
		{"memcpy_us", US(d->copy_ns)},
		{"exposed_comm_us", US(d->exposed_comm_ns)},
		{"exposed_memcpy_us", US(d->exposed_copy_ns)},
		{"linked_window_us", US(d->linked_window_ns)},
		{"linked_busy_us", US(d->linked_busy_ns)},
		{"sum_kernel_us", US(d->sum_kernel_ns)},
		{"max_gap_us", US(d->max_gap_ns)},
	};
	double slack = reference_slack(r, d->kernels + d->copies + d->sets);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		assert_near(file, times[i].name, reference_number(r, times[i].name), times[i].got,
			    slack);
	if (d->comm_ns)
		assert_near(file, "comm_overlap_pct", reference_number(r, "comm_overlap_pct"),
			    100.0 * (double)(d->comm_ns - d->comm_alone_ns) / (double)d->comm_ns,
			    0.01);
}

static void compare_counts(const char *file, yajl_val r, const struct device_facts *d)
{
	const struct {
		const char *name;
		uint64_t got;
	} counts[] = {
		{"n_kernel", d->kernels},     {"n_memcpy", d->copies},
		{"n_memset", d->sets},	      {"unlinked", d->unlinked},
		{"streams", d->streams},      {"gaps_gt_100us", d->gaps_100us},
		{"gaps_gt_1ms", d->gaps_1ms}, {"distinct_kernels", d->distinct_kernels},
	};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		assert_count(file, counts[i].name, reference_number(r, counts[i].name),
			     counts[i].got);
	/* Durations near a limit fall on either side of it where the reference has only quarters.
	 */
	const struct {
		const char *name;
		uint64_t got;
	} limited[] = {
		{"gaps_gt_10us", d->gaps_10us},
		{"kernels_lt_5us", d->kernels_below_5us},
		{"kernels_lt_10us", d->kernels_below_10us},
	};
	double slack = reference_slack(r, d->kernels);
	for (size_t i = 0; i < sizeof(limited) / sizeof(limited[0]); i++)
		assert_near(file, limited[i].name, reference_number(r, limited[i].name),
			    (double)limited[i].got, slack);
	yajl_val gemm = reference_member(r, "gemm_total");
	assert_true(YAJL_IS_ARRAY(gemm));
	assert_count(file, "GEMM kernels", strtod(YAJL_GET_NUMBER(gemm->u.array.values[0]), NULL),
		     d->gemm_kernels);
	assert_near(file, "GEMM time", strtod(YAJL_GET_NUMBER(gemm->u.array.values[1]), NULL),
		    US(d->gemm_ns), 1);
}

static void compare_devices(const char *file, yajl_val entry, const struct recording_facts *f)
{
	yajl_val devices = reference_member(entry, "devices");
	size_t count = YAJL_IS_OBJECT(devices) ? devices->u.object.len : 0;
	assert_count(file, "devices with work", (double)count, f->device_count);
	for (size_t i = 0; i < count; i++) {
		yajl_val r = devices->u.object.values[i];
		const struct device_facts *d =
			find_device(f, (uint32_t)atoi(devices->u.object.keys[i]));
		if (!d)
			fail_msg("%s: no device %s", file, devices->u.object.keys[i]);
		compare_times(file, r, d);
		compare_counts(file, r, d);
		compare_copies(file, r, d);
	}
}

static void compare_pairs(const char *file, yajl_val pairs, const struct recording_facts *f)
{
	for (size_t i = 0; YAJL_IS_OBJECT(pairs) && i < pairs->u.object.len; i++) {
		const char *name = pairs->u.object.keys[i];
		yajl_val pair = pairs->u.object.values[i];
		const struct call_facts *call = recording_facts_call(f, name);
		if (!call)
			fail_msg("%s: no call of %s in the trace", file, name);
		assert_count(file, name, strtod(YAJL_GET_NUMBER(pair->u.array.values[0]), NULL),
			     call->count);
		assert_near(file, name, strtod(YAJL_GET_NUMBER(pair->u.array.values[1]), NULL),
			    US(call->ns), 0.002);
	}
}

/* Steps in the order of their numbers, which is not always that of the file. */
static void compare_steps(const char *file, yajl_val steps, const struct recording_facts *f)
{
	assert_count(file, "steps", (double)steps->u.array.len, f->step_count);
	for (size_t i = 0; i < steps->u.array.len; i++) {
		yajl_val step = steps->u.array.values[i];
		const char *name = YAJL_GET_STRING(step->u.array.values[0]);
		const struct step_facts *found = NULL;
		for (uint32_t j = 0; j < f->step_count; j++) {
			if (!strcmp(f->steps[j].name, name))
				found = &f->steps[j];
		}
		if (!found)
			fail_msg("%s: no step %s", file, name);
		assert_near(file, name, strtod(YAJL_GET_NUMBER(step->u.array.values[1]), NULL),
			    US(found->ns), 0.002);
	}
}

static void recording_has_the_reference_numbers(void **state)
{
	yajl_val entry = *state;
	const char *file = reference_text(entry, "file");
	struct recording_facts *f = malloc(sizeof(*f));
	assert_non_null(f);
	recording_import(file, recording_facts_read, f);

	assert_count(file, "lost events", 0, f->lost);
	compare_devices(file, entry, f);
	compare_pairs(file, reference_member(entry, "syncs"), f);
	compare_pairs(file, reference_member(entry, "cuda_malloc"), f);
	compare_steps(file, reference_member(entry, "steps"), f);
	assert_count(file, "launches", reference_number(entry, "launches"),
		     f->launches + f->graph_launches);
	assert_count(file, "graph launches", reference_number(entry, "graph_launches"),
		     f->graph_launches);

	yajl_val gemms = reference_member(entry, "gemm_ops");
	assert_count(file, "GEMM operators with shapes", reference_number(gemms, "n"), f->gemm_ops);
	assert_near(file, "GEMM GFLOP", reference_number(gemms, "gflop"), f->gemm_flop / 1e9, 0.05);

	yajl_val memory = reference_member(entry, "memory");
	assert_count(file, "GPU memory events", reference_number(memory, "n_gpu"),
		     f->memory_events);
	assert_count(file, "peak allocated", reference_number(memory, "peak_allocated"),
		     f->peak_allocated);
	assert_count(file, "peak reserved", reference_number(memory, "peak_reserved"),
		     f->peak_reserved);
	assert_count(file, "bytes allocated", reference_number(memory, "sum_alloc"),
		     f->alloc_bytes);

	yajl_val loader = reference_member(entry, "dataloader");
	assert_count(file, "loader waits", strtod(YAJL_GET_NUMBER(loader->u.array.values[0]), NULL),
		     f->loader_waits);
	assert_near(file, "loader time", strtod(YAJL_GET_NUMBER(loader->u.array.values[1]), NULL),
		    US(f->loader_ns), 0.002);
	free(f);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return reference_run("kineto", recording_has_the_reference_numbers);
}
