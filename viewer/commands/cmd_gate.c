/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace gate: the figures of a trace as a verdict for CI.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "gate_check.h"
#include "gate_report.h"
#include "json.h"
#include "load_traces.h"
#include "printable.h"
#include "xmalloc.h"

/* clang-format off */
static const char usage[] =
"usage: gputrace gate [--max KEY=VALUE]... [--baseline TRACE|DIRECTORY [--tolerance KEY=VALUE]...]...\n"
"                     [--min-steps N] [--allow-mismatch] [--json] [--junit FILE]\n"
"                     TRACE|DIRECTORY...\n"
"\n"
"Judges steady steps against limits, or against a baseline, and names what changed.\n"
"\n"
"  --max KEY=VALUE        the median may not be above VALUE\n"
"  --baseline TRACE       compare with this trace or directory, with one run of the job or several;\n"
"                         the median may not grow by more than the tolerance\n"
"  --tolerance KEY=VALUE  percent (exposed_copy_percent: points of the step); defaults below\n"
"  --min-steps N          fewer steady steps than this are no sample; default 5\n"
"  --allow-mismatch       compare although GPU, driver or CPU differ\n"
"  --json                 print JSON (schema gputrace.gate/1)\n"
"  --junit FILE           also write the checks as XML for a CI server\n"
"\n"
"  KEY                    tolerance\n"
"  step_time_ms           5 %\n"
"  exposed_copy_percent   2 points\n"
"  launches_per_step      1 %\n"
"  bytes_per_step         1 %\n"
"  peak_memory_mib        2 %\n"
"\n"
"A change fails only when its 99 % interval (bootstrap of the medians) lies above the tolerance.\n"
"\n"
"Exit status: 0 pass, 1 fail, 2 usage, 3 could not be judged (too few steps, inconclusive, other\n"
"hardware), 4 unreadable trace.\n";
/* clang-format on */

struct gate_arguments {
	struct gate_options options;
	char **baselines;
	size_t baseline_count;
	const char *junit_path;
	bool is_json, has_limit;
};

static int take_pair(const char *command, const char *option, const char *text, double *values)
{
	const char *equals = strchr(text, '=');
	enum step_metric metric;
	char key[64], *end;
	double value;

	if (!equals || (size_t)(equals - text) >= sizeof(key))
		return command_usage_error(command, "%s takes KEY=VALUE, not \"%s\".", option,
					   text);
	memcpy(key, text, (size_t)(equals - text));
	key[equals - text] = '\0';
	metric = step_metric_find(key);
	if (metric == STEP_METRIC_COUNT)
		return command_usage_error(command, "There is no figure \"%s\"; --help lists them.",
					   key);
	value = strtod(equals + 1, &end);
	if (end == equals + 1 || *end || !isfinite(value) || value < 0)
		return command_usage_error(command, "\"%s\" is no number that fits %s.", equals + 1,
					   key);
	values[metric] = value;
	return 0;
}

static const char *device_name(const struct loaded_traces *traces, const struct gate_check *check)
{
	return traces->items[check->run].model->source.path;
}

static void print_check(const struct loaded_traces *traces, const struct gate_result *result,
			const struct gate_check *check, bool has_colour)
{
	static const char *const words_of[] = {"pass", "FAIL", "unsure", "too few"};
	static const char *const tints[] = {"\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[33m"};
	struct text words;

	text_init(&words);
	gate_add_check(&words, result, check);
	printf("  %s%-7s%s %-26s %s", has_colour ? tints[check->status] : "",
	       words_of[check->status], has_colour ? "\x1b[0m" : "", step_metric_key(check->metric),
	       text_string(&words));
	text_fini(&words);
	if (traces->count > 1 || traces->items[check->run].model->device_count > 1) {
		struct text path;

		text_init(&path);
		text_add_printable(&path, device_name(traces, check));
		printf("  [%s GPU %u]", text_string(&path),
		       traces->items[check->run].model->devices[check->device].ordinal);
		text_fini(&path);
	}
	putchar('\n');
}

static const char *verdict_of(const struct gate_result *result)
{
	if (result->status == GATE_PASS)
		return "pass";
	return result->status == GATE_FAIL ? "fail" : "not_judged";
}

static void print_text(const struct loaded_traces *traces, const struct gate_arguments *arguments,
		       const struct gate_result *result)
{
	size_t passed = 0;
	bool has_colour = command_has_colour();

	for (size_t i = 0; i < result->count; i++)
		passed += result->checks[i].status == GATE_PASS;
	printf("gate: %s, %zu of %zu checks passed%s\n",
	       result->status == GATE_PASS   ? "pass"
	       : result->status == GATE_FAIL ? "FAIL"
					     : "could not be judged",
	       passed, result->count, arguments->baseline_count ? " against the baseline" : "");
	if (result->baseline.mismatch)
		printf("  not comparable: %s%s\n", result->baseline.mismatch,
		       arguments->options.allows_mismatch ? " (compared anyway)" : "");
	if (result->summed)
		printf("  no steps to judge: %s\n", result->summed);
	for (size_t i = 0; i < result->count; i++)
		print_check(traces, result, &result->checks[i], has_colour);
	if (result->change_count)
		printf("\n  What changed per step:\n");
	for (size_t i = 0; i < result->change_count; i++)
		printf("    %s\n", result->changes[i].text);
}

static void add_check(struct json *json, const struct loaded_traces *traces,
		      const struct gate_check *check)
{
	json_object(json, NULL);
	json_text(json, "figure", step_metric_key(check->metric));
	json_text(json, "kind", check->is_change ? "change" : "limit");
	json_text(json, "path", device_name(traces, check));
	json_unsigned(json, "gpu", traces->items[check->run].model->devices[check->device].ordinal);
	json_text(json, "status", gate_status_word(check->status));
	json_number(json, "current", check->current.value);
	json_number(json, "current_low", check->current.low);
	json_number(json, "current_high", check->current.high);
	json_unsigned(json, "current_samples", check->current_count);
	if (check->is_change) {
		const bool is_points = gate_metric_is_points(check->metric);

		json_number(json, "baseline", check->baseline_value);
		json_unsigned(json, "baseline_samples", check->baseline_count);
		json_number(json, is_points ? "change_points" : "change_percent",
			    check->change.value);
		json_number(json, is_points ? "change_low_points" : "change_low_percent",
			    check->change.low);
		json_number(json, is_points ? "change_high_points" : "change_high_percent",
			    check->change.high);
		json_number(json, is_points ? "tolerance_points" : "tolerance_percent",
			    check->limit);
	} else {
		json_number(json, "limit", check->limit);
	}
	json_end_object(json);
}

static void print_json(const struct loaded_traces *traces, const struct gate_result *result)
{
	struct json *json = json_new("gputrace.gate/1", false);

	json_text(json, "verdict", verdict_of(result));
	json_text(json, "mismatch", result->baseline.mismatch);
	if (result->summed)
		json_text(json, "no_steps_because", result->summed);
	json_unsigned(json, "baseline_runs", result->baseline.runs);
	json_array(json, "checks");
	for (size_t i = 0; i < result->count; i++)
		add_check(json, traces, &result->checks[i]);
	json_end_array(json);
	json_array(json, "changes");
	for (size_t i = 0; i < result->change_count; i++) {
		json_object(json, NULL);
		json_text(json, "text", result->changes[i].text);
		json_number(json, "change_ms_per_step", result->changes[i].ms);
		json_end_object(json);
	}
	json_end_array(json);
	json_finish(json, stdout);
}

/* 0 or -1, and a sentence on stderr. */
static int write_junit(const char *path, const struct gate_result *result,
		       const struct model *const *current)
{
	FILE *file = fopen(path, "w");
	struct text xml;
	bool is_written;

	text_init(&xml);
	gate_add_junit(&xml, result, current);
	is_written = file && fwrite(xml.data, 1, xml.length, file) == xml.length;
	if (file && fclose(file))
		is_written = false;
	if (!is_written)
		fprintf(stderr, "gputrace gate: Cannot write %s: %s.\n", path, strerror(errno));
	text_fini(&xml);
	return is_written ? 0 : -1;
}

static int judge(const struct gate_arguments *arguments, const struct loaded_traces *current,
		 const struct loaded_traces *baseline)
{
	const struct model **now = xcalloc(current->count, sizeof(*now));
	const struct model **then = xcalloc(baseline->count, sizeof(*then));
	struct gate_result result;
	int status;

	for (size_t i = 0; i < current->count; i++)
		now[i] = current->items[i].model;
	for (size_t i = 0; i < baseline->count; i++)
		then[i] = baseline->items[i].model;
	gate_run(&arguments->options, now, current->count, then, baseline->count, &result);
	if (arguments->is_json)
		print_json(current, &result);
	else
		print_text(current, arguments, &result);
	status = result.status == GATE_PASS   ? EXIT_OK
		 : result.status == GATE_FAIL ? EXIT_GATE_FAILED
					      : EXIT_NOT_JUDGED;
	/* A pass that its reader never sees is none. */
	if (arguments->junit_path && write_junit(arguments->junit_path, &result, now) &&
	    status == EXIT_OK)
		status = EXIT_GATE_FAILED;
	gate_result_free(&result);
	free(now);
	free(then);
	return status;
}

/* 0, -1 for "help was printed", or an exit status. */
static int parse(int argc, char **argv, struct gate_arguments *arguments)
{
	static const struct option long_options[] = {
		{"max", required_argument, NULL, 'm'},
		{"baseline", required_argument, NULL, 'b'},
		{"tolerance", required_argument, NULL, 't'},
		{"min-steps", required_argument, NULL, 'n'},
		{"allow-mismatch", no_argument, NULL, 'a'},
		{"junit", required_argument, NULL, 'u'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option, rc = 0;
	char *end;

	optind = 0;
	opterr = 0;
	while (!rc && (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		switch (option) {
		case 'm':
			arguments->has_limit = true;
			rc = take_pair(argv[0], "--max", optarg, arguments->options.limit);
			break;
		case 'b':
			arguments->baselines =
				xrealloc(arguments->baselines, arguments->baseline_count + 1,
					 sizeof(*arguments->baselines));
			arguments->baselines[arguments->baseline_count++] = optarg;
			break;
		case 't':
			rc = take_pair(argv[0], "--tolerance", optarg,
				       arguments->options.tolerance);
			break;
		case 'n':
			arguments->options.min_steps = strtoul(optarg, &end, 10);
			if (*end || end == optarg || !arguments->options.min_steps)
				rc = command_usage_error(argv[0], "\"%s\" is no number of steps.",
							 optarg);
			break;
		case 'a':
			arguments->options.allows_mismatch = true;
			break;
		case 'u':
			arguments->junit_path = optarg;
			break;
		case 'j':
			arguments->is_json = true;
			break;
		case 'h':
			command_print_help("gate");
			return -1;
		default:
			rc = command_usage_error(argv[0],
						 "The option \"%s\" is unknown or lacks its "
						 "value.",
						 argv[optind - 1]);
		}
	}
	if (!rc && optind == argc)
		rc = command_usage_error(argv[0], "Name at least one trace.");
	if (!rc && !arguments->has_limit && !arguments->baseline_count)
		rc = command_usage_error(argv[0], "Say what to judge by: --max or --baseline.");
	return rc;
}

static int run(int argc, char **argv)
{
	struct gate_arguments arguments = {.baselines = NULL};
	struct loaded_traces current = {NULL, 0, 0}, baseline = {NULL, 0, 0};
	int status;

	gate_options_init(&arguments.options);
	status = parse(argc, argv, &arguments);
	if (!status)
		status = load_traces(argv[0], argv + optind, (size_t)(argc - optind), true,
				     &current);
	if (!status && arguments.baseline_count)
		status = load_traces(argv[0], arguments.baselines, arguments.baseline_count, true,
				     &baseline);
	if (!status)
		status = judge(&arguments, &current, &baseline);
	load_traces_free(&current);
	load_traces_free(&baseline);
	free(arguments.baselines);
	return status < 0 ? EXIT_OK : status;
}

const struct command command_gate = {
	.name = "gate",
	.summary = "pass or fail, against limits or a baseline",
	.usage = usage,
	.run = run,
};
