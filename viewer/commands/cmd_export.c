/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace export: traces in the formats of other programs.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "export.h"
#include "load_traces.h"
#include "symbols.h"
#include "xmalloc.h"

static const char usage[] =
	"usage: gputrace export --to FORMAT [--weight WEIGHT] [-o FILE] [--debuginfod] "
	"TRACE|DIRECTORY...\n"
	"\n"
	"Writes traces in the formats of other programs, to standard output or a file.\n"
	"\n"
	"  --to FORMAT       collapsed: stacks for flamegraph.pl and inferno; speedscope: for\n"
	"                    https://www.speedscope.app; chrome: a timeline for Perfetto;\n"
	"                    memory: live memory after every call that changed it\n"
	"  --weight WEIGHT   what a stack weighs: gpu_time (default), bytes, lost_time (of steady\n"
	"                    steps) or host_time; not for chrome and memory\n"
	"  -o, --output FILE write there instead of to standard output\n"
	"  --debuginfod      let debugging information be fetched as DEBUGINFOD_URLS says\n"
	"\n"
	"Exit status: 0, 1 when the output cannot be written, 2 wrong usage, 3 when there is "
	"nothing of this "
	"weight,\n"
	"or 4 when a trace cannot be read.\n";

struct options {
	const struct export *export;
	enum export_weight weight;
	bool has_weight;
	const char *path;
};

/* Whether any stack weighs anything; a timeline can always be drawn. */
static bool has_anything(const struct export_job *job)
{
	bool has_weight = false;

	for (size_t i = 0; i < job->count && !has_weight; i++) {
		struct stack_costs costs;

		stack_costs_build(job->models[i], STACK_WHOLE_RUN, &costs);
		for (size_t c = 0; c < costs.count; c++)
			has_weight |= export_weight_of(&costs.items[c], job->weight) > 0;
		stack_costs_free(&costs);
	}
	return has_weight;
}

static int write_output(const struct export_job *job, const struct options *options)
{
	FILE *to = options->path ? fopen(options->path, "w") : stdout;
	bool has_failed;

	if (!to) {
		fprintf(stderr, "gputrace export: Cannot write %s: %s\n", options->path,
			strerror(errno));
		return 1;
	}
	options->export->write(job, to);
	has_failed = fflush(to) || ferror(to);
	if (options->path)
		has_failed |= fclose(to) != 0;
	if (has_failed) {
		fprintf(stderr, "gputrace export: Cannot write all of %s.\n",
			options->path ? options->path : "standard output");
		return 1;
	}
	return EXIT_OK;
}

/* The first trace whose calls, or some of them, are only in totals; NULL. */
static const struct model *summed_model(const struct export_job *job)
{
	for (size_t i = 0; i < job->count; i++) {
		if (call_totals_replace_calls(job->models[i]))
			return job->models[i];
	}
	return NULL;
}

static int export_traces(const struct loaded_traces *traces, const struct options *options)
{
	const struct model **models = xcalloc(traces->count, sizeof(*models));
	struct export_job job = {models, traces->count, options->weight};
	int status;

	for (size_t i = 0; i < traces->count; i++)
		models[i] = traces->items[i].model;
	if (options->export->has_weights && summed_model(&job)) {
		fprintf(stderr,
			"gputrace export: Stacks cannot be weighed: %s. gputrace report has the "
			"totals.\n",
			call_totals_reason(summed_model(&job)));
		status = EXIT_NOT_JUDGED;
	} else if (options->export->has_weights && !has_anything(&job)) {
		fprintf(stderr, "gputrace export: There is no %s in what was recorded.\n",
			export_weight_label(job.weight));
		status = EXIT_NOT_JUDGED;
	} else {
		status = write_output(&job, options);
	}
	free(models);
	return status;
}

/* One option into *options; 0 or the exit status. */
static int take_option(char **argv, int option, struct options *options)
{
	switch (option) {
	case 't':
		options->export = exports_find(optarg);
		if (!options->export)
			return command_usage_error(
				argv[0],
				"--to is collapsed, speedscope, chrome or memory, not "
				"\"%s\".",
				optarg);
		return 0;
	case 'w':
		options->has_weight = true;
		if (!export_weight_find(optarg, &options->weight))
			return command_usage_error(argv[0],
						   "--weight is gpu_time, bytes, lost_time or "
						   "host_time, not \"%s\".",
						   optarg);
		return 0;
	case 'o':
		options->path = optarg;
		return 0;
	case 'd':
		symbols_allow_debuginfod(true);
		return 0;
	default:
		return command_usage_error(argv[0],
					   "The option \"%s\" is unknown or lacks its value.",
					   argv[optind - 1]);
	}
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"to", required_argument, NULL, 't'},	  {"weight", required_argument, NULL, 'w'},
		{"output", required_argument, NULL, 'o'}, {"debuginfod", no_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},	  {NULL, 0, NULL, 0},
	};
	struct options options = {NULL, EXPORT_GPU_TIME, false, NULL};
	struct loaded_traces traces;
	int option, status;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "ho:", long_options, NULL)) != -1) {
		if (option == 'h')
			return command_print_help("export");
		status = take_option(argv, option, &options);
		if (status)
			return status;
	}
	if (!options.export)
		return command_usage_error(
			argv[0], "Say with --to which format: collapsed, speedscope or chrome.");
	if (options.has_weight && !options.export->has_weights)
		return command_usage_error(argv[0], "Only exports with stacks have a --weight.");
	if (optind == argc)
		return command_usage_error(argv[0], "Name at least one trace.");
	status = load_traces(argv[0], argv + optind, (size_t)(argc - optind), true, &traces);
	if (status)
		return status;
	status = export_traces(&traces, &options);
	load_traces_free(&traces);
	return status;
}

const struct command command_export = {
	.name = "export",
	.summary = "flame graphs and timelines for other programs",
	.usage = usage,
	.run = run,
};
