/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a pickle into a tree and hands it to the importer whose members it has. Frames become
 * sites: Python lines as they are, frames of libraries by the function's name.
 */
#include "dump_import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "import_sink.h"
#include "import_stream.h"
#include "text.h"
#include "xmalloc.h"

static bool ends_in_py(const struct data_value *path)
{
	return path->length >= 3 && !memcmp(path->text + path->length - 3, ".py", 3);
}

static bool read_frame(struct dump *dump, const struct data_value *frame, struct site_frame *out)
{
	const struct data_value *name = data_member(frame, "name");
	const struct data_value *path = data_member(frame, "filename");
	int64_t line = data_integer(data_member(frame, "line"), 0);
	if (!name || name->type != DATA_TEXT)
		return false;
	memset(out, 0, sizeof(*out));
	if (!path || path->type != DATA_TEXT || !ends_in_py(path)) {
		out->type = FRAME_OPERATOR;
		out->value = import_sink_name(dump->sink, NAME_CLASS, name->text, name->length);
		return true;
	}
	struct text text;
	text_init(&text);
	text_add_bytes(&text, name->text, name->length);
	text_add_bytes(&text, "\x1f", 1);
	text_add_bytes(&text, path->text, path->length);
	out->type = FRAME_PYTHON;
	out->line = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
	out->value = import_sink_name(dump->sink, NAME_PYTHON, text.data, text.length);
	text_fini(&text);
	return true;
}

uint64_t dump_site(struct dump *dump, const struct data_value *frames)
{
	struct site_frame found[IMPORT_MAX_FRAMES + 1];
	size_t count = 0;
	bool is_new;
	if (data_count(frames) == 0)
		return 0;
	uint64_t *slot = map_slot(&dump->frame_lists, (uint64_t)(uintptr_t)frames, &is_new);
	if (!is_new)
		return *slot;
	for (size_t i = 0; i < data_count(frames) && count <= IMPORT_MAX_FRAMES; i++)
		count += read_frame(dump, data_item(frames, i), &found[count]);
	/* Interning may have moved the map. */
	uint64_t site = import_sink_site(dump->sink, found, count);
	*map_slot(&dump->frame_lists, (uint64_t)(uintptr_t)frames, &is_new) = site;
	return site;
}

static int read_whole(struct import_job *job, char **out, size_t *count, struct error *err)
{
	size_t capacity = 1024 * 1024;
	char *bytes = xmalloc(capacity);
	size_t used = 0;
	for (;;) {
		if (used == capacity) {
			if (capacity >= DATA_MAX_BYTES) {
				free(bytes);
				return error_set(err, -EFBIG,
						 "is larger than 512 MiB, more than is read of a "
						 "snapshot or dump");
			}
			capacity *= 2;
			bytes = xrealloc(bytes, capacity, 1);
		}
		ssize_t got = import_stream_read(job->stream, bytes + used, capacity - used, err);
		if (got < 0) {
			free(bytes);
			return (int)got;
		}
		if (got == 0)
			break;
		used += (size_t)got;
	}
	*out = bytes;
	*count = used;
	return 0;
}

static int import_root(struct dump *dump, const struct data_value *root)
{
	if (flight_recorder_matches(root))
		return flight_recorder_import(dump, root);
	if (data_member(root, "segments") || data_member(root, "device_traces") ||
	    data_member(data_item(root, 0), "blocks"))
		return snapshot_import(dump, root);
	return error_set(dump->err, -EINVAL,
			 "is a pickle, but neither a memory snapshot (segments, device_traces) nor "
			 "an NCCL flight recorder dump (entries)");
}

int import_pickle(struct import_job *job, struct error *err)
{
	struct dump dump = {.job = job, .sink = job->sink, .err = err};
	struct data_tree *tree = data_tree_new();
	struct data_value *root;
	char *bytes = NULL;
	size_t count = 0;

	map_init(&dump.frame_lists);
	int rc = read_whole(job, &bytes, &count, err);
	if (!rc)
		rc = pickle_read(bytes, count, tree, &root, err);
	if (!rc)
		rc = import_root(&dump, root);
	map_fini(&dump.frame_lists);
	data_tree_free(tree);
	free(bytes);
	return rc;
}

int import_flight_json(struct import_job *job, const struct data_value *root, struct error *err)
{
	struct dump dump = {.job = job, .sink = job->sink, .err = err};
	map_init(&dump.frame_lists);
	int rc = flight_recorder_import(&dump, root);
	map_fini(&dump.frame_lists);
	return rc;
}
