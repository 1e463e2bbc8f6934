/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file: looks at its first bytes, calls the importer of its format, and gives the output its
 * name only when everything is written.
 */
#define _GNU_SOURCE /* renameat2 */
#include "import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "import_formats.h"
#include "import_sink.h"
#include "import_stream.h"
#include "text.h"

#define SNIFF_BYTES 512

typedef int (*import_function)(struct import_job *job, struct error *err);

static bool starts(const unsigned char *data, size_t bytes, const void *with, size_t length)
{
	return bytes >= length && !memcmp(data, with, length);
}

/* Formats that are known and cannot be read, each with what to do instead. */
static int refuse_known(const unsigned char *data, size_t bytes, const char *path,
			struct error *err)
{
	if (starts(data, bytes, "gputrace", 8) ||
	    (bytes >= 16 && starts(data + 8, bytes - 8, "gputrace", 8)))
		return error_set(err, -EINVAL,
				 "is a gputrace file already: give it to `gputrace report`");
	if (starts(data, bytes, "NVIDIA", 6) || starts(data, bytes, "nsys", 4) ||
	    memmem(data, bytes, "QDSTRM", 6) || memmem(data, bytes, "nsys-rep", 8) ||
	    (strlen(path) > 9 && !strcmp(path + strlen(path) - 9, ".nsys-rep")))
		return error_set(
			err, -EINVAL,
			"is a raw Nsight Systems report; run `nsys export --type sqlite %s` and "
			"import the .sqlite file",
			path);
	if (starts(data, bytes, "PK\3\4", 4))
		return error_set(err, -EINVAL,
				 "is a zip archive: unpack it and import what is in it");
	if (starts(data, bytes,
		   "\x7f"
		   "ELF",
		   4))
		return error_set(err, -EINVAL, "is a program, not a recording");
	return 0;
}

/* An object, or an array of objects; text in brackets is a log more often than JSON. */
static bool looks_like_json(const unsigned char *data, size_t bytes)
{
	static const char space[] = " \t\r\n";
	size_t at = starts(data, bytes, "\xef\xbb\xbf", 3) ? 3 : 0;
	while (at < bytes && memchr(space, data[at], 4))
		at++;
	if (at == bytes || data[at] == '{')
		return at < bytes;
	if (data[at++] != '[')
		return false;
	while (at < bytes && memchr(space, data[at], 4))
		at++;
	return at == bytes || data[at] == '{' || data[at] == ']';
}

/* Protocol 2 and later start with their number; protocols 0 and 1 with a mark and a dictionary. */
static bool looks_like_pickle(const unsigned char *data, size_t bytes)
{
	return (bytes >= 2 && data[0] == 0x80 && data[1] >= 2 && data[1] <= 5) ||
	       (bytes >= 3 && data[0] == '(' && (data[1] == 'd' || data[1] == 'l') &&
		memchr("pSVI(", data[2], 5)) ||
	       starts(data, bytes, "}q", 2) || starts(data, bytes, "]q", 2);
}

static int choose(struct import_stream *stream, const char *path, import_function *out,
		  struct error *err)
{
	const unsigned char *data;
	ssize_t got = import_stream_peek(stream, &data, SNIFF_BYTES, err);
	if (got < 0)
		return (int)got;
	size_t bytes = (size_t)got;
	if (bytes == 0)
		return error_set(err, -EINVAL, "is empty");
	int rc = refuse_known(data, bytes, path, err);
	if (rc)
		return rc;
	if (starts(data, bytes, "SQLite format 3", 16)) {
		*out = import_nsys;
		return 0;
	}
	if (looks_like_pickle(data, bytes)) {
		*out = import_pickle;
		return 0;
	}
	if (looks_like_json(data, bytes)) {
		*out = import_json;
		return 0;
	}
	return error_set(err, -EINVAL,
			 "is no recording that gputrace knows (PyTorch profiler JSON, nsys SQLite "
			 "export, PyTorch memory snapshot, NCCL flight recorder dump)");
}

/* Gives the complete output its name, or removes it. */
static int publish(int dir_fd, const char *temporary, const char *name, bool replace,
		   struct error *err)
{
	int failed = replace ? renameat(dir_fd, temporary, dir_fd, name)
			     : renameat2(dir_fd, temporary, dir_fd, name, RENAME_NOREPLACE);
	if (!failed)
		return 0;
	int code = errno;
	if (!replace && (code == EINVAL || code == ENOSYS)) { /* a file system without that flag */
		code = linkat(dir_fd, temporary, dir_fd, name, 0) ? errno : 0;
	}
	unlinkat(dir_fd, temporary, 0);
	if (code == EEXIST)
		return error_set(err, -EEXIST, "%s exists already", name);
	return code ? error_set(err, -code, "cannot name the output %s: %s", name, strerror(code))
		    : 0;
}

static void fill_report(const struct import_sink *sink, struct import_report *report)
{
	const struct import_totals *t = import_sink_totals(sink);
	report->records = t->records;
	for (int kind = RECORD_KIND_call; kind <= RECORD_KIND_gemm; kind++)
		report->calls += t->by_kind[kind];
	for (int kind = RECORD_KIND_gpu_kernel; kind < RECORD_KIND_LIMIT; kind++)
		report->gpu_records += t->by_kind[kind];
	report->lost = t->lost;
	report->lost_bad_time = t->lost_bad_time;
}

static void write_source(struct import_sink *sink, const char *path,
			 const struct import_stream *stream)
{
	const char *slash = strrchr(path, '/');
	import_sink_info(sink, "import.source", "%s", slash ? slash + 1 : path);
	import_sink_info(sink, "import.source_bytes", "%llu",
			 (unsigned long long)import_stream_file_bytes(stream));
}

/* Reads the recording into `temporary`, which is complete or gone afterwards. */
static int import_into(struct import_job *job, import_function importer, int dir_fd,
		       const char *temporary, struct error *err)
{
	job->sink = import_sink_new(dir_fd, temporary);
	write_source(job->sink, job->path, job->stream);
	int rc = importer(job, err);
	if (!rc)
		rc = import_sink_finish(job->sink, err);
	fill_report(job->sink, job->report);
	job->report->output_failed = import_sink_failed(job->sink) != 0;
	import_sink_free(job->sink);
	if (rc)
		unlinkat(dir_fd, temporary, 0);
	return rc;
}

int import_file(const char *path, int dir_fd, const char *name,
		const struct import_options *options, struct import_report *report,
		struct error *err)
{
	struct import_job job = {.path = path, .options = options, .report = report};
	char *temporary = text_format(".%s.%ld.part", name, (long)getpid());
	import_function importer = NULL;
	int rc;

	memset(report, 0, sizeof(*report));
	report->rank = -1;
	if (!options->replace && !faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW)) {
		report->output_failed = true;
		rc = error_set(err, -EEXIST, "%s exists already", name);
		goto free_name;
	}
	rc = import_stream_open(path, &job.stream, err);
	if (rc)
		goto free_name;
	rc = choose(job.stream, path, &importer, err);
	if (!rc && options->process && importer != import_nsys)
		rc = error_set(err, -EINVAL,
			       "keeps no processes apart: --process is for nsys "
			       "exports");
	if (!rc)
		rc = import_into(&job, importer, dir_fd, temporary, err);
	import_stream_close(job.stream);
	if (rc)
		goto free_name;
	rc = publish(dir_fd, temporary, name, options->replace, err);
	report->output_failed = rc != 0;

free_name:
	free(temporary);
	return rc ? error_because(err, rc, "%s", path) : 0;
}
