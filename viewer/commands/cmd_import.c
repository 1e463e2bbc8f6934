/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace import: other tools' recordings into traces, one output per input.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "big_array.h"
#include "command.h"
#include "error.h"
#include "import.h"
#include "json.h"
#include "printable.h"
#include "text.h"
#include "xmalloc.h"

#define IMPORT_MEMORY_BYTES ((size_t)128 << 20)

/* clang-format off */
static const char usage[] =
"usage: gputrace import [-o FILE | -d DIR] [-f] [-p] [-P PID] [--json] RECORDING...\n"
"\n"
"Turns recordings of other tools into traces: PyTorch profiler JSON (also .gz and .zst), nsys\n"
"exports (nsys export --type sqlite), PyTorch memory snapshots and NCCL flight recorder dumps.\n"
"The format is told from the content. Each recording becomes one trace, NAME.gtrace; an nsys export\n"
"of several processes one trace per process, NAME.PID.gtrace.\n"
"\n"
"  -o, --output FILE   name of the trace, when there is one recording\n"
"  -d, --out-dir DIR   write the traces there (default: the current directory)\n"
"  -f, --force         write over traces that exist\n"
"  -P, --process PID   of an nsys export of several processes, import only this one\n"
"  -p, --partial       keep what a recording holds that is cut short\n"
"  --json              print JSON (schema gputrace.import/1)\n"
"\n"
"Exit status: 0, 1 when a trace cannot be written, 2 wrong usage, 4 when a recording cannot be read. The other\n"
"recordings are imported nevertheless.\n";
/* clang-format on */

struct request {
	const char *output, *folder;
	struct import_options options;
	bool is_json;
};

struct progress {
	const char *path;
	struct timespec started, shown;
	bool is_shown;
};

static double seconds_since(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - then->tv_sec) + (double)(now.tv_nsec - then->tv_nsec) / 1e9;
}

/* Only on a terminal, only after a second, ten times a second at most. */
static void show_progress(void *context, uint64_t taken_bytes, uint64_t file_bytes)
{
	struct progress *progress = context;

	if (file_bytes == 0 || seconds_since(&progress->started) < 1 ||
	    (progress->is_shown && seconds_since(&progress->shown) < 0.1))
		return;
	progress->is_shown = true;
	clock_gettime(CLOCK_MONOTONIC, &progress->shown);
	fprintf(stderr, "\r%s: %3.0f %%", progress->path,
		100.0 * (double)taken_bytes / (double)file_bytes);
}

static void end_progress(const struct progress *progress)
{
	if (progress->is_shown)
		fprintf(stderr, "\r%*s\r", (int)strlen(progress->path) + 8, "");
}

static void cut_suffix(struct text *name, const char *suffix)
{
	size_t length = strlen(suffix);

	if (name->length > length && !strcmp(name->data + name->length - length, suffix)) {
		name->length -= length;
		name->data[name->length] = 0;
	}
}

/* "dir/rank3.json.gz" -> "rank3.gtrace"; a number is added for the second recording of that name.
 */
static char *name_output(const char *path, char *const *earlier, size_t earlier_count)
{
	static const char *const suffixes[] = {".gz",  ".zst",	 ".json", ".sqlite", ".pickle",
					       ".pkl", ".trace", ".pt",	  ".db"};
	const char *slash = strrchr(path, '/');
	struct text stem;
	char *name = NULL;

	text_init(&stem);
	text_add(&stem, slash ? slash + 1 : path);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		cut_suffix(&stem, suffixes[i]);
	for (unsigned number = 1; !name; number++) {
		name = number == 1 ? text_format("%s.gtrace", text_string(&stem))
				   : text_format("%s-%u.gtrace", text_string(&stem), number);
		for (size_t i = 0; i < earlier_count; i++) {
			if (strcmp(earlier[i], name) != 0)
				continue;
			free(name);
			name = NULL;
			break;
		}
	}
	text_fini(&stem);
	return name;
}

static void print_report(const char *name, const struct import_report *report)
{
	struct text text;

	text_init(&text);
	text_add_printable(&text, name);
	text_addf(&text, ": %s", report->format);
	if (report->rank >= 0)
		text_addf(&text, ", rank %d", report->rank);
	text_addf(&text, ", %llu %s (%llu of the GPU, %llu %s)",
		  (unsigned long long)report->records,
		  text_noun((double)report->records, "event", "events"),
		  (unsigned long long)report->gpu_records, (unsigned long long)report->calls,
		  text_noun((double)report->calls, "call", "calls"));
	if (report->is_amd)
		text_add(&text, ", AMD GPU");
	if (report->lost)
		text_addf(&text, ", %llu events could not be kept",
			  (unsigned long long)report->lost);
	if (report->lost_bad_time)
		text_addf(&text, " (%llu of them for impossible times)",
			  (unsigned long long)report->lost_bad_time);
	if (report->is_cut)
		text_add(&text, ", cut short");
	printf("%s\n", text_string(&text));
	text_fini(&text);
}

static void add_report(struct json *json, const char *path, const char *name,
		       const struct import_report *report, const struct error *err)
{
	json_object(json, NULL);
	json_text(json, "recording", path);
	json_text(json, "trace", name);
	if (err) {
		json_text(json, "error", err->text);
		json_end_object(json);
		return;
	}
	json_text(json, "format", report->format);
	json_unsigned(json, "events", report->records);
	json_unsigned(json, "gpu_events", report->gpu_records);
	json_unsigned(json, "calls", report->calls);
	json_unsigned(json, "lost_events", report->lost);
	json_unsigned(json, "lost_events_impossible_times", report->lost_bad_time);
	if (report->rank >= 0)
		json_integer(json, "rank", report->rank);
	else
		json_null(json, "rank");
	json_flag(json, "amd", report->is_amd);
	json_flag(json, "cut_short", report->is_cut);
	json_end_object(json);
}

static int import_one(const struct request *request, const char *path, int dir_fd, const char *name,
		      struct json *json)
{
	struct progress progress = {.path = path};
	struct import_options options = request->options;
	struct import_report report;
	struct error err = {0};
	int rc;

	/* What waits for its launch or operator is used in order, so little of it need be there. */
	big_array_set_default(IMPORT_MEMORY_BYTES);
	clock_gettime(CLOCK_MONOTONIC, &progress.started);
	if (isatty(STDERR_FILENO)) {
		options.progress = show_progress;
		options.progress_context = &progress;
	}
	rc = import_file(path, dir_fd, name, &options, &report, &err);
	end_progress(&progress);
	if (rc)
		fprintf(stderr, "gputrace import: %s%s.\n", err.text,
			rc == -EEXIST ? " (--force writes over it)" : "");
	if (json)
		add_report(json, path, name, &report, rc ? &err : NULL);
	else if (!rc)
		print_report(name, &report);
	return !rc ? EXIT_OK : report.output_failed ? 1 : EXIT_UNREADABLE;
}

/* One trace, or one per process where the recording holds several. */
static int import_processes_of(const struct request *request, const char *path, int dir_fd,
			       const char *name, struct json *json)
{
	struct request one = *request;
	int64_t *ids = NULL;
	size_t count = request->options.process ? 0 : import_processes(path, &ids);
	int status = EXIT_OK;

	if (!count)
		return import_one(request, path, dir_fd, name, json);
	if (request->output) {
		fprintf(stderr,
			"gputrace import: %s holds %zu processes: leave --output out for one trace "
			"each, or name one with --process (%lld, for instance).\n",
			path, count, (long long)ids[0]);
		free(ids);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < count; i++) {
		char *of_process =
			text_format("%.*s.%lld.gtrace", (int)(strlen(name) - strlen(".gtrace")),
				    name, (long long)ids[i]);
		int rc;

		one.options.process = ids[i];
		rc = import_one(&one, path, dir_fd, of_process, json);
		if (rc > status)
			status = rc;
		free(of_process);
	}
	free(ids);
	return status;
}

static int open_folder(const char *folder)
{
	int dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir_fd < 0)
		fprintf(stderr, "gputrace import: Cannot open the output folder %s: %s.\n", folder,
			strerror(errno));
	return dir_fd;
}

static int import_all(const struct request *request, char *const *paths, size_t count)
{
	char **names = xcalloc(count, sizeof(*names));
	char *folder = xstrdup(request->folder ? request->folder : ".");
	struct json *json;
	int dir_fd, status = EXIT_OK;

	if (request->output) {
		const char *slash = strrchr(request->output, '/');

		free(folder);
		folder = slash ? text_format("%.*s/", (int)(slash - request->output),
					     request->output)
			       : xstrdup(".");
		names[0] = xstrdup(slash ? slash + 1 : request->output);
	}
	for (size_t i = request->output ? 1 : 0; i < count; i++)
		names[i] = name_output(paths[i], names, i);
	dir_fd = open_folder(folder);
	json = dir_fd >= 0 && request->is_json ? json_new("gputrace.import/1", false) : NULL;
	if (json)
		json_array(json, "imports");
	for (size_t i = 0; i < count; i++) {
		int one = dir_fd < 0
				  ? 1
				  : import_processes_of(request, paths[i], dir_fd, names[i], json);

		if (one > status)
			status = one;
		free(names[i]);
	}
	if (json) {
		json_end_array(json);
		json_finish(json, stdout);
	}
	if (dir_fd >= 0)
		close(dir_fd);
	free(folder);
	free(names);
	return status;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"output", required_argument, NULL, 'o'},
		{"out-dir", required_argument, NULL, 'd'},
		{"force", no_argument, NULL, 'f'},
		{"partial", no_argument, NULL, 'p'},
		{"process", required_argument, NULL, 'P'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct request request = {0};
	char *end;
	int option;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "o:d:fpP:h", long_options, NULL)) != -1) {
		switch (option) {
		case 'o':
			request.output = optarg;
			break;
		case 'd':
			request.folder = optarg;
			break;
		case 'f':
			request.options.replace = true;
			break;
		case 'p':
			request.options.keep_partial = true;
			break;
		case 'P':
			request.options.process = strtoll(optarg, &end, 10);
			if (*end || request.options.process <= 0)
				return command_usage_error(argv[0],
							   "--process takes the number of a "
							   "process, not \"%s\".",
							   optarg);
			break;
		case 'j':
			request.is_json = true;
			break;
		case 'h':
			return command_print_help("import");
		default:
			return command_usage_error(
				argv[0], "The option \"%s\" is unknown or lacks its value.",
				argv[optind - 1]);
		}
	}
	if (optind == argc)
		return command_usage_error(argv[0], "Name at least one recording.");
	if (request.output && (request.folder || argc - optind > 1))
		return command_usage_error(argv[0], "--output goes with one recording and without "
						    "--out-dir.");
	if (request.output &&
	    (!*request.output || request.output[strlen(request.output) - 1] == '/'))
		return command_usage_error(argv[0], "--output must name a file.");
	return import_all(&request, argv + optind, (size_t)(argc - optind));
}

const struct command command_import = {
	.name = "import",
	.summary = "turn recordings of other tools into traces",
	.usage = usage,
	.run = run,
};
