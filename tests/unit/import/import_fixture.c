/* SPDX-License-Identifier: Apache-2.0 */
/* Goes through real files, as `gputrace import` does. */
#include "import_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void look_for_leftovers(struct imported *out)
{
	DIR *folder = opendir(out->folder);
	assert_non_null(folder);
	const struct dirent *entry;
	while ((entry = readdir(folder))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		    strcmp(entry->d_name, "input") && strcmp(entry->d_name, "out.gtrace"))
			out->left_files = true;
		if (out->rc && !strcmp(entry->d_name, "out.gtrace"))
			out->left_files = true;
	}
	closedir(folder);
}

void import_bytes(const void *bytes, size_t count, bool keep_partial, struct imported *out)
{
	struct import_options options = {.keep_partial = keep_partial};
	char input[96], output[96];

	memset(out, 0, sizeof(*out));
	strcpy(out->folder, "/tmp/gputrace-import-test-XXXXXX");
	assert_non_null(mkdtemp(out->folder));
	snprintf(input, sizeof(input), "%s/input", out->folder);
	snprintf(output, sizeof(output), "%s/out.gtrace", out->folder);
	FILE *file = fopen(input, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	assert_int_equal(fclose(file), 0);

	int dir_fd = open(out->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir_fd >= 0);
	out->rc = import_file(input, dir_fd, "out.gtrace", &options, &out->report, &out->err);
	close(dir_fd);
	look_for_leftovers(out);
	if (!out->rc) {
		struct error err = {0};
		if (trace_open(output, &out->trace, &err))
			fail_msg("the import's output cannot be opened: %s", err.text);
		assert_int_equal(trace_health(out->trace)->session_end, 4);
		assert_int_equal(trace_health(out->trace)->damaged_chunks, 0);
	}
	unlink(input);
	unlink(output);
	rmdir(out->folder);
}

void import_text(const char *json, struct imported *out)
{
	import_bytes(json, strlen(json), false, out);
}

void import_events(const char *events, struct imported *out)
{
	size_t size = strlen(events) + 128;
	char *json = malloc(size);
	assert_non_null(json);
	snprintf(json, size,
		 "{\"baseTimeNanoseconds\": 1700000000000000000, \"traceEvents\": [%s]}", events);
	import_text(json, out);
	free(json);
}

void imported_free(struct imported *imported)
{
	trace_close(imported->trace);
	imported->trace = NULL;
}

struct search {
	size_t index, seen;
	void *record;
	uint32_t thread;
	bool found;
};

static int on_batch(void *context, const struct trace_batch *batch)
{
	struct search *s = context;
	if (s->record && s->index >= s->seen && s->index < s->seen + batch->count) {
		size_t at = s->index - s->seen;
		memcpy(s->record, (const char *)batch->rows + at * batch->row_bytes,
		       batch->row_bytes);
		s->thread = batch->thread[at];
		s->found = true;
	}
	s->seen += batch->count;
	return 0;
}

bool imported_record(struct imported *imported, uint16_t kind, size_t index, void *record,
		     uint32_t *thread)
{
	struct search search = {.index = index, .record = record};
	struct error err;
	assert_non_null(imported->trace);
	assert_int_equal(trace_read(imported->trace, 1ull << kind, on_batch, &search, &err), 0);
	if (thread)
		*thread = search.thread;
	return search.found;
}

size_t imported_count(struct imported *imported, uint16_t kind)
{
	struct search search = {0};
	struct error err;
	assert_non_null(imported->trace);
	assert_int_equal(trace_read(imported->trace, 1ull << kind, on_batch, &search, &err), 0);
	return search.seen;
}

const char *imported_name(struct imported *imported, uint16_t space, uint64_t id)
{
	const char *name = trace_name(imported->trace, space, id);
	return name ? name : "";
}
