/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the files of a job one after the other, keeps a summary of each, and then builds the models
 * of what is shown: the memory needed does not grow with the number of ranks.
 */
#include "report_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "xmalloc.h"

static int load_all(const char *command, struct loaded_traces *traces)
{
	int status = 0;

	for (size_t i = 0; i < traces->count && !status; i++)
		status = load_trace_model(command, &traces->items[i]);
	return status;
}

static int summarize(const char *command, struct loaded_traces *traces, struct job_ranks *job)
{
	struct rank_summary *items = xcalloc(traces->count, sizeof(*items));
	size_t count = 0;
	int status = 0;

	for (size_t i = 0; i < traces->count && !status; i++) {
		status = load_trace_model(command, &traces->items[i]);
		if (status)
			break;
		rank_summary_build(traces->items[i].model, &items[count++]);
		model_free(traces->items[i].model);
		traces->items[i].model = NULL;
	}
	if (status) {
		while (count > 0)
			rank_summary_free(&items[--count]);
		free(items);
		return status;
	}
	job_ranks_build(items, count, job);
	return 0;
}

static int choose(const char *command, const char *rank, struct job_ranks *job)
{
	char *end;
	long long wanted = strtoll(rank, &end, 10);

	for (size_t i = 0; i < job->count && !*end; i++) {
		if (job->items[i].rank == wanted) {
			job->detail = i;
			return 0;
		}
	}
	fprintf(stderr, "gputrace %s: There is no rank \"%s\" among these files.\n", command, rank);
	return EXIT_USAGE;
}

int report_job_load(const char *command, struct loaded_traces *traces, const char *rank,
		    struct job_ranks *job)
{
	bool is_all = rank && !strcmp(rank, "all");
	int status;

	memset(job, 0, sizeof(*job));
	if (traces->count > 1) {
		status = summarize(command, traces, job);
		if (status)
			return status;
	}
	if (!job->is_job && rank && !is_all) {
		fprintf(stderr, "gputrace %s: These files are not the ranks of one job.\n",
			command);
		return EXIT_USAGE;
	}
	if (!job->is_job || is_all)
		return load_all(command, traces);
	status = rank ? choose(command, rank, job) : 0;
	for (size_t i = 0; i < traces->count && !status; i++) {
		if (!strcmp(trace_path(traces->items[i].trace), job->items[job->detail].path))
			status = load_trace_model(command, &traces->items[i]);
	}
	return status;
}
