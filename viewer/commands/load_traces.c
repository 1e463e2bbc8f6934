/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens traces and builds their models.
 */
#include "load_traces.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "command.h"
#include "error.h"
#include "printable.h"
#include "text.h"
#include "xmalloc.h"

static void print_error(const char *command, const char *path, const struct error *err)
{
	struct text text;

	text_init(&text);
	text_addf(&text, "gputrace %s: ", command);
	/* The chain names the file already when the reader opened it. */
	if (!strstr(err->text, path)) {
		text_add_printable(&text, path);
		text_add(&text, ": ");
	}
	text_add_printable(&text, err->text);
	fprintf(stderr, "%s\n", text_string(&text));
	text_fini(&text);
}

/* A bound of the part that counts; of the command line, so the same for all traces. */
struct window_bound {
	bool is_set, is_from_end;
	int64_t ns;
};

static struct window_bound window_from, window_to;

static bool read_bound(const char *text, struct window_bound *bound)
{
	char *end;
	double seconds = strtod(text, &end);

	/* 1e9 s are 31 years. */
	if (*end || end == text || !(seconds > -1e9 && seconds < 1e9))
		return false;
	*bound = (struct window_bound){true, text[0] == '-', (int64_t)(seconds * 1e9)};
	return true;
}

bool load_traces_from(const char *seconds)
{
	return read_bound(seconds, &window_from);
}

bool load_traces_to(const char *seconds)
{
	return read_bound(seconds, &window_to);
}

/* False when nothing of the trace lies between --from and --to. */
static bool set_window(const char *command, struct trace *trace)
{
	const struct trace_health *health = trace_health(trace);
	int64_t end_ns = health->host_complete_ns, from_ns = INT64_MIN, to_ns = INT64_MAX;

	if (health->gpu_complete_ns > end_ns)
		end_ns = health->gpu_complete_ns;
	if (window_from.is_set)
		from_ns = window_from.ns + (window_from.is_from_end ? end_ns : 0);
	if (window_to.is_set)
		to_ns = window_to.ns + (window_to.is_from_end ? end_ns : 0);
	if (!window_from.is_set && !window_to.is_set)
		return true;
	trace_set_window(trace, from_ns, to_ns);
	if (from_ns < to_ns && from_ns <= end_ns && to_ns > 0)
		return true;
	fprintf(stderr,
		"gputrace %s: Nothing of %s lies between --from and --to: it ends at %.3f s.\n",
		command, trace_path(trace), (double)end_ns / 1e9);
	return false;
}

int load_trace_model(const char *command, struct loaded_trace *loaded)
{
	struct model_source source = model_source_of_trace(loaded->trace);
	struct error err = {0, ""};

	if (!model_build(&source, &loaded->model, &err))
		return 0;
	print_error(command, trace_path(loaded->trace), &err);
	return EXIT_UNREADABLE;
}

static int load_file(const char *command, const char *path, bool builds_model,
		     struct loaded_traces *out)
{
	struct error err = {0, ""};
	struct loaded_trace loaded = {NULL, NULL};

	if (trace_open(path, &loaded.trace, &err)) {
		print_error(command, path, &err);
		return EXIT_UNREADABLE;
	}
	/* A rank that ended early does not keep the others from being looked at. */
	if (!set_window(command, loaded.trace)) {
		trace_close(loaded.trace);
		return 0;
	}
	if (builds_model && load_trace_model(command, &loaded)) {
		trace_close(loaded.trace);
		return EXIT_UNREADABLE;
	}
	if (out->count == out->capacity)
		out->items = array_grow(out->items, &out->capacity, sizeof(*out->items));
	out->items[out->count++] = loaded;
	return 0;
}

static int is_trace_name(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 7 && !strcmp(entry->d_name + length - 7, ".gtrace");
}

static int load_directory(const char *command, const char *path, bool builds_models,
			  struct loaded_traces *out)
{
	struct dirent **names;
	int count = scandir(path, &names, is_trace_name, alphasort), rc = 0;

	if (count < 0) {
		fprintf(stderr, "gputrace %s: Cannot list %s: %s\n", command, path,
			strerror(errno));
		return EXIT_UNREADABLE;
	}
	if (!count) {
		fprintf(stderr, "gputrace %s: There is no .gtrace file in %s.\n", command, path);
		rc = EXIT_UNREADABLE;
	}
	for (int i = 0; i < count; i++) {
		char *file = text_format("%s/%s", path, names[i]->d_name);

		if (!rc)
			rc = load_file(command, file, builds_models, out);
		free(file);
		free(names[i]);
	}
	free(names);
	return rc;
}

int load_traces(const char *command, char *const *paths, size_t count, bool builds_models,
		struct loaded_traces *out)
{
	int rc = 0;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < count && !rc; i++) {
		struct stat status;

		if (!stat(paths[i], &status) && S_ISDIR(status.st_mode))
			rc = load_directory(command, paths[i], builds_models, out);
		else
			rc = load_file(command, paths[i], builds_models, out);
	}
	if (!rc && !out->count)
		rc = EXIT_NOT_JUDGED;
	if (rc)
		load_traces_free(out);
	return rc;
}

void load_traces_free(struct loaded_traces *traces)
{
	for (size_t i = 0; i < traces->count; i++) {
		model_free(traces->items[i].model);
		trace_close(traces->items[i].trace);
	}
	free(traces->items);
	memset(traces, 0, sizeof(*traces));
}
