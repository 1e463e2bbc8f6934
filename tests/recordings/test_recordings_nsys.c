/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every nsys export with reference numbers, imported and read back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record.h"
#include "recording_facts.h"
#include "recording_reference.h"

static uint8_t direction_of(const char *text)
{
	return !strcmp(text, "H2D")   ? COPY_H2D
	       : !strcmp(text, "D2H") ? COPY_D2H
	       : !strcmp(text, "D2D") ? COPY_D2D
				      : COPY_UNKNOWN;
}

static uint8_t memory_of(const char *text)
{
	return !strcmp(text, "Pageable") ? MEMORY_PAGEABLE
	       : !strcmp(text, "Pinned") ? MEMORY_PINNED
	       : !strcmp(text, "Device") ? MEMORY_DEVICE
					 : MEMORY_UNKNOWN;
}

/* The reference adds up over devices. */
static void compare_copies(const char *file, yajl_val copies, const struct recording_facts *f)
{
	for (size_t i = 0; i < copies->u.array.len; i++) {
		yajl_val r = copies->u.array.values[i];
		struct copy_facts sum = {0};
		for (uint32_t d = 0; d < f->device_count; d++) {
			for (uint32_t j = 0; j < f->devices[d].copy_kind_count; j++) {
				const struct copy_facts *c = &f->devices[d].copy_kinds[j];
				if (c->direction != direction_of(reference_text(r, "dir")) ||
				    c->source_kind != memory_of(reference_text(r, "src")) ||
				    c->destination_kind != memory_of(reference_text(r, "dst")))
					continue;
				sum.count += c->count;
				sum.bytes += c->bytes;
				sum.ns += c->ns;
			}
		}
		assert_count(file, "copies", reference_number(r, "n"), sum.count);
		assert_count(file, "copied bytes", reference_number(r, "bytes"), sum.bytes);
		assert_count(file, "copy ns", reference_number(r, "ns"), (uint64_t)sum.ns);
	}
}

static void compare_device(const char *file, yajl_val r, const struct device_facts *d)
{
	const struct {
		const char *name;
		uint64_t got;
	} exact[] = {
		{"n", d->kernels + d->copies + d->sets},
		{"window", (uint64_t)d->window_ns},
		{"busy", (uint64_t)d->busy_ns},
		{"idle", (uint64_t)(d->window_ns - d->busy_ns)},
		{"compute", (uint64_t)d->compute_ns},
		{"comm", (uint64_t)d->comm_ns},
		{"memcpy", (uint64_t)d->copy_ns},
		{"exposed_comm", (uint64_t)d->exposed_comm_ns},
		{"gaps_gt_10us", d->gaps_10us},
		{"gaps_gt_100us", d->gaps_100us},
		{"gaps_gt_1ms", d->gaps_1ms},
		{"max_gap", (uint64_t)d->max_gap_ns},
	};
	for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
		assert_count(file, exact[i].name, reference_number(r, exact[i].name), exact[i].got);
	yajl_val gemm = reference_member(r, "gemm");
	double kernels = 0, ns = 0;
	for (size_t i = 0; YAJL_IS_OBJECT(gemm) && i < gemm->u.object.len; i++) {
		if (!strcmp(gemm->u.object.keys[i], "splitK"))
			continue;
		kernels +=
			strtod(YAJL_GET_NUMBER(gemm->u.object.values[i]->u.array.values[0]), NULL);
		ns += strtod(YAJL_GET_NUMBER(gemm->u.object.values[i]->u.array.values[1]), NULL);
	}
	assert_count(file, "GEMM kernels", kernels, d->gemm_kernels);
	assert_count(file, "GEMM ns", ns, (uint64_t)d->gemm_ns);
}

/* nsys writes "cudaLaunchKernel_v7000"; the trace has the function's name. */
static void compare_calls(const char *file, yajl_val calls, const struct recording_facts *f)
{
	for (size_t i = 0; YAJL_IS_ARRAY(calls) && i < calls->u.array.len; i++) {
		yajl_val r = calls->u.array.values[i];
		char name[96] = "";
		strncpy(name, r->u.array.values[0]->u.string, sizeof(name) - 1);
		char *version = strrchr(name, '_');
		if (version && version[1] == 'v' && strlen(version) >= 6)
			*version = 0;
		const struct call_facts *call = recording_facts_call(f, name);
		if (!call)
			fail_msg("%s: no call of %s in the trace", file, name);
		assert_true(call->count >=
			    (uint64_t)strtod(YAJL_GET_NUMBER(r->u.array.values[1]), NULL));
	}
}

static void export_has_the_reference_numbers(void **state)
{
	yajl_val entry = *state;
	const char *file = reference_text(entry, "file");
	struct recording_facts *f = malloc(sizeof(*f));
	assert_non_null(f);
	recording_import(file, recording_facts_read, f);

	assert_count(file, "lost events", 0, f->lost);
	yajl_val devices = reference_member(entry, "devices");
	assert_count(file, "devices with work", (double)devices->u.object.len, f->device_count);
	for (size_t i = 0; i < devices->u.object.len; i++) {
		uint32_t ordinal = (uint32_t)atoi(devices->u.object.keys[i]);
		for (uint32_t j = 0; j < f->device_count; j++) {
			if (f->devices[j].ordinal == ordinal)
				compare_device(file, devices->u.object.values[i], &f->devices[j]);
		}
	}
	yajl_val rows = reference_member(entry, "rows");
	assert_count(file, "calls", reference_number(rows, "CUPTI_ACTIVITY_KIND_RUNTIME"),
		     f->calls_total);
	compare_copies(file, reference_member(entry, "memcpy"), f);
	compare_calls(file, reference_member(entry, "api"), f);
	yajl_val syncs = reference_member(entry, "sync_rows_ns");
	if (YAJL_IS_ARRAY(syncs)) {
		assert_count(file, "sync rows",
			     strtod(YAJL_GET_NUMBER(syncs->u.array.values[0]), NULL), f->gpu_syncs);
		assert_count(file, "sync ns",
			     strtod(YAJL_GET_NUMBER(syncs->u.array.values[1]), NULL),
			     (uint64_t)f->gpu_sync_ns);
	}
	free(f);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return reference_run("nsys", export_has_the_reference_numbers);
}
