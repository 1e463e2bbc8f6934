/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace info: what a trace file is and holds, without analysing it.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "json.h"
#include "load_traces.h"
#include "printable.h"
#include "record_schema.h"
#include "trace_file.h"

static const char usage[] = "usage: gputrace info [--json] TRACE|DIRECTORY...\n"
			    "\n"
			    "Prints what a trace file is: its session, GPUs, threads, how it "
			    "ended, how far it is complete,\n"
			    "how many events of each kind it holds and how many were lost.\n"
			    "\n"
			    "  --json   print JSON (schema gputrace.info/1)\n"
			    "\n"
			    "Exit status: 0, 2 wrong usage, 4 when a trace cannot be read.\n";

struct kind_counts {
	uint64_t counts[RECORD_KIND_LIMIT];
};

static int count_batch(void *context, const struct trace_batch *batch)
{
	((struct kind_counts *)context)->counts[batch->kind] += batch->count;
	return 0;
}

static const char *ending_of(const struct trace_health *health)
{
	switch (health->session_end) {
	case SESSION_EXITED:
		return "exited";
	case SESSION_KILLED:
		return "killed";
	case SESSION_EXECED:
		return "execed";
	case SESSION_IMPORTED:
		return "imported";
	default:
		return "cut_short";
	}
}

static const char *kind_name(uint16_t kind)
{
	const char *name = record_schema_of(kind)->name;

	return name ? name : "unknown";
}

static void print_text_line(const char *key, const char *value)
{
	struct text text;

	text_init(&text);
	text_add_printable(&text, key);
	printf("  %-24s ", text_string(&text));
	text_clear(&text);
	text_add_printable(&text, value);
	printf("%s\n", text_string(&text));
	text_fini(&text);
}

static void print_info_line(void *context, const char *key, const char *value)
{
	(void)context;
	print_text_line(key, value);
}

/* What the recorder could not learn is 0, or -1 for a node: no link and no node at all. */
static void add_link(struct text *line, const struct record_device *device)
{
	if (device->link_gen)
		text_addf(line, "PCIe gen %u x%u", device->link_gen, device->link_width);
	else
		text_add(line, "PCIe link not seen");
	if (device->link_gen_max)
		text_addf(line, " (max gen %u x%u)", device->link_gen_max, device->link_width_max);
	if (device->numa_node >= 0)
		text_addf(line, ", NUMA node %d", device->numa_node);
	else
		text_add(line, ", NUMA node unknown");
}

static void print_devices(const struct trace *trace)
{
	for (size_t i = 0; i < trace_device_count(trace); i++) {
		const struct record_device *device = trace_device(trace, i);
		struct text line;

		text_init(&line);
		text_addf(&line, "%u SMs, cc %u.%u, %.1f GiB, ", device->sm_count, device->cc_major,
			  device->cc_minor, (double)device->memory_bytes / 1073741824);
		add_link(&line, device);
		if (device->flags & DEVICE_SIMULATED)
			text_add(&line, ", simulated: every time is modelled");
		printf("GPU %u\n", device->ordinal);
		print_text_line("name", device->name);
		print_text_line("hardware", text_string(&line));
		text_fini(&line);
	}
}

static void print_trace(struct trace *trace, const struct kind_counts *kinds)
{
	const struct trace_health *health = trace_health(trace);

	print_text_line("file", trace_path(trace));
	printf("  %-24s %llu\n", "bytes", (unsigned long long)health->file_bytes);
	printf("  %-24s %llu\n", "chunks", (unsigned long long)health->chunks);
	printf("  %-24s %s\n", "ending", ending_of(health));
	if (health->host_complete_ns > 0)
		printf("  %-24s %.6f\n", "host complete up to s",
		       (double)health->host_complete_ns / 1e9);
	else if (!health->session_end)
		print_text_line("complete", "nothing for sure: cut inside its first group");
	if (health->gpu_complete_ns > 0 ||
	    (health->gpu_complete_ns == 0 && (health->host_complete_ns > 0 || health->session_end)))
		printf("  %-24s %.6f\n", "GPU complete up to s",
		       (double)health->gpu_complete_ns / 1e9);
	if (health->damaged_bytes || health->damaged_chunks)
		printf("  %-24s %llu bytes, %u chunks\n", "damaged",
		       (unsigned long long)health->damaged_bytes, health->damaged_chunks);
	printf("session\n");
	trace_info_each(trace, print_info_line, NULL);
	print_devices(trace);
	printf("threads\n");
	for (size_t i = 0; i < trace_thread_count(trace); i++) {
		char key[32];

		snprintf(key, sizeof(key), "%u", trace_thread(trace, i)->thread_id);
		print_text_line(key, trace_thread(trace, i)->name);
	}
	printf("events\n");
	for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++) {
		if (kinds->counts[kind])
			printf("  %-24s %llu\n", kind_name(kind),
			       (unsigned long long)kinds->counts[kind]);
	}
	printf("lost\n  %-24s %llu\n", "total", (unsigned long long)health->lost_total);
	for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++) {
		if (health->lost[kind])
			printf("  %-24s %llu\n", kind ? kind_name(kind) : "unknown",
			       (unsigned long long)health->lost[kind]);
	}
}

static void add_info_member(void *context, const char *key, const char *value)
{
	struct text clean;

	text_init(&clean);
	text_add_printable(&clean, key);
	json_text(context, text_string(&clean), value);
	text_fini(&clean);
}

static void add_devices(struct json *json, const struct trace *trace)
{
	json_array(json, "devices");
	for (size_t i = 0; i < trace_device_count(trace); i++) {
		const struct record_device *device = trace_device(trace, i);

		json_object(json, NULL);
		json_unsigned(json, "ordinal", device->ordinal);
		json_text(json, "name", device->name);
		json_flag(json, "simulated", (device->flags & DEVICE_SIMULATED) != 0);
		json_unsigned(json, "memory_bytes", device->memory_bytes);
		json_unsigned(json, "sm_count", device->sm_count);
		json_unsigned(json, "clock_khz", device->clock_khz);
		json_unsigned(json, "cc_major", device->cc_major);
		json_unsigned(json, "cc_minor", device->cc_minor);
		json_integer(json, "numa_node", device->numa_node);
		json_unsigned(json, "link_gen", device->link_gen);
		json_unsigned(json, "link_width", device->link_width);
		json_unsigned(json, "link_gen_max", device->link_gen_max);
		json_unsigned(json, "link_width_max", device->link_width_max);
		json_end_object(json);
	}
	json_end_array(json);
}

static void add_trace(struct json *json, struct trace *trace, const struct kind_counts *kinds)
{
	const struct trace_health *health = trace_health(trace);

	json_object(json, NULL);
	json_text(json, "path", trace_path(trace));
	json_unsigned(json, "file_bytes", health->file_bytes);
	json_unsigned(json, "chunks", health->chunks);
	json_text(json, "ending", ending_of(health));
	json_integer(json, "host_complete_ns", health->host_complete_ns);
	if (health->gpu_complete_ns >= 0)
		json_integer(json, "gpu_complete_ns", health->gpu_complete_ns);
	else
		json_null(json, "gpu_complete_ns");
	json_unsigned(json, "damaged_bytes", health->damaged_bytes);
	json_unsigned(json, "damaged_chunks", health->damaged_chunks);
	json_object(json, "session");
	trace_info_each(trace, add_info_member, json);
	json_end_object(json);
	add_devices(json, trace);
	json_unsigned(json, "threads", trace_thread_count(trace));
	json_object(json, "events");
	for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++) {
		if (kinds->counts[kind])
			json_unsigned(json, kind_name(kind), kinds->counts[kind]);
	}
	json_end_object(json);
	json_unsigned(json, "lost_events", health->lost_total);
	json_object(json, "lost_events_by_kind");
	for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++) {
		if (health->lost[kind])
			json_unsigned(json, kind ? kind_name(kind) : "unknown", health->lost[kind]);
	}
	json_end_object(json);
	json_end_object(json);
}

static int print_all(struct loaded_traces *traces, bool is_json)
{
	struct json *json = is_json ? json_new("gputrace.info/1", false) : NULL;

	if (is_json)
		json_array(json, "traces");
	for (size_t i = 0; i < traces->count; i++) {
		struct trace *trace = traces->items[i].trace;
		struct kind_counts kinds = {{0}};

		/* Damage inside is counted by the reader and printed with the rest. */
		trace_read(trace, UINT64_MAX, count_batch, &kinds, NULL);
		if (is_json)
			add_trace(json, trace, &kinds);
		else
			print_trace(trace, &kinds);
	}
	if (is_json) {
		json_end_array(json);
		json_finish(json, stdout);
	}
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct loaded_traces traces;
	bool is_json = false;
	int option, status;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		if (option == 'j')
			is_json = true;
		else if (option == 'h')
			return command_print_help("info");
		else
			return command_usage_error(argv[0], "The option \"%s\" is unknown.",
						   argv[optind - 1]);
	}
	if (optind == argc)
		return command_usage_error(argv[0], "Name at least one trace.");
	status = load_traces(argv[0], argv + optind, (size_t)(argc - optind), false, &traces);
	if (status)
		return status;
	status = print_all(&traces, is_json);
	load_traces_free(&traces);
	return status;
}

const struct command command_info = {
	.name = "info",
	.summary = "what a trace file is and holds",
	.usage = usage,
	.run = run,
};
