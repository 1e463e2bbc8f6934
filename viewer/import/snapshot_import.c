/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch.cuda.memory._dump_snapshot(): the history of each device's caching allocator and its blocks
 * at the end. The history keeps requested sizes and no totals, so the totals after each event are
 * found by walking back from what is held at the end.
 */
#include <errno.h>
#include <string.h>

#include "dump_import.h"
#include "error.h"
#include "import_sink.h"

#define MAX_DEVICES 64

static const struct {
	const char *name;
	uint8_t op;
	int8_t allocated, reserved; /* sign of the change in requested and in reserved bytes */
} actions[] = {
	{"alloc", BLOCK_ALLOC, 1, 0},
	{"free_requested", BLOCK_FREE_REQUESTED, 0, 0},
	{"free_completed", BLOCK_FREE, -1, 0},
	{"free", BLOCK_FREE, -1, 0},
	{"segment_alloc", BLOCK_SEGMENT_ALLOC, 0, 1},
	{"segment_free", BLOCK_SEGMENT_FREE, 0, -1},
	{"segment_map", BLOCK_SEGMENT_MAP, 0, 1},
	{"segment_unmap", BLOCK_SEGMENT_UNMAP, 0, -1},
	{"oom", BLOCK_OUT_OF_MEMORY, 0, 0},
};

static const struct {
	const char *name;
	uint8_t op;
} states[] = {
	{"active_allocated", BLOCK_HELD_LIVE},
	{"active_pending_free", BLOCK_HELD_PENDING},
	{"active_awaiting_free", BLOCK_HELD_PENDING},
	{"inactive", BLOCK_HELD_FREE},
};

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

struct snapshot {
	struct dump *dump;
	uint64_t allocated[MAX_DEVICES], reserved[MAX_DEVICES]; /* at the end */
	uint64_t devices;					/* bits */
	int64_t last_ns;
	bool has_times, has_expandable, has_private;
	uint64_t events, out_of_memory;
	uint32_t thread;
};

static uint64_t size_of(const struct data_value *value, const char *member)
{
	int64_t size = data_integer(data_member(value, member), 0);
	return size < 0 ? 0 : (uint64_t)size;
}

static int find_action(const struct data_value *event)
{
	const struct data_value *action = data_member(event, "action");
	for (size_t i = 0; i < LEN(actions); i++) {
		if (data_is_text(action, actions[i].name))
			return (int)i;
	}
	return -1;
}

/* Addresses are unsigned; a pickle holds the upper half as larger integers than 63 bits. */
static uint64_t address_of(const struct data_value *value, const char *new_name,
			   const char *old_name)
{
	const struct data_value *address = data_member(value, new_name);
	if (!address)
		address = data_member(value, old_name);
	return (uint64_t)data_integer(address, 0);
}

static uint8_t segment_flags(struct snapshot *s, const struct data_value *segment)
{
	const struct data_value *pool = data_member(segment, "segment_pool_id");
	uint8_t flags = 0;
	if (data_is_text(data_member(segment, "segment_type"), "small"))
		flags |= BLOCK_SMALL_POOL;
	if (data_integer(data_item(pool, 0), 0) || data_integer(data_item(pool, 1), 0))
		flags |= BLOCK_PRIVATE_POOL;
	if (data_integer(data_member(segment, "is_expandable"), 0))
		flags |= BLOCK_EXPANDABLE;
	s->has_expandable |= (flags & BLOCK_EXPANDABLE) != 0;
	s->has_private |= (flags & BLOCK_PRIVATE_POOL) != 0;
	return flags;
}

/* Sums up what each device holds at the end. */
static void sum_segments(struct snapshot *s, const struct data_value *segments)
{
	for (size_t i = 0; i < data_count(segments); i++) {
		const struct data_value *segment = data_item(segments, i);
		const struct data_value *blocks = data_member(segment, "blocks");
		int64_t device = data_integer(data_member(segment, "device"), 0);
		if (device < 0 || device >= MAX_DEVICES)
			continue;
		s->reserved[device] += size_of(segment, "total_size");
		for (size_t j = 0; j < data_count(blocks); j++) {
			const struct data_value *block = data_item(blocks, j);
			if (!data_is_text(data_member(block, "state"), "active_allocated"))
				continue;
			uint64_t requested = size_of(block, "requested_size");
			s->allocated[device] += requested ? requested : size_of(block, "size");
		}
	}
}

/* What device held before its history began, so that the walk forwards ends at the final state. */
static void find_start(const struct snapshot *s, const struct data_value *history, int64_t device,
		       uint64_t *allocated, uint64_t *reserved)
{
	uint64_t a = s->allocated[device], r = s->reserved[device];
	for (size_t i = data_count(history); i-- > 0;) {
		const struct data_value *event = data_item(history, i);
		int action = find_action(event);
		if (action < 0)
			continue;
		uint64_t size = size_of(event, "size");
		a -= (uint64_t)(int64_t)actions[action].allocated * size;
		r -= (uint64_t)(int64_t)actions[action].reserved * size;
	}
	*allocated = a;
	*reserved = r;
}

static void add_history(struct snapshot *s, const struct data_value *history, int64_t device)
{
	uint64_t allocated, reserved;
	if (device >= MAX_DEVICES || !data_count(history))
		return;
	find_start(s, history, device, &allocated, &reserved);
	for (size_t i = 0; i < data_count(history); i++) {
		const struct data_value *event = data_item(history, i);
		const struct data_value *time = data_member(event, "time_us");
		int action = find_action(event);
		if (action < 0) {
			/* Markers of the recorder itself, such as "snapshot", are no memory events.
			 */
			if (!data_is_text(data_member(event, "action"), "snapshot"))
				import_sink_lose(s->dump->sink, RECORD_KIND_block, LOSS_IMPORT, 1);
			continue;
		}
		uint64_t size = size_of(event, "size");
		allocated += (uint64_t)(int64_t)actions[action].allocated * size;
		reserved += (uint64_t)(int64_t)actions[action].reserved * size;
		int64_t ns = (int64_t)s->events;
		if (time && __builtin_mul_overflow(data_integer(time, -1), 1000, &ns))
			ns = -1;
		s->has_times |= time != NULL;
		s->events++;
		if (ns > s->last_ns)
			s->last_ns = ns;
		bool is_oom = actions[action].op == BLOCK_OUT_OF_MEMORY;
		s->out_of_memory += is_oom;
		struct record_block r = {
			.head = {RECORD_KIND_block, sizeof(r), 0},
			.ticks = ns < 0 ? 0 : import_sink_ticks(ns),
			.site = dump_site(s->dump, data_member(event, "frames")),
			.address = is_oom ? size_of(event, "device_free")
					  : address_of(event, "addr", "address"),
			.size_bytes = size,
			.requested_bytes = actions[action].allocated ? size : 0,
			.stream = (uint64_t)data_integer(data_member(event, "stream"), 0),
			.allocated_bytes = allocated,
			.reserved_bytes = reserved,
			.device = (uint32_t)device,
			.op = actions[action].op,
		};
		import_sink_add(s->dump->sink, s->thread, &r);
	}
}

static void add_blocks(struct snapshot *s, const struct data_value *segment, struct record_block *r)
{
	const struct data_value *blocks = data_member(segment, "blocks");
	uint64_t address = r->address;
	for (size_t i = 0; i < data_count(blocks); i++) {
		const struct data_value *block = data_item(blocks, i);
		const struct data_value *history = data_member(block, "history");
		const struct data_value *frames = data_member(block, "frames");
		r->op = 0;
		for (size_t j = 0; j < LEN(states); j++) {
			if (data_is_text(data_member(block, "state"), states[j].name))
				r->op = states[j].op;
		}
		if (!r->op) {
			import_sink_lose(s->dump->sink, RECORD_KIND_block, LOSS_IMPORT, 1);
			continue;
		}
		/* Before 2.1 blocks had no address and kept their frames in a history. */
		if (!frames)
			frames = data_member(data_item(history, 0), "frames");
		r->address = data_member(block, "address") ? address_of(block, "address", "addr")
							   : address;
		r->size_bytes = size_of(block, "size");
		r->requested_bytes = size_of(block, "requested_size");
		r->site = dump_site(s->dump, frames);
		address = r->address + r->size_bytes;
		import_sink_add(s->dump->sink, s->thread, r);
	}
}

static void add_segments(struct snapshot *s, const struct data_value *segments)
{
	for (size_t i = 0; i < data_count(segments); i++) {
		const struct data_value *segment = data_item(segments, i);
		int64_t device = data_integer(data_member(segment, "device"), 0);
		if (device < 0 || device >= MAX_DEVICES) {
			import_sink_lose(s->dump->sink, RECORD_KIND_block, LOSS_IMPORT, 1);
			continue;
		}
		struct record_block r = {
			.head = {RECORD_KIND_block, sizeof(r), 0},
			.ticks = import_sink_ticks(s->last_ns),
			.site = dump_site(s->dump, data_member(segment, "frames")),
			.address = address_of(segment, "address", "addr"),
			.size_bytes = size_of(segment, "total_size"),
			.requested_bytes = size_of(segment, "requested_size"),
			.stream = (uint64_t)data_integer(data_member(segment, "stream"), 0),
			.allocated_bytes = s->allocated[device],
			.reserved_bytes = s->reserved[device],
			.device = (uint32_t)device,
			.op = BLOCK_HELD_SEGMENT,
			.flags = segment_flags(s, segment),
		};
		import_sink_add(s->dump->sink, s->thread, &r);
		add_blocks(s, segment, &r);
	}
}

static void write_settings(struct snapshot *s, const struct data_value *settings)
{
	const struct data_value *text = data_member(settings, "PYTORCH_CUDA_ALLOC_CONF");
	if (!text)
		text = data_member(settings, "PYTORCH_ALLOC_CONF");
	if (text && text->type == DATA_TEXT && text->length)
		import_sink_info(s->dump->sink, "env.PYTORCH_CUDA_ALLOC_CONF", "%.*s",
				 (int)(text->length > 1024 ? 1024 : text->length), text->text);
	import_sink_info(s->dump->sink, "import.times", "%s",
			 s->has_times ? "recorded" : "absent: only the order of events is known");
	if (s->out_of_memory)
		import_sink_info(s->dump->sink, "import.out_of_memory", "%llu",
				 (unsigned long long)s->out_of_memory);
	import_sink_info(s->dump->sink, "gpu_times.source", "none");
	import_sink_info(s->dump->sink, "gpu_times.reason", "a memory snapshot has no GPU work");
}

int snapshot_import(struct dump *dump, const struct data_value *root)
{
	struct snapshot s = {.dump = dump};
	/* torch.cuda.memory_snapshot() is the list of segments alone. */
	const struct data_value *segments = data_member(root, "segments");
	const struct data_value *traces = data_member(root, "device_traces");
	if (root->type == DATA_LIST)
		segments = root;

	import_sink_info(dump->sink, "import.format", "pytorch-memory-snapshot");
	s.thread = import_sink_thread(dump->sink, 0, 0);
	sum_segments(&s, segments);
	for (size_t i = 0; i < data_count(traces); i++)
		add_history(&s, data_item(traces, i), (int64_t)i);
	if (s.has_times)
		import_sink_set_realtime(dump->sink, 0);
	add_segments(&s, segments);
	write_settings(&s, data_member(root, "allocator_settings"));
	dump->job->report->format = "PyTorch memory snapshot";
	if (!data_count(segments) && !s.events)
		return error_set(dump->err, -EINVAL,
				 "is a memory snapshot without segments and without history");
	return 0;
}
