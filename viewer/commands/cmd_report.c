/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace report: why the job is slow.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "load_traces.h"
#include "report_job.h"
#include "report_ranks.h"
#include "report_data.h"
#include "report_html.h"
#include "report_json.h"
#include "report_text.h"
#include "site_table.h"
#include "work_table.h"
#include "xmalloc.h"

/* clang-format off */
static const char usage[] =
"usage: gputrace report [--by site|kernel] [--why] [--tables hta] [--rank N|all] [--from S] [--to S]\n"
"                       [--json] [--html FILE] [--colour WHEN] [--debuginfod]\n"
"                       TRACE|DIRECTORY...\n"
"\n"
"Says where the time of a step goes and what to change, for every process and GPU. A directory\n"
"stands for all .gtrace files in it.\n"
"\n"
"  --by site        a table of the lines that called, by the time lost to them\n"
"  --by kernel      a table of kernels, copies and memsets, by their time on the GPU\n"
"  --why            say of every rule that found nothing what it saw\n"
"  --tables hta     also the tables of HolisticTraceAnalysis, by its definitions\n"
"  --rank N|all     of several ranks of one job: which to show in detail\n"
"  --from S, --to S only events that begin in this part of the run, in seconds since its\n"
"                   start; with a minus, before its end\n"
"  --json           print JSON instead of text: schema gputrace.report/1, gputrace.sites/1 or\n"
"                   gputrace.kernels/1\n"
"  --html FILE      also write the report as one self-contained page\n"
"  --colour WHEN    auto (default), always or never\n"
"  --debuginfod     let debugging information be fetched as DEBUGINFOD_URLS says\n"
"\n"
"Exit status: 0, 1 when the page cannot be written, 2 wrong usage, 3 when nothing lies between\n"
"--from and --to or --by has totals only, 4 when a trace cannot be read.\n";
/* clang-format on */

/* In text; JSON has all of them. */
#define ROWS_SHOWN 40

/* Instead of the report. */
enum report_table { TABLE_NONE, TABLE_SITE, TABLE_KERNEL };

struct report_options {
	enum report_table table;
	bool is_json, has_colour, shows_hta, shows_why;
	const char *html_path, *rank;
};

static int print_report(const struct loaded_traces *traces, const struct job_ranks *job,
			const struct report_options *options)
{
	const struct model **models = xcalloc(traces->count, sizeof(*models));
	struct report_data report;
	int status = EXIT_OK, rc = 0;
	size_t count = 0;

	for (size_t i = 0; i < traces->count; i++) {
		if (traces->items[i].model)
			models[count++] = traces->items[i].model;
	}
	report_data_build(models, count, &report);
	if (job->is_job)
		report_ranks_add(&report, job);
	report.shows_hta = options->shows_hta;
	report.shows_why = options->shows_why;
	if (options->is_json) {
		struct json *json = json_new("gputrace.report/1", false);

		report_json_add(json, &report);
		json_finish(json, stdout);
	} else {
		report_text_print(&report, stdout, options->has_colour);
	}
	if (options->html_path)
		rc = report_html_write(&report, options->html_path);
	if (rc) {
		fprintf(stderr, "gputrace report: Cannot write %s: %s.\n", options->html_path,
			strerror(-rc));
		status = 1;
	} else if (options->html_path && !options->is_json) {
		printf("\nThe page is in %s\n", options->html_path);
	}
	report_data_free(&report);
	free(models);
	return status;
}

static void add_sites(const struct model *model, struct json *json)
{
	struct symbols *symbols = symbols_new(model->source.trace);
	struct site_table table;

	site_table_build(model, symbols, &table);
	if (json)
		site_table_add_json(&table, json);
	else
		site_table_print(&table, stdout, ROWS_SHOWN);
	site_table_free(&table);
	symbols_free(symbols);
}

static void add_work(const struct model *model, struct json *json)
{
	struct work_table table;

	work_table_build(model, &table);
	if (json)
		work_table_add_json(&table, json);
	else
		work_table_print(&table, stdout, ROWS_SHOWN);
	work_table_free(&table);
}

static int print_tables(const struct loaded_traces *traces, const struct report_options *options)
{
	bool is_by_site = options->table == TABLE_SITE;
	struct json *json = NULL;
	int status = EXIT_OK;

	if (options->is_json) {
		json = json_new(is_by_site ? "gputrace.sites/1" : "gputrace.kernels/1", false);
		json_array(json, "runs");
	}
	for (size_t i = 0; i < traces->count; i++) {
		const struct model *model = traces->items[i].model;

		if (call_totals_replace_calls(model)) {
			fprintf(stderr,
				"gputrace report: No table by %s of %s: %s. The report without "
				"--by has the totals.\n",
				is_by_site ? "site" : "kernel", model->source.path,
				call_totals_reason(model));
			status = EXIT_NOT_JUDGED;
			continue;
		}
		if (i && !json)
			putchar('\n');
		(is_by_site ? add_sites : add_work)(model, json);
	}
	if (json) {
		json_end_array(json);
		json_finish(json, stdout);
	}
	return status;
}

static int show_traces(const char *command, char *const *paths, size_t count,
		       const struct report_options *options)
{
	struct loaded_traces traces;
	struct job_ranks job;
	int status = load_traces(command, paths, count, false, &traces);

	if (status)
		return status;
	status = report_job_load(command, &traces, options->table ? "all" : options->rank, &job);
	if (!status)
		status = options->table ? print_tables(&traces, options)
					: print_report(&traces, &job, options);
	job_ranks_free(&job);
	load_traces_free(&traces);
	return status;
}

static bool set_table(struct report_options *options, const char *word)
{
	options->table = !strcmp(word, "site")	   ? TABLE_SITE
			 : !strcmp(word, "kernel") ? TABLE_KERNEL
						   : TABLE_NONE;
	return options->table != TABLE_NONE;
}

/* "auto" leaves it as it is; false: no such word. */
static bool set_colour(struct report_options *options, const char *word)
{
	if (!strcmp(word, "always"))
		options->has_colour = true;
	else if (!strcmp(word, "never"))
		options->has_colour = false;
	else
		return !strcmp(word, "auto");
	return true;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"from", required_argument, NULL, 'F'},
		{"to", required_argument, NULL, 'T'},
		{"by", required_argument, NULL, 'b'},
		{"debuginfod", no_argument, NULL, 'd'},
		{"json", no_argument, NULL, 'j'},
		{"html", required_argument, NULL, 'w'},
		{"colour", required_argument, NULL, 'c'},
		{"color", required_argument, NULL, 'c'},
		{"rank", required_argument, NULL, 'r'},
		{"tables", required_argument, NULL, 't'},
		{"why", no_argument, NULL, 'y'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct report_options options = {.has_colour = command_has_colour()};
	int option;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		switch (option) {
		case 'b':
			if (!set_table(&options, optarg))
				return command_usage_error(
					argv[0], "--by is site or kernel, not \"%s\".", optarg);
			break;
		case 't':
			if (strcmp(optarg, "hta") != 0)
				return command_usage_error(argv[0], "--tables is hta, not \"%s\".",
							   optarg);
			options.shows_hta = true;
			break;
		case 'y':
			options.shows_why = true;
			break;
		case 'r':
			options.rank = optarg;
			break;
		case 'd':
			symbols_allow_debuginfod(true);
			break;
		case 'j':
			options.is_json = true;
			break;
		case 'w':
			options.html_path = optarg;
			break;
		case 'c':
			if (!set_colour(&options, optarg))
				return command_usage_error(argv[0],
							   "--colour is auto, always or "
							   "never, not \"%s\".",
							   optarg);
			break;
		case 'F':
		case 'T':
			if (!(option == 'F' ? load_traces_from : load_traces_to)(optarg))
				return command_usage_error(argv[0],
							   "--%s takes seconds, not \"%s\".",
							   option == 'F' ? "from" : "to", optarg);
			break;
		case 'h':
			return command_print_help("report");
		default:
			return command_usage_error(argv[0],
						   "The option \"%s\" is unknown or lacks its "
						   "value.",
						   argv[optind - 1]);
		}
	}
	if (optind == argc)
		return command_usage_error(argv[0], "Name at least one trace.");
	if (options.table && options.html_path)
		return command_usage_error(argv[0], "--by prints a table, which has no page.");
	return show_traces(argv[0], argv + optind, (size_t)(argc - optind), &options);
}

const struct command command_report = {
	.name = "report",
	.summary = "where the time goes and what to change",
	.usage = usage,
	.run = run,
};
