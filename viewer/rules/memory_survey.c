/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See memory_survey.h.
 */
#include "memory_survey.h"

#include <stdlib.h>
#include <string.h>

#include "array_len.h"
#include "memory_advice.h"
#include "rule.h"
#include "site_choice.h"
#include "text.h"

static bool has_pool_memory(const struct model *model, size_t device)
{
	for (size_t i = 0; i < model->memory_event_count; i++) {
		if (model->memory_events[i].device == device &&
		    model->memory_events[i].kind == MEMORY_POOL)
			return true;
	}
	return false;
}

/* Whether two totals are those of one moment: allocators and drivers round differently. */
static bool is_near(uint64_t a, uint64_t b)
{
	uint64_t larger = a > b ? a : b, smaller = a > b ? b : a;

	return larger - smaller <= larger / 20;
}

static void find_map(const struct model *model, size_t device, struct memory_survey *survey)
{
	const struct memory_failure *last = &survey->failures.last;

	memory_map_held(model, device, &survey->map);
	if (survey->map.source == MEMORY_MAP_NONE && survey->has_framework)
		memory_map_at(model, device,
			      survey->failures.lasting
				      ? last->time_ns
				      : model->devices[device].framework.peak_ns + 1,
			      &survey->map);
	survey->is_map_of_failure =
		survey->failures.lasting && survey->map.source != MEMORY_MAP_NONE &&
		(!last->reserved_bytes ||
		 is_near(last->reserved_bytes, survey->map.total.reserved_bytes));
}

static void find_shortage(const struct model *model, struct memory_survey *survey)
{
	const struct memory_failure *last = &survey->failures.last;
	const char *settings =
		model->source.info(model->source.context, "env.PYTORCH_CUDA_ALLOC_CONF");
	struct memory_shortage *s = &survey->shortage;

	s->wanted_bytes = last->wanted_bytes;
	s->capacity_bytes = survey->capacity_bytes;
	s->device_free_bytes = last->device_free_bytes;
	if (last->reserved_bytes) {
		s->allocated_bytes = last->allocated_bytes;
		s->reserved_bytes = last->reserved_bytes;
	}
	if (survey->is_map_of_failure) {
		const struct pool_numbers *total = &survey->map.total;

		s->allocated_bytes = total->allocated_bytes;
		s->reserved_bytes = total->reserved_bytes;
		s->fragmented_bytes = total->fragmented_bytes;
		/* What no block holds is given back before a request fails; a dump may be later. */
		s->private_bytes = survey->map.pools[POOL_PRIVATE].reserved_bytes;
	}
	if (last->live_bytes) {
		s->process_bytes = last->live_bytes;
		if (s->reserved_bytes != MEMORY_NOT_TOLD && s->reserved_bytes > s->process_bytes)
			s->process_bytes = s->reserved_bytes;
	}
	/* A request that nothing preceded: nothing of this process's is in the way. */
	if (!last->is_framework && !last->live_bytes)
		s->process_bytes = 0;
	s->is_expandable = survey->map.is_expandable ||
			   (settings && (strstr(settings, "expandable_segments:True") ||
					 strstr(settings, "expandable_segments:1")));
}

void memory_survey_build(const struct model *model, size_t device, struct memory_survey *survey)
{
	const struct model_device *of = &model->devices[device];

	memset(survey, 0, sizeof(*survey));
	survey->capacity_bytes =
		of->record && of->record->memory_bytes ? of->record->memory_bytes : MEMORY_NOT_TOLD;
	survey->has_framework = of->framework.allocations || of->framework.peak_allocated_bytes;
	survey->shortage = memory_shortage_unknown();
	memory_failures_find(model, device, &survey->failures);
	find_map(model, device, survey);
	if (!survey->failures.lasting)
		return;
	find_shortage(model, survey);
	/* A pool that keeps freed memory holds more than the calls tell. */
	if (survey->failures.last.device_free_bytes == UINT64_MAX &&
	    has_pool_memory(model, device)) {
		survey->shortage.process_bytes = MEMORY_NOT_TOLD;
		if (!survey->failures.last.reserved_bytes)
			survey->shortage.reserved_bytes = MEMORY_NOT_TOLD;
	}
	memory_judge(&survey->shortage, &survey->judgement);
	/* The context is never among a process's allocations. */
	survey->judgement.is_other_mixed = true;
}

static const char *python_name(void *context, uint64_t number)
{
	const struct model *model = context;

	return model->source.name(model->source.context, NAME_PYTHON, number);
}

char *memory_site_text(const struct model *model, uint32_t site)
{
	const struct record_site *record = model->sites[site].record;
	bool is_user;
	uint32_t index;

	if (!site || !record)
		return text_format("a place that was not recorded");
	if (site_choice_python(record, python_name, (void *)(uintptr_t)model, &index, &is_user)) {
		const char *name =
			python_name((void *)(uintptr_t)model, record->frames[index].value);
		const char *separator = strchr(name, '\x1f');

		if (!separator)
			return text_format("%s", name);
		return text_format("%s:%u in %.*s", separator + 1, record->frames[index].line,
				   (int)(separator - name), name);
	}
	for (uint32_t i = 0; i < record->frame_count; i++) {
		const char *name = record->frames[i].type == FRAME_OPERATOR
					   ? model->source.name(model->source.context, NAME_CLASS,
								record->frames[i].value)
					   : NULL;

		if (name)
			return text_format("%s", name);
	}
	return text_format("native code");
}

static void add_pool(struct finding *finding, const struct pool_numbers *pool,
		     const char *const keys[5])
{
	finding_number(finding, keys[0], (double)pool->allocated_bytes);
	finding_number(finding, keys[1], (double)pool->reserved_bytes);
	finding_number(finding, keys[2], (double)pool->releasable_bytes);
	finding_number(finding, keys[3], (double)pool->fragmented_bytes);
	finding_number(finding, keys[4], (double)pool->largest_free_bytes);
}

#define POOL_KEYS(prefix)                                                                          \
	{                                                                                          \
		prefix "allocated_bytes", prefix "reserved_bytes", prefix "releasable_bytes",      \
			prefix "fragmented_bytes", prefix "largest_free_bytes"                     \
	}

void memory_add_map(const struct rule_context *context, struct finding *finding)
{
	static const char *const keys[POOL_COUNT + 1][5] = {
		POOL_KEYS("large_pool_"),
		POOL_KEYS("small_pool_"),
		POOL_KEYS("private_pool_"),
		POOL_KEYS("map_"),
	};
	static const char *const holder_keys[MEMORY_HOLDERS] = {
		"blocking_site_1", "blocking_site_2", "blocking_site_3", "blocking_site_4",
		"blocking_site_5"};
	static const char *const live_keys[MEMORY_HOLDERS] = {
		"live_site_1", "live_site_2", "live_site_3", "live_site_4", "live_site_5"};
	const struct memory_map *map = &context->memory.map;

	if (map->source == MEMORY_MAP_NONE)
		return;
	add_pool(finding, &map->total, keys[POOL_COUNT]);
	for (int pool = 0; pool < POOL_COUNT; pool++) {
		if (map->pools[pool].segments)
			add_pool(finding, &map->pools[pool], keys[pool]);
	}
	finding_number(finding, "segments", (double)map->total.segments);
	finding_number(finding, "mixed_segments", (double)map->total.mixed_segments);
	finding_text(finding, "map", map->strip);
	for (int live = 0; live < 2; live++) {
		const struct memory_holder *holders = live ? map->live : map->blocking;
		size_t count = live ? map->live_count : map->blocking_count;

		for (size_t i = 0; i < count; i++) {
			char *site = memory_site_text(context->model, holders[i].site);
			char *text = text_format(
				"%s: %llu block%s, %s%s%s", site,
				(unsigned long long)holders[i].blocks,
				holders[i].blocks == 1 ? "" : "s",
				memory_amount(holders[i].live_bytes).text, live ? "" : ", block ",
				live ? "" : memory_amount(holders[i].blocked_bytes).text);

			finding_text(finding, live ? live_keys[i] : holder_keys[i], text);
			free(text);
			free(site);
		}
	}
}

static void add_known(struct finding *finding, const char *key, uint64_t bytes)
{
	if (bytes != MEMORY_NOT_TOLD)
		finding_number(finding, key, (double)bytes);
}

static void add_evidence(const struct rule_context *context, struct finding *finding)
{
	const struct memory_survey *memory = &context->memory;

	add_known(finding, "requested_bytes", memory->shortage.wanted_bytes);
	add_known(finding, "capacity_bytes", memory->shortage.capacity_bytes);
	add_known(finding, "device_free_bytes", memory->shortage.device_free_bytes);
	add_known(finding, "allocated_bytes", memory->shortage.allocated_bytes);
	add_known(finding, "reserved_bytes", memory->shortage.reserved_bytes);
	add_known(finding, "fragmented_bytes", memory->judgement.fragmented_bytes);
	add_known(finding, "missing_bytes", memory->judgement.missing_bytes);
	add_known(finding, "outside_framework_bytes", memory->judgement.outside_bytes);
	if (memory->judgement.other_bytes != MEMORY_NOT_TOLD && memory->judgement.is_foreign)
		finding_number(finding,
			       memory->judgement.is_other_floor ? "others_at_least_bytes"
								: "others_bytes",
			       (double)memory->judgement.other_bytes);
	finding_number(finding, "failures", (double)memory->failures.lasting);
	finding_text(finding, "expandable_segments_would_pass",
		     memory->judgement.is_compact_enough			  ? "yes"
		     : memory->judgement.missing_compact_bytes == MEMORY_NOT_TOLD ? "unknown"
										  : "no");
	memory_add_map(context, finding);
}

/* The worst holder, for the summary. */
static void add_holder(const struct rule_context *context, enum memory_verdict verdict,
		       struct text *text)
{
	const struct memory_map *map = &context->memory.map;
	bool is_blocking = verdict == MEMORY_FRAGMENTED;
	const struct memory_holder *holder = is_blocking ? map->blocking : map->live;
	char *site;

	if (map->source == MEMORY_MAP_NONE || !context->memory.is_map_of_failure ||
	    !(is_blocking ? map->blocking_count : map->live_count))
		return;
	site = memory_site_text(context->model, holder->site);
	text_addf(text,
		  is_blocking ? " The largest part is held apart by %llu block%s (%s) from %s."
			      : " Most is held by %llu block%s (%s) from %s.",
		  (unsigned long long)holder->blocks, holder->blocks == 1 ? "" : "s",
		  memory_amount(holder->live_bytes).text, site);
	free(site);
}

void memory_raise_verdict(struct rule_context *context, enum memory_verdict verdict)
{
	const struct memory_survey *memory = &context->memory;
	struct finding *finding;
	struct text text;

	if (!memory->failures.lasting) {
		rule_silent(context, "no request for memory failed for good");
		return;
	}
	if (memory->judgement.verdict == MEMORY_NOT_JUDGED) {
		rule_not_judged(context, "%s", memory->judgement.reason);
		return;
	}
	if (memory->judgement.verdict != verdict) {
		rule_silent(context, "the last failed request has another cause: %s (%s)",
			    memory_verdict_name(memory->judgement.verdict),
			    memory_verdict_id(memory->judgement.verdict));
		return;
	}
	finding = rule_raise(context, memory->failures.last.call);
	finding->site = memory->failures.last.site;
	finding->is_failure = true;
	finding->severity = SEVERITY_HIGH;
	add_evidence(context, finding);
	text_init(&text);
	memory_add_summary(&text, &memory->shortage, &memory->judgement);
	add_holder(context, verdict, &text);
	if (memory->failures.lasting > 1)
		text_addf(&text, " It is the last of %llu failed requests.",
			  (unsigned long long)memory->failures.lasting);
	finding_summary(finding, "%s", text_string(&text));
	text_clear(&text);
	memory_add_fix(&text, &memory->shortage, &memory->judgement);
	finding_fix(finding, "%s", text_string(&text));
	text_fini(&text);
}
