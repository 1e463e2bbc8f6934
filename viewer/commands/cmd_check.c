/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace check: verifies every checksum of trace files.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "error.h"
#include "json.h"
#include "record_schema.h"
#include "trace_check.h"

static const char usage[] = "usage: gputrace check [--list] [--json] TRACE...\n"
			    "\n"
			    "Verifies every checksum of a trace file and decodes every chunk, "
			    "whatever its index says.\n"
			    "\n"
			    "  --list   print every chunk with its offset, type, rows and verdict\n"
			    "  --json   print JSON (schema gputrace.check/1)\n"
			    "\n"
			    "Exit status: 0 whole, 1 damaged, 3 undamaged but cut short (it has no "
			    "end), 4 not readable;\n"
			    "of several files the worst.\n";

static const char *type_name(const struct checked_chunk *chunk)
{
	static const char *const names[] = {
		[CHUNK_SEGMENT] = "segment", [CHUNK_ROWS] = "rows",   [CHUNK_COLUMNS] = "columns",
		[CHUNK_END] = "end",	     [CHUNK_INDEX] = "index", [CHUNK_PATTERNS] = "patterns",
		[CHUNK_EVENTS] = "events",
	};

	if (chunk->verdict == CHUNK_GAP)
		return "none";
	if (chunk->header.type == CHUNK_ROWS && chunk->header.flags & CHUNK_TAIL)
		return "tail";
	return chunk->header.type >= CHUNK_SEGMENT && chunk->header.type <= CHUNK_EVENTS
		       ? names[chunk->header.type]
		       : "unknown";
}

static const char *verdict_name(const struct checked_chunk *chunk)
{
	switch (chunk->verdict) {
	case CHUNK_WHOLE:
		return "whole";
	case CHUNK_UNREADABLE:
		return "of_a_newer_version";
	case CHUNK_GAP:
		return "no_chunk";
	default:
		return chunk->is_spare ? "damaged_copy" : "damaged";
	}
}

static const char *kind_name(const struct checked_chunk *chunk)
{
	const char *name = record_schema_of(chunk->header.kind)->name;

	return chunk->header.type == CHUNK_COLUMNS && name ? name : "";
}

static int status_of(const struct trace_check *check)
{
	if (!trace_check_is_clean(check))
		return EXIT_GATE_FAILED;
	return check->session_end ? EXIT_OK : EXIT_NOT_JUDGED;
}

static const char *verdict_of(const struct trace_check *check)
{
	switch (status_of(check)) {
	case EXIT_OK:
		return "whole";
	case EXIT_NOT_JUDGED:
		return "cut_short";
	default:
		return "damaged";
	}
}

static void print_list(const struct trace_check *check)
{
	printf("%12s %10s  %-8s %-14s %8s  %s\n", "offset", "bytes", "chunk", "kind", "rows",
	       "verdict");
	for (size_t i = 0; i < check->count; i++) {
		const struct checked_chunk *chunk = &check->chunks[i];

		printf("%12" PRIu64 " %10" PRIu64 "  %-8s %-14s %8u  %s\n", chunk->offset,
		       chunk->bytes, type_name(chunk), kind_name(chunk), chunk->header.row_count,
		       verdict_name(chunk));
	}
}

static void print_text(const char *path, const struct trace_check *check)
{
	printf("%s: %s. %" PRIu64 " bytes, %u chunks whole, %" PRIu64 " records.\n", path,
	       status_of(check) == EXIT_NOT_JUDGED ? "undamaged, but cut short" : verdict_of(check),
	       check->file_bytes, check->whole, check->rows);
	if (!check->head_is_whole)
		printf("  The head of the file is damaged.\n");
	if (check->damaged)
		printf("  Chunks that cannot be read: %u, with about %" PRIu64 " records.\n",
		       check->damaged, check->damaged_rows);
	if (check->gap_bytes)
		printf("  Bytes where no chunk stands: %" PRIu64 ".\n", check->gap_bytes);
	if (check->has_index && !check->index_is_right)
		printf("  The index does not describe the file.\n");
	if (check->spare)
		printf("  Damaged copies of chunks that stand whole elsewhere: %u; nothing is lost "
		       "by "
		       "them.\n",
		       check->spare);
	if (check->unreadable)
		printf("  Chunks of a newer version, undamaged: %u.\n", check->unreadable);
	if (!check->session_end)
		printf("  It has no end: the writer was killed or the copy is incomplete; %" PRIu64
		       " bytes of an unfinished chunk are left out.\n",
		       check->unfinished_bytes);
	if (!trace_check_is_clean(check))
		printf("  `gputrace recover %s` writes what can be read to a new file.\n", path);
}

static void add_json(struct json *json, const char *path, const struct trace_check *check,
		     bool lists)
{
	json_object(json, NULL);
	json_text(json, "path", path);
	json_text(json, "verdict", verdict_of(check));
	json_unsigned(json, "file_bytes", check->file_bytes);
	json_flag(json, "head_is_whole", check->head_is_whole);
	json_unsigned(json, "chunks_whole", check->whole);
	json_unsigned(json, "chunks_damaged", check->damaged);
	json_unsigned(json, "chunks_damaged_copies", check->spare);
	json_unsigned(json, "chunks_of_a_newer_version", check->unreadable);
	json_unsigned(json, "records", check->rows);
	json_unsigned(json, "records_damaged", check->damaged_rows);
	json_unsigned(json, "bytes_without_chunk", check->gap_bytes);
	json_unsigned(json, "bytes_unfinished", check->unfinished_bytes);
	json_flag(json, "has_end", check->session_end != 0);
	json_flag(json, "has_index", check->has_index);
	json_flag(json, "index_is_right", check->index_is_right);
	if (lists) {
		json_array(json, "chunks");
		for (size_t i = 0; i < check->count; i++) {
			const struct checked_chunk *chunk = &check->chunks[i];

			json_object(json, NULL);
			json_unsigned(json, "offset_bytes", chunk->offset);
			json_unsigned(json, "bytes", chunk->bytes);
			json_text(json, "type", type_name(chunk));
			json_text(json, "kind", kind_name(chunk));
			json_unsigned(json, "rows", chunk->header.row_count);
			json_text(json, "verdict", verdict_name(chunk));
			json_end_object(json);
		}
		json_end_array(json);
	}
	json_end_object(json);
}

/* Damaged is worse than cut short, unreadable is the worst. */
static int worse_of(int one, int other)
{
	static const int ranks[] = {[EXIT_OK] = 0,
				    [EXIT_GATE_FAILED] = 2,
				    [EXIT_USAGE] = 0,
				    [EXIT_NOT_JUDGED] = 1,
				    [EXIT_UNREADABLE] = 3};

	return ranks[one] >= ranks[other] ? one : other;
}

static int check_all(char *const *paths, int count, bool lists, bool is_json)
{
	struct json *json = is_json ? json_new("gputrace.check/1", false) : NULL;
	int status = EXIT_OK;

	if (is_json)
		json_array(json, "traces");
	for (int i = 0; i < count; i++) {
		struct trace_check check;
		struct error err = {0};

		if (trace_check(paths[i], &check, &err) < 0) {
			fprintf(stderr, "gputrace check: %s.\n", err.text);
			status = EXIT_UNREADABLE;
		} else {
			status = worse_of(status, status_of(&check));
			if (is_json)
				add_json(json, paths[i], &check, lists);
			else
				print_text(paths[i], &check);
			if (lists && !is_json)
				print_list(&check);
		}
		trace_check_fini(&check);
	}
	if (is_json) {
		json_end_array(json);
		json_finish(json, stdout);
	}
	return status;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"json", no_argument, NULL, 'j'},
		{"list", no_argument, NULL, 'l'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	bool is_json = false, lists = false;
	int option;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		if (option == 'j')
			is_json = true;
		else if (option == 'l')
			lists = true;
		else if (option == 'h')
			return command_print_help("check");
		else
			return command_usage_error(argv[0], "The option \"%s\" is unknown.",
						   argv[optind - 1]);
	}
	if (optind == argc)
		return command_usage_error(argv[0], "Name at least one trace.");
	return check_all(argv + optind, argc - optind, lists, is_json);
}

const struct command command_check = {
	.name = "check",
	.summary = "verify every checksum of a trace file",
	.usage = usage,
	.run = run,
};
