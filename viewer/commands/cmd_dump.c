/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace dump: every event of a trace, field by field, in the order of the file.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "dump_fields.h"
#include "error.h"
#include "json.h"
#include "load_traces.h"
#include "map.h"
#include "printable.h"
#include "record.h"
#include "xmalloc.h"

static const char usage[] =
	"usage: gputrace dump [--format text|tsv|json] [--json] [--kind NAME]... [--from S] [--to "
	"S]\n"
	"                     TRACE\n"
	"\n"
	"Prints every event with all its fields; times are nanoseconds since the session began, "
	"units stand\n"
	"in the names of the fields. The same file gives the same output.\n"
	"\n"
	"  --format FORMAT  text (default): one line per event; tsv: one table per kind, each with "
	"its\n"
	"                   header; json: one document (schema gputrace.dump/1)\n"
	"  --json           the same as --format json\n"
	"  --kind NAME      only this kind (call, sync, copy, set, launch, memory, gemm, conv, "
	"graph,\n"
	"                   communicator, collective, mark, block, gpu_kernel, gpu_copy, gpu_set,\n"
	"                   gpu_sync, gpu_graph, gpu_memory, gpu_pool, sample, pages, total, "
	"clock,\n"
	"                   loss, site); may be repeated\n"
	"  --from S, --to S only events that begin in this part of the run, in seconds since its\n"
	"                   start; with a minus, before its end\n"
	"\n"
	"Exit status: 0, 2 wrong usage, 3 when nothing lies between --from and --to, 4 when the "
	"trace cannot be read.\n";

enum dump_format { DUMP_TEXT, DUMP_TSV, DUMP_JSON };

struct dump {
	struct trace *trace;
	enum dump_format format;
	struct json *json;
	struct text text;
	struct map sites; /* seen in calls */
	uint16_t kind;	  /* of the pass that runs */
};

/* Tabs and newlines are escaped by text_add_printable() already, so a cell is never split. */
static void dump_row(struct dump *dump, const struct record_schema *schema, const void *record,
		     uint32_t thread)
{
	bool is_number;

	if (dump->format == DUMP_TEXT)
		printf("%s thread=%u", schema->name, thread);
	else if (dump->format == DUMP_TSV)
		printf("%u", thread);
	else
		json_object(dump->json, NULL);
	if (dump->format == DUMP_JSON)
		json_unsigned(dump->json, "thread", thread);
	for (uint16_t i = 0; i < schema->column_count; i++) {
		const struct record_column *column = &schema->columns[i];

		text_clear(&dump->text);
		dump_field_value(&dump->text, dump->trace, dump->kind, column, record, &is_number);
		if (dump->format == DUMP_TEXT)
			printf(" %s=%s", dump_field_key(column), text_string(&dump->text));
		else if (dump->format == DUMP_TSV)
			printf("\t%s", text_string(&dump->text));
		else if (is_number)
			json_literal(dump->json, dump_field_key(column), text_string(&dump->text));
		else
			json_text(dump->json, dump_field_key(column), text_string(&dump->text));
	}
	if (dump->format == DUMP_JSON)
		json_end_object(dump->json);
	else
		putchar('\n');
}

static int dump_batch(void *context, const struct trace_batch *batch)
{
	struct dump *dump = context;
	const struct record_schema *schema = record_schema_of(batch->kind);

	for (uint32_t i = 0; i < batch->count; i++)
		dump_row(dump, schema, (const char *)batch->rows + (size_t)i * batch->row_bytes,
			 batch->thread[i]);
	return 0;
}

static int dump_kind(struct dump *dump, uint16_t kind, struct error *err)
{
	const struct record_schema *schema = record_schema_of(kind);
	int rc;

	dump->kind = kind;
	if (dump->format == DUMP_TSV) {
		printf("# %s\nthread", schema->name);
		for (uint16_t i = 0; i < schema->column_count; i++)
			printf("\t%s", dump_field_key(&schema->columns[i]));
		putchar('\n');
	} else if (dump->format == DUMP_JSON) {
		json_array(dump->json, schema->name);
	}
	rc = trace_read(dump->trace, 1ull << kind, dump_batch, dump, err);
	if (dump->format == DUMP_JSON)
		json_end_array(dump->json);
	return rc;
}

/* The column of a kind that says who called; NULL where nobody is asked. */
static const struct record_column *site_column(uint16_t kind)
{
	const struct record_schema *schema = record_schema_of(kind);

	for (uint16_t i = 0; i < schema->column_count; i++) {
		if (!strcmp(dump_field_key(&schema->columns[i]), "site"))
			return &schema->columns[i];
	}
	return NULL;
}

static int collect_sites(void *context, const struct trace_batch *batch)
{
	const struct record_column *column = site_column(batch->kind);
	struct dump *dump = context;
	uint64_t site;

	for (uint32_t i = 0; i < batch->count; i++) {
		memcpy(&site,
		       (const char *)batch->rows + (size_t)i * batch->row_bytes + column->offset,
		       sizeof(site));
		if (site)
			map_slot(&dump->sites, site, NULL);
	}
	return 0;
}

static int compare_ids(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static void dump_site(struct dump *dump, uint64_t id)
{
	const struct record_site *site = trace_site(dump->trace, id);
	char hex[32];

	snprintf(hex, sizeof(hex), "0x%" PRIx64, id);
	text_clear(&dump->text);
	for (uint32_t i = 0; site && i < site->frame_count; i++) {
		const struct site_frame *frame = &site->frames[i];
		const char *name = frame->type == FRAME_PYTHON
					   ? trace_name(dump->trace, NAME_PYTHON, frame->value)
				   : frame->type == FRAME_OPERATOR
					   ? trace_name(dump->trace, NAME_CLASS, frame->value)
					   : NULL;

		if (i)
			text_add(&dump->text, ";");
		if (name) {
			text_add_printable(&dump->text, name);
			text_addf(&dump->text, ":%u", frame->line);
		} else if (frame->type == FRAME_FORWARD) {
			text_add(&dump->text, "[forward]");
		} else {
			text_addf(&dump->text, "0x%" PRIx64, frame->value);
		}
	}
	if (dump->format == DUMP_TEXT) {
		printf("site id=%s frames=%s\n", hex, text_string(&dump->text));
	} else if (dump->format == DUMP_TSV) {
		printf("%s\t%s\n", hex, text_string(&dump->text));
	} else {
		json_object(dump->json, NULL);
		json_text(dump->json, "id", hex);
		json_text(dump->json, "frames", text_string(&dump->text));
		json_end_object(dump->json);
	}
}

static int dump_sites(struct dump *dump, struct error *err)
{
	uint64_t *ids, kinds = 0;
	size_t count = 0;
	int rc;

	for (uint16_t kind = 1; kind < RECORD_KIND_LIMIT; kind++)
		kinds |= site_column(kind) ? 1ull << kind : 0;
	rc = trace_read(dump->trace, kinds, collect_sites, dump, err);
	if (rc)
		return rc;
	ids = xcalloc(dump->sites.count, sizeof(*ids));
	for (size_t i = 0; i < dump->sites.capacity; i++) {
		if (dump->sites.entries[i].is_used)
			ids[count++] = dump->sites.entries[i].key;
	}
	qsort(ids, count, sizeof(*ids), compare_ids);
	if (dump->format == DUMP_TSV)
		printf("# site\nid\tframes\n");
	else if (dump->format == DUMP_JSON)
		json_array(dump->json, "site");
	for (size_t i = 0; i < count; i++)
		dump_site(dump, ids[i]);
	if (dump->format == DUMP_JSON)
		json_end_array(dump->json);
	free(ids);
	return 0;
}

static int dump_trace(struct trace *trace, enum dump_format format, uint64_t kinds, bool has_sites)
{
	struct dump dump = {.trace = trace, .format = format};
	struct error err = {0, ""};
	int rc = 0;

	text_init(&dump.text);
	map_init(&dump.sites);
	if (format == DUMP_JSON) {
		dump.json = json_new("gputrace.dump/1", true);
		json_text(dump.json, "path", trace_path(trace));
	}
	for (uint16_t kind = 1; kind < RECORD_KIND_LIMIT && !rc; kind++) {
		const struct record_schema *schema = record_schema_of(kind);

		if (schema->name && schema->column_count && (kinds >> kind & 1))
			rc = dump_kind(&dump, kind, &err);
	}
	if (has_sites && !rc)
		rc = dump_sites(&dump, &err);
	if (format == DUMP_JSON)
		json_finish(dump.json, stdout);
	text_fini(&dump.text);
	map_fini(&dump.sites);
	if (rc) {
		fprintf(stderr, "gputrace dump: %s: %s\n", trace_path(trace), err.text);
		return EXIT_UNREADABLE;
	}
	return EXIT_OK;
}

static uint16_t kind_of(const char *name)
{
	for (uint16_t kind = 1; kind < RECORD_KIND_LIMIT; kind++) {
		const struct record_schema *schema = record_schema_of(kind);

		if (schema->name && schema->column_count && !strcmp(schema->name, name))
			return kind;
	}
	return 0;
}

static bool format_of(const char *name, enum dump_format *format)
{
	static const char *const names[] = {"text", "tsv", "json"};

	for (int i = 0; i < 3; i++) {
		if (!strcmp(names[i], name)) {
			*format = (enum dump_format)i;
			return true;
		}
	}
	return false;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"from", required_argument, NULL, 'F'},
		{"to", required_argument, NULL, 'T'},
		{"format", required_argument, NULL, 'f'},
		{"kind", required_argument, NULL, 'k'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	enum dump_format format = DUMP_TEXT;
	struct loaded_traces traces;
	uint64_t kinds = 0;
	bool has_sites = false, has_kinds = false;
	int option, status;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		switch (option) {
		case 'f':
			if (!format_of(optarg, &format))
				return command_usage_error(argv[0],
							   "--format is text, tsv or json, "
							   "not \"%s\".",
							   optarg);
			break;
		case 'j':
			format = DUMP_JSON;
			break;
		case 'k':
			has_kinds = true;
			if (!strcmp(optarg, "site"))
				has_sites = true;
			else if (kind_of(optarg))
				kinds |= 1ull << kind_of(optarg);
			else
				return command_usage_error(argv[0], "There is no kind \"%s\".",
							   optarg);
			break;
		case 'F':
			if (!load_traces_from(optarg))
				return command_usage_error(
					argv[0], "--from takes seconds, not \"%s\".", optarg);
			break;
		case 'T':
			if (!load_traces_to(optarg))
				return command_usage_error(
					argv[0], "--to takes seconds, not \"%s\".", optarg);
			break;
		case 'h':
			return command_print_help("dump");
		default:
			return command_usage_error(argv[0],
						   "The option \"%s\" is unknown or lacks its "
						   "value.",
						   argv[optind - 1]);
		}
	}
	if (argc - optind != 1)
		return command_usage_error(argv[0], "Name one trace.");
	status = load_traces(argv[0], argv + optind, 1, false, &traces);
	if (status)
		return status;
	if (!has_kinds) {
		kinds = UINT64_MAX;
		has_sites = true;
	}
	for (size_t i = 0; i < traces.count && !status; i++)
		status = dump_trace(traces.items[i].trace, format, kinds, has_sites);
	load_traces_free(&traces);
	return status;
}

const struct command command_dump = {
	.name = "dump",
	.summary = "every event, field by field",
	.usage = usage,
	.run = run,
};
