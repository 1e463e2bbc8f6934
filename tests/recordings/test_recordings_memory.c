/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map of every PyTorch memory snapshot with reference numbers: what is live, what could be
 * given back, and what is fragmented. None of them holds a failure, so no verdict may be raised.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "error.h"
#include "memory_map.h"
#include "model.h"
#include "recording_reference.h"
#include "rule.h"
#include "trace_reader.h"

struct snapshot {
	const char *file;
	yajl_val devices;
};

static void compare_map(const char *file, yajl_val r, const struct memory_map *map)
{
	const struct pool_numbers *total = &map->total;
	double free_bytes = reference_number(r, "inactive_bytes");
	double releasable = reference_number(r, "wholly_free_bytes");

	assert_int_equal(map->source, MEMORY_MAP_HELD);
	assert_count(file, "reserved", reference_number(r, "reserved"), total->reserved_bytes);
	assert_count(file, "allocated", reference_number(r, "allocated"), total->allocated_bytes);
	assert_count(file, "releasable", releasable, total->releasable_bytes);
	assert_count(file, "fragmented", free_bytes - releasable, total->fragmented_bytes);
	assert_count(file, "largest free", reference_number(r, "largest_inactive"),
		     total->largest_free_bytes);
	assert_count(file, "segments", reference_number(r, "segments"), total->segments);
	assert_count(file, "free segments", reference_number(r, "wholly_free_segments"),
		     total->free_segments);
	assert_count(file, "small segments", reference_number(r, "seg_small"),
		     map->pools[POOL_SMALL].segments);
	assert_count(file, "large segments", reference_number(r, "seg_large"),
		     map->pools[POOL_LARGE].segments);
	assert_int_equal(map->stray_bytes, 0);
	assert_int_equal(map->outside_bytes, 0);
}

/* The rules about memory run without GPU times; none has a failure to judge. */
static void run_rules(const char *file, const struct model *model, size_t device)
{
	struct finding_list findings = {0};
	size_t judged = 0;

	rules_run(model, device, &findings);
	for (size_t i = 0; i < findings.count; i++) {
		if (findings.items[i].is_failure)
			fail_msg("%s: %s", file, findings.items[i].summary);
	}
	for (size_t i = 0; i < findings.judgement_count; i++) {
		const struct judgement *judgement = &findings.judgements[i];

		if (strcmp(judgement->id, "GT401") >= 0 && strcmp(judgement->id, "GT404") <= 0) {
			assert_int_equal(judgement->status, JUDGED_SILENT);
			judged++;
		}
	}
	assert_int_equal(judged, 4);
	finding_list_free(&findings);
}

static void use_trace(const char *path, void *context)
{
	const struct snapshot *snapshot = context;
	yajl_val devices = snapshot->devices;
	struct trace *trace;
	struct model_source source;
	struct model *model;
	struct error err = {0};

	if (trace_open(path, &trace, &err))
		fail_msg("%s", err.text);
	source = model_source_of_trace(trace);
	if (model_build(&source, &model, &err))
		fail_msg("%s", err.text);
	for (size_t i = 0; i < devices->u.object.len; i++) {
		unsigned long ordinal = strtoul(devices->u.object.keys[i], NULL, 10);
		bool is_found = false;

		for (size_t d = 0; d < model->device_count; d++) {
			struct memory_map map;

			if (model->devices[d].ordinal != ordinal)
				continue;
			is_found = true;
			memory_map_held(model, d, &map);
			compare_map(snapshot->file, devices->u.object.values[i], &map);
			run_rules(snapshot->file, model, d);
		}
		assert_true(is_found);
	}
	model_free(model);
	trace_close(trace);
}

static void free_segments_are_releasable_the_rest_is_fragmented(void **state)
{
	yajl_val entry = *state;
	struct snapshot snapshot = {reference_text(entry, "file"),
				    reference_member(entry, "devices")};

	assert_true(YAJL_IS_OBJECT(snapshot.devices) && snapshot.devices->u.object.len > 0);
	recording_import(snapshot.file, use_trace, &snapshot);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return reference_run("memsnap", free_segments_are_releasable_the_rest_is_fragmented);
}
