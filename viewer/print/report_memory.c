/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map that the rules about memory saw, as text and as JSON, from the same numbers.
 */
#include "report_memory.h"

#include "memory_advice.h"
#include "site_text.h"
#include "text.h"

static const char *when_of(const struct finding_list *findings)
{
	return findings->memory_map.source == MEMORY_MAP_HELD ? "at the end of the recording"
	       : findings->is_map_of_failure		      ? "at the last failed request"
							      : "at the peak";
}

static void add_pool_json(struct json *json, const char *name, const struct pool_numbers *pool)
{
	json_object(json, NULL);
	json_text(json, "pool", name);
	json_unsigned(json, "segments", pool->segments);
	json_unsigned(json, "free_segments", pool->free_segments);
	json_unsigned(json, "mixed_segments", pool->mixed_segments);
	json_unsigned(json, "reserved_bytes", pool->reserved_bytes);
	json_unsigned(json, "allocated_bytes", pool->allocated_bytes);
	json_unsigned(json, "releasable_bytes", pool->releasable_bytes);
	json_unsigned(json, "fragmented_bytes", pool->fragmented_bytes);
	json_unsigned(json, "largest_free_bytes", pool->largest_free_bytes);
	json_number(json, "scatter", memory_pool_scatter(pool));
	json_end_object(json);
}

static void add_holders_json(struct json *json, const char *key, const struct model *model,
			     struct symbols *symbols, const struct memory_holder *holders,
			     size_t count)
{
	struct text text;

	json_array(json, key);
	for (size_t i = 0; i < count; i++) {
		text_init(&text);
		site_text_add_frames(&text, model, symbols, model->sites[holders[i].site].record);
		json_object(json, NULL);
		json_text(json, "site", text_string(&text));
		json_unsigned(json, "blocks", holders[i].blocks);
		json_unsigned(json, "live_bytes", holders[i].live_bytes);
		json_unsigned(json, "blocked_bytes", holders[i].blocked_bytes);
		json_end_object(json);
		text_fini(&text);
	}
	json_end_array(json);
}

void report_memory_json(struct json *json, const struct device_report *device,
			struct symbols *symbols)
{
	const struct memory_map *map = &device->findings.memory_map;

	if (map->source == MEMORY_MAP_NONE) {
		json_null(json, "memory_map");
		return;
	}
	json_object(json, "memory_map");
	json_text(json, "when", when_of(&device->findings));
	json_array(json, "pools");
	for (int pool = 0; pool < POOL_COUNT; pool++) {
		if (map->pools[pool].segments)
			add_pool_json(json, memory_pool_name((enum memory_pool)pool),
				      &map->pools[pool]);
	}
	add_pool_json(json, "all", &map->total);
	json_end_array(json);
	json_text(json, "map", map->strip);
	add_holders_json(json, "live", device->model, symbols, map->live, map->live_count);
	add_holders_json(json, "blocking", device->model, symbols, map->blocking,
			 map->blocking_count);
	json_end_object(json);
}

static void print_pool(FILE *to, const char *name, const struct pool_numbers *pool)
{
	fprintf(to,
		"    %-8s %s allocated of %s reserved in %llu segment%s; %s releasable, %s "
		"fragmented (%.1f %%), largest free block %s\n",
		name, memory_amount(pool->allocated_bytes).text,
		memory_amount(pool->reserved_bytes).text, (unsigned long long)pool->segments,
		pool->segments == 1 ? "" : "s", memory_amount(pool->releasable_bytes).text,
		memory_amount(pool->fragmented_bytes).text,
		100 * (double)pool->fragmented_bytes / (double)pool->reserved_bytes,
		memory_amount(pool->largest_free_bytes).text);
}

static void print_holders(FILE *to, const struct device_report *device, struct symbols *symbols,
			  bool is_blocking)
{
	const struct memory_map *map = &device->findings.memory_map;
	const struct memory_holder *holders = is_blocking ? map->blocking : map->live;
	size_t count = is_blocking ? map->blocking_count : map->live_count;
	struct text text;

	for (size_t i = 0; i < count; i++) {
		text_init(&text);
		site_text_add_frames(&text, device->model, symbols,
				     device->model->sites[holders[i].site].record);
		fprintf(to, "    %s %llu block%s, %s", is_blocking ? "apart  " : "live   ",
			(unsigned long long)holders[i].blocks, holders[i].blocks == 1 ? "" : "s",
			memory_amount(holders[i].live_bytes).text);
		if (is_blocking)
			fprintf(to, ", beside %s free",
				memory_amount(holders[i].blocked_bytes).text);
		fprintf(to, ": %s\n", text_string(&text));
		text_fini(&text);
	}
}

void report_memory_text(FILE *to, const struct device_report *device, struct symbols *symbols,
			const char *bold, const char *plain)
{
	const struct memory_map *map = &device->findings.memory_map;

	if (map->source == MEMORY_MAP_NONE || !map->total.reserved_bytes)
		return;
	fprintf(to, "\n  %sAllocator's segments%s %s:\n", bold, plain, when_of(&device->findings));
	for (int pool = 0; pool < POOL_COUNT; pool++) {
		if (map->pools[pool].reserved_bytes)
			print_pool(to, memory_pool_name((enum memory_pool)pool), &map->pools[pool]);
	}
	print_pool(to, "all", &map->total);
	if (map->total.fragmented_bytes) {
		fprintf(to,
			"    map      %s (a segment each, most fragmented first: # full, . free, "
			"digits "
			"tenths live)\n",
			map->strip);
		print_holders(to, device, symbols, true);
	}
	if (device->findings.is_map_of_failure)
		print_holders(to, device, symbols, false);
}
