/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens an nsys export and reads it table by table. The database is hostile input: it is opened
 * immutable and defensive, and only real tables are read, so no view or virtual table of its author
 * runs.
 */
#include "nsys_import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "import_stream.h"
#include "text.h"

/* A file name as SQLite's URI: it is never written, so no lock and no journal is looked for. */
static void make_uri(const char *name, struct text *uri)
{
	text_add(uri, "file:");
	for (; *name; name++) {
		if (strchr("%?#", *name))
			text_addf(uri, "%%%02x", (unsigned char)*name);
		else
			text_add_bytes(uri, name, 1);
	}
	text_add(uri, "?immutable=1");
}

int nsys_open(struct nsys *n)
{
	char *name;
	bool is_copy;
	int rc = import_stream_unwrap(n->job->stream, n->job->path, &name, &is_copy, n->err);
	if (rc)
		return rc;
	struct text uri;
	text_init(&uri);
	make_uri(name, &uri);
	rc = sqlite3_open_v2(text_string(&uri), &n->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
			     NULL);
	text_fini(&uri);
	if (rc == SQLITE_OK) {
		sqlite3_db_config(n->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		sqlite3_db_config(n->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		sqlite3_limit(n->db, SQLITE_LIMIT_LENGTH, 64 * 1024 * 1024);
		rc = sqlite3_exec(n->db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
	}
	rc = rc == SQLITE_OK ? 0 : nsys_failed(n, "open the database");
	if (is_copy)
		unlink(name); /* open, so it stays until it is closed */
	free(name);
	return rc;
}

static int check_tables(struct nsys *n)
{
	static const char *const needed[] = {"CUPTI_ACTIVITY_KIND_KERNEL",
					     "CUPTI_ACTIVITY_KIND_RUNTIME",
					     "CUPTI_ACTIVITY_KIND_MEMCPY",
					     "NVTX_EVENTS",
					     "StringIds",
					     "META_DATA_EXPORT",
					     "TARGET_INFO_GPU"};
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		int rc = nsys_has_table(n, needed[i]);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	return error_set(n->err, -EINVAL, "is an SQLite database, but not one that nsys exported");
}

static int read_all(struct nsys *n)
{
	int rc = nsys_has_table(n, "StringIds");
	if (rc > 0 && sqlite3_prepare_v2(n->db, "SELECT value FROM StringIds WHERE id = ?1", -1,
					 &n->string_query, NULL) != SQLITE_OK)
		rc = nsys_failed(n, "read StringIds");
	if (rc >= 0)
		rc = nsys_read_session(n);
	if (!rc)
		rc = nsys_read_environment(n);
	if (!rc)
		rc = nsys_read_devices(n);
	if (!rc)
		rc = nsys_read_host(n);
	if (!rc)
		rc = nsys_read_gpu(n);
	if (!rc)
		import_join_flush(n->join);
	return rc;
}

static void write_facts(struct nsys *n)
{
	const struct import_totals *t = import_sink_totals(n->sink);
	uint64_t gpu = t->by_kind[RECORD_KIND_gpu_kernel] + t->by_kind[RECORD_KIND_gpu_copy] +
		       t->by_kind[RECORD_KIND_gpu_set];
	if (n->has_many_processes)
		import_sink_info(n->sink, "import.processes", "several");
	if (n->job->options->process)
		import_sink_info(n->sink, "process.pid", "%lld",
				 (long long)n->job->options->process);
	import_sink_info(n->sink, "import.gpu", "%s", gpu || n->launches ? "nvidia" : "none");
	import_sink_info(n->sink, "gpu_times.source", "%s", gpu ? "nsys" : "none");
	if (!gpu && n->launches)
		import_sink_info(n->sink, "gpu_times.reason",
				 "the recording has %llu %s and no GPU event",
				 (unsigned long long)n->launches,
				 text_noun((double)n->launches, "launch", "launches"));
	else if (!gpu)
		import_sink_info(n->sink, "gpu_times.reason", "the recording has no GPU event");
	n->job->report->format = "nsys export";
}

int import_nsys(struct import_job *job, struct error *err)
{
	struct nsys n = {.job = job, .sink = job->sink, .err = err};
	struct map *maps[] = {&n.correlation_map, &n.usage_map, &n.api_map, &n.domain_map};

	for (size_t i = 0; i < 6; i++)
		map_init(&n.string_maps[i]);
	for (size_t i = 0; i < 4; i++)
		map_init(maps[i]);
	n.sites = import_sites_new(n.sink);
	n.join = import_join_new(n.sink, n.sites);
	import_sink_info(n.sink, "import.format", "nsys-sqlite");
	int rc = nsys_open(&n);
	if (!rc)
		rc = check_tables(&n);
	if (!rc)
		rc = read_all(&n);
	import_sink_settle(n.sink);
	if (!rc && job->options->process && !import_sink_totals(n.sink)->records)
		rc = error_set(err, -EINVAL, "holds nothing of process %lld",
			       (long long)job->options->process);
	if (!rc)
		write_facts(&n);
	sqlite3_finalize(n.string_query);
	sqlite3_close(n.db);
	import_join_free(n.join);
	import_sites_free(n.sites);
	for (size_t i = 0; i < 6; i++)
		map_fini(&n.string_maps[i]);
	for (size_t i = 0; i < 4; i++)
		map_fini(maps[i]);
	free(n.usages);
	free(n.devices);
	return rc;
}
