/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a JSON recording: what the outermost object says about the session, then every event. Knows
 * the look of other JSON files that people have at hand, so that they get a better answer than "no
 * events".
 */
#include "kineto_import.h"

#include <errno.h>
#include <string.h>

#include "dump_import.h"
#include "error.h"
#include "import_stream.h"
#include "json_walk.h"
#include "text.h"

/* A time in nanoseconds that is certainly since 1970: 2001 or later. */
#define EPOCH_NS	1000000000000000000ll
#define PROGRESS_EVENTS 16384u

struct json_slice kineto_text(struct kineto *k, const struct json_slice *slice)
{
	if (!slice->has_escapes)
		return slice->at ? *slice : (struct json_slice){"", 0, true, false};
	text_clear(&k->scratch);
	k->odd_escapes += json_unescape(slice, &k->scratch);
	return (struct json_slice){text_string(&k->scratch), k->scratch.length, true, false};
}

bool kineto_times(struct kineto *k, uint16_t kind, int64_t *begin_ns, int64_t *end_ns)
{
	const struct kineto_event *e = &k->event;
	if ((e->has & (HAS_TIME | HAS_DURATION)) != (HAS_TIME | HAS_DURATION) ||
	    e->has & HAS_BAD_NUMBER) {
		import_sink_lose(k->sink, kind, LOSS_IMPORT, 1);
		return false;
	}
	*begin_ns = e->begin_ns;
	if (e->begin_ns < 0 || __builtin_add_overflow(e->begin_ns, e->duration_ns, end_ns) ||
	    *end_ns < *begin_ns || *end_ns == INT64_MAX) {
		import_sink_lose(k->sink, kind, LOSS_BAD_TIME, 1);
		return false;
	}
	if (*begin_ns > EPOCH_NS && !k->has_base_time && !k->has_epoch_time) {
		k->has_epoch_time = true;
		import_sink_set_realtime(k->sink, 0);
	}
	return true;
}

uint32_t kineto_thread(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	int64_t process = e->process, thread = e->thread;
	if (!(e->has & HAS_PROCESS) && e->process_text.length)
		process = (int64_t)map_hash_bytes(e->process_text.at, e->process_text.length);
	if (!(e->has & HAS_THREAD) && e->thread_text.length)
		thread = (int64_t)map_hash_bytes(e->thread_text.at, e->thread_text.length);
	if (!k->last_number || process != k->last_process || thread != k->last_thread) {
		k->last_process = process;
		k->last_thread = thread;
		k->last_number = import_sink_thread(k->sink, process, thread);
	}
	return k->last_number;
}

/* "thread 12 (python)" names a thread; the same event names streams, which are not threads. */
static void metadata_event(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	if (!json_is(&e->name, "thread_name") || e->label.length == 0 ||
	    (e->label.length >= 6 && !memcmp(e->label.at, "stream", 6)))
		return;
	/* Only processes of the host: GPUs have small numbers. */
	if (!(e->has & HAS_PROCESS) || !(e->has & HAS_THREAD) || e->process < 64)
		return;
	struct json_slice name = kineto_text(k, &e->label);
	const char *open = memchr(name.at, '(', name.length);
	if (open && name.length >= 2 && name.at[name.length - 1] == ')')
		name = (struct json_slice){open + 1, (size_t)(name.at + name.length - open) - 2,
					   true, false};
	import_sink_name_thread(k->sink, kineto_thread(k), name.at, name.length);
}

static enum json_result on_event(void *context, struct json_cursor *cursor)
{
	struct kineto *k = context;
	enum json_result rc = kineto_event_read(cursor, &k->event);
	if (rc)
		return rc;
	k->events++;
	if (k->events % PROGRESS_EVENTS == 0 && k->job->options->progress)
		k->job->options->progress(k->job->options->progress_context,
					  import_stream_file_offset(k->job->stream),
					  import_stream_file_bytes(k->job->stream));
	switch (k->event.category) {
	case KINETO_KERNEL:
	case KINETO_COPY:
	case KINETO_SET:
	case KINETO_SYNC:
		k->known_events++;
		kineto_gpu_event(k);
		break;
	case KINETO_RUNTIME:
	case KINETO_OPERATOR:
	case KINETO_PYTHON:
	case KINETO_ANNOTATION:
	case KINETO_OVERHEAD:
	case KINETO_MEMORY:
		k->known_events++;
		kineto_host_event(k);
		break;
	case KINETO_METADATA:
		metadata_event(k);
		break;
	case KINETO_PROFILER_RANGE:
		k->known_events++;
		k->profiler_ranges++;
		break;
	default:
		break;
	}
	return JSON_OK;
}

static void read_distributed(struct kineto *k, const struct json_slice *value)
{
	struct json_cursor cursor = {value->at, value->at + value->length};
	struct json_slice key, member;
	bool is_first = true, done = false;
	while (json_member(&cursor, &is_first, &key, &done) == JSON_OK && !done) {
		if (json_value(&cursor, &member) != JSON_OK)
			return;
		int64_t number;
		if (json_is(&key, "rank") && json_to_int(&member, &number) && number >= 0)
			k->rank = number;
		else if (json_is(&key, "world_size") && json_to_int(&member, &number) && number > 0)
			k->world_size = number;
		else if (json_is(&key, "backend") && member.is_string)
			import_sink_info(k->sink, "import.backend", "%.*s", (int)member.length,
					 member.at);
		else if (json_is(&key, "nccl_version") && member.is_string)
			import_sink_info(k->sink, "nccl.version", "%.*s", (int)member.length,
					 member.at);
	}
}

/* Members that become facts of the session as they are. */
static const struct {
	const char *member, *key;
} plain_members[] = {
	{"traceName", "import.trace_name"},
	{"host_name", "host.name"},
	{"cuda_runtime_version", "cuda.runtime_version"},
	{"cuda_driver_version", "cuda.driver_version"},
	{"cupti_version", "cupti.version"},
	{"with_stack", "import.with_stack"},
	{"record_shapes", "import.record_shapes"},
	{"profile_memory", "import.profile_memory"},
	{"trace_id", "import.trace_id"},
	{"PT_PROFILER_JOB_NAME", "job.name"},
};

/* Keeps what a flight recorder dump in JSON would need, should this be one. */
static void keep_flight_member(struct kineto *k, const struct json_slice *key,
			       const struct json_slice *value)
{
	static const char *const names[] = {"entries",	    "version", "pg_config",
					    "nccl_version", "rank",    "host_name"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!json_is(key, names[i]) || k->flight_count == KINETO_FLIGHT_MEMBERS)
			continue;
		struct text *text = &k->flight_text[k->flight_count++];
		struct data_value *name = data_value_new(k->tree, DATA_TEXT), *member;
		/* The walker's window moves on, the tree points into its text. */
		if (value->is_string)
			text_add(text, "\"");
		text_add_bytes(text, value->at, value->length);
		text_add(text, value->is_string ? "\" " : " ");
		struct json_slice copy = {text_string(text), text->length, false, false};
		if (!name || data_read_json(&copy, k->tree, &member, NULL))
			return;
		name->text = names[i];
		name->length = strlen(names[i]);
		data_append(k->tree, k->flight, name);
		data_append(k->tree, k->flight, member);
	}
}

static int on_member(void *context, const struct json_slice *key, const struct json_slice *value,
		     struct error *err)
{
	struct kineto *k = context;
	int64_t base;
	(void)err;
	k->has_nodes |= json_is(key, "nodes");
	keep_flight_member(k, key, value);
	if (json_is(key, "deviceProperties")) {
		kineto_devices(k, value);
	} else if (json_is(key, "distributedInfo")) {
		read_distributed(k, value);
	} else if (json_is(key, "baseTimeNanoseconds") && json_to_int(value, &base)) {
		/* Times that are since 1970 by themselves are not relative to a base. */
		k->has_base_time = true;
		import_sink_set_realtime(k->sink, k->has_epoch_time ? 0 : base);
	} else {
		for (size_t i = 0; i < sizeof(plain_members) / sizeof(plain_members[0]); i++) {
			if (!json_is(key, plain_members[i].member) || value->length > 1024)
				continue;
			struct json_slice text = kineto_text(k, value);
			import_sink_info(k->sink, plain_members[i].key, "%.*s", (int)text.length,
					 text.at);
		}
	}
	return 0;
}

static int refuse(const struct kineto *k, const struct json_walk_result *walk, struct error *err)
{
	if (!walk->had_events && k->has_nodes)
		return error_set(
			err, -EINVAL,
			"is a PyTorch execution trace (operators of the host only); import the "
			"profiler's own trace of the same run instead");
	if (!walk->had_events)
		return error_set(err, -EINVAL,
				 "is JSON, but has no \"traceEvents\": not a profiler's recording");
	if (walk->events == 0 && walk->bad_events)
		return error_set(err, -EINVAL, "has %llu events and none of them can be read",
				 (unsigned long long)walk->bad_events);
	if (walk->events == 0)
		return error_set(err, -EINVAL, "holds no events");
	return error_set(
		err, -EINVAL,
		"holds %llu trace events, but none of a kind that PyTorch's profiler writes "
		"(kernel, gpu_memcpy, cuda_runtime, cpu_op, ...)",
		(unsigned long long)walk->events);
}

/* What a reader of the report must know about this recording. */
static void write_facts(struct kineto *k, const struct json_walk_result *walk)
{
	import_sink_settle(k->sink);
	const struct import_totals *t = import_sink_totals(k->sink);
	uint64_t gpu = t->by_kind[RECORD_KIND_gpu_kernel] + t->by_kind[RECORD_KIND_gpu_copy] +
		       t->by_kind[RECORD_KIND_gpu_set];
	uint64_t calls = t->by_kind[RECORD_KIND_launch] + t->by_kind[RECORD_KIND_call] +
			 t->by_kind[RECORD_KIND_copy] + t->by_kind[RECORD_KIND_sync];
	if (k->rank >= 0)
		import_sink_info(k->sink, "rank", "%lld", (long long)k->rank);
	if (k->world_size > 0)
		import_sink_info(k->sink, "world_size", "%lld", (long long)k->world_size);
	import_sink_info(k->sink, "import.gpu", "%s",
			 k->has_amd	? "amd"
			 : gpu || calls ? "nvidia"
					: "none");
	import_sink_info(k->sink, "gpu_times.source", "%s", gpu ? "PyTorch profiler" : "none");
	if (!gpu && k->launches)
		import_sink_info(k->sink, "gpu_times.reason",
				 "the recording has %llu %s and no GPU event",
				 (unsigned long long)k->launches,
				 text_noun((double)k->launches, "launch", "launches"));
	else if (!gpu)
		import_sink_info(k->sink, "gpu_times.reason", "the recording has no GPU event");
	if (k->profiler_ranges)
		import_sink_info(k->sink, "import.profiler_ranges", "%llu",
				 (unsigned long long)k->profiler_ranges);
	if (k->odd_escapes)
		import_sink_info(k->sink, "import.odd_escapes", "%llu",
				 (unsigned long long)k->odd_escapes);
	if (import_sites_dropped(k->sites))
		import_sink_info(k->sink, "import.sites_dropped", "%llu",
				 (unsigned long long)import_sites_dropped(k->sites));
	if (walk->is_cut)
		import_sink_info(k->sink, "import.cut", "after %llu bytes of text",
				 (unsigned long long)walk->bytes);
	if (walk->bad_events)
		import_sink_lose(k->sink, 0, LOSS_IMPORT, walk->bad_events);
}

int import_json(struct import_job *job, struct error *err)
{
	struct kineto k = {.job = job, .sink = job->sink, .rank = -1};
	struct json_handler handler = {.member = on_member, .event = on_event, .context = &k};
	struct json_walk_result walk;

	k.sites = import_sites_new(job->sink);
	k.join = import_join_new(job->sink, k.sites);
	map_init(&k.api_map);
	text_init(&k.scratch);
	for (size_t i = 0; i < KINETO_FLIGHT_MEMBERS; i++)
		text_init(&k.flight_text[i]);
	k.tree = data_tree_new();
	k.flight = data_value_new(k.tree, DATA_DICTIONARY);
	int rc = json_walk(job->stream, &handler, &walk, err);
	if (!rc && walk.is_cut && !job->options->keep_partial)
		rc = error_set(
			err, -EINVAL,
			"is cut short: the JSON text ends after %llu bytes, inside event %llu "
			"(--partial keeps what is there)",
			(unsigned long long)walk.bytes, (unsigned long long)walk.events + 1);
	bool is_flight = !walk.had_events && flight_recorder_matches(k.flight);
	if (!rc && is_flight)
		rc = import_flight_json(job, k.flight, err);
	else if (!rc && !k.known_events)
		rc = refuse(&k, &walk, err);
	if (!rc && !is_flight) {
		import_sink_info(job->sink, "import.format", "pytorch-profiler");
		import_join_flush(k.join);
		write_facts(&k, &walk);
		job->report->format = "PyTorch profiler";
		job->report->rank = (int)k.rank;
		job->report->is_cut = walk.is_cut;
		job->report->is_amd = k.has_amd;
	}
	import_join_free(k.join);
	import_sites_free(k.sites);
	map_fini(&k.api_map);
	text_fini(&k.scratch);
	data_tree_free(k.tree);
	for (size_t i = 0; i < KINETO_FLIGHT_MEMBERS; i++)
		text_fini(&k.flight_text[i]);
	return rc;
}
