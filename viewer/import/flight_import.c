/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL flight recorder dumps (TORCH_NCCL_TRACE_BUFFER_SIZE): the last collectives of one rank. Each
 * becomes a span from when it was enqueued to when it was seen to end; one that never ended stays
 * open. The span's value is the bytes of its inputs, its category the sequence number in its group.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dump_import.h"
#include "error.h"
#include "import_api.h"
#include "import_sink.h"
#include "text.h"

bool flight_recorder_matches(const struct data_value *root)
{
	const struct data_value *entries = data_member(root, "entries");
	return entries && entries->type == DATA_LIST &&
	       (data_member(root, "version") || data_member(root, "pg_config"));
}

/* "default_pg", or its number where it has no description. */
static uint64_t group_name(struct dump *dump, const struct data_value *entry)
{
	const struct data_value *group = data_member(entry, "process_group");
	const struct data_value *name = data_item(group, 1);
	if (!name || name->type != DATA_TEXT || !name->length || data_is_text(name, "undefined"))
		name = data_item(group, 0);
	if (name && name->type == DATA_TEXT && name->length)
		return import_sink_name(dump->sink, NAME_MARK, name->text, name->length);
	char *number =
		text_format("group %lld", (long long)data_integer(data_member(entry, "pg_id"), -1));
	uint64_t id = import_sink_name(dump->sink, NAME_MARK, number, strlen(number));
	free(number);
	return id;
}

/* Bytes of all inputs, 0 if a type is unknown. */
static uint64_t input_bytes(const struct data_value *entry)
{
	const struct data_value *sizes = data_member(entry, "input_sizes");
	const struct data_value *types = data_member(entry, "input_dtypes");
	uint64_t total = 0;
	for (size_t i = 0; i < data_count(sizes); i++) {
		const struct data_value *type = data_item(types, i), *shape = data_item(sizes, i);
		uint64_t bytes = type && type->type == DATA_TEXT
					 ? import_element_bytes(type->text, type->length)
					 : 0;
		for (size_t j = 0; j < data_count(shape); j++) {
			int64_t extent = data_integer(data_item(shape, j), -1);
			if (extent < 0 || __builtin_mul_overflow(bytes, (uint64_t)extent, &bytes))
				return 0;
		}
		if (!bytes || __builtin_add_overflow(total, bytes, &total))
			return 0;
	}
	return total;
}

static void add_entry(struct dump *dump, const struct data_value *entry, uint32_t thread)
{
	const struct data_value *name = data_member(entry, "profiling_name");
	int64_t created = data_integer(data_member(entry, "time_created_ns"), -1);
	int64_t ended = data_integer(data_member(entry, "time_discovered_completed_ns"), 0);
	int64_t sequence = data_integer(data_member(entry, "collective_seq_id"), -1);
	if (sequence < 0)
		sequence = data_integer(data_member(entry, "seq_id"), 0);
	if (data_integer(data_member(entry, "is_p2p"), 0))
		sequence = data_integer(data_member(entry, "p2p_seq_id"), sequence);
	if (!name || name->type != DATA_TEXT || created < 0) {
		import_sink_lose(dump->sink, RECORD_KIND_mark, LOSS_IMPORT, 1);
		return;
	}
	bool is_complete = data_is_text(data_member(entry, "state"), "completed");
	struct record_mark r = {
		.head = {RECORD_KIND_mark, sizeof(r), 0},
		.begin_ticks = import_sink_ticks(created),
		/* Old dumps say that it completed, but not when. */
		.end_ticks = ended > 0	   ? import_sink_ticks(ended)
			     : is_complete ? import_sink_ticks(created)
					   : 0,
		.name = import_sink_name(dump->sink, NAME_MARK, name->text, name->length),
		.domain = group_name(dump, entry),
		.value = input_bytes(entry),
		.category = sequence > 0 && sequence <= UINT32_MAX ? (uint32_t)sequence : 0,
		.type = MARK_SPAN,
		.source = MARK_TORCH,
		.peer = MARK_NO_PEER,
	};
	import_sink_add(dump->sink, thread, &r);
}

static void write_text_fact(struct dump *dump, const struct data_value *root, const char *member,
			    const char *key)
{
	const struct data_value *value = data_member(root, member);
	if (value && value->type == DATA_TEXT && value->length < 512)
		import_sink_info(dump->sink, key, "%.*s", (int)value->length, value->text);
}

int flight_recorder_import(struct dump *dump, const struct data_value *root)
{
	const struct data_value *entries = data_member(root, "entries");
	const struct data_value *rank = data_member(root, "rank");
	uint64_t open = 0;

	import_sink_info(dump->sink, "import.format", "nccl-flight-recorder");
	write_text_fact(dump, root, "version", "import.flight_recorder_version");
	write_text_fact(dump, root, "nccl_version", "nccl.version");
	write_text_fact(dump, root, "host_name", "host.name");
	import_sink_set_realtime(dump->sink, 0);
	uint32_t thread = import_sink_thread(dump->sink, 0, 0);
	for (size_t i = 0; i < data_count(entries); i++) {
		const struct data_value *entry = data_item(entries, i);
		add_entry(dump, entry, thread);
		open += !data_is_text(data_member(entry, "state"), "completed");
	}
	if (!data_count(entries))
		return error_set(dump->err, -EINVAL, "is a flight recorder dump without entries");
	int64_t number = data_integer(rank, -1);
	if (number >= 0 && number < INT32_MAX) {
		dump->job->report->rank = (int)number;
		import_sink_info(dump->sink, "rank", "%lld", (long long)number);
	}
	import_sink_info(dump->sink, "import.unfinished_collectives", "%llu",
			 (unsigned long long)open);
	import_sink_info(dump->sink, "gpu_times.source", "none");
	import_sink_info(dump->sink, "gpu_times.reason", "a flight recorder dump has no GPU times");
	dump->job->report->format = "NCCL flight recorder";
	return 0;
}
