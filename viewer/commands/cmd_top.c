/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace top: where the time of a running job goes, over its last seconds.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "error.h"
#include "json.h"
#include "live_session.h"
#include "live_text.h"
#include "model.h"
#include "report_data.h"
#include "report_json.h"

static const char usage[] =
	"usage: gputrace top [--window S] [--interval S] [--count N] [--json] PID|TRACE\n"
	"\n"
	"Shows the ledger and the first findings of a job that is being recorded, over its last\n"
	"seconds, and again and again until it ends. PID is the job or its collector (gputrace "
	"ps).\n"
	"\n"
	"  --window S     seconds that the figures are of, 0.1 to 3600 (default 10)\n"
	"  --interval S   seconds between two screens, 0.1 to 3600 (default 2)\n"
	"  --count N      stop after N screens (default: when the job ends)\n"
	"  --json         print JSON (schema gputrace.report/1), one document per screen\n"
	"\n"
	"Exit status: 0, 2 wrong usage, 4 when PID is not being recorded by this user or the "
	"trace\n"
	"cannot be read.\n";

struct top_options {
	double window_s, interval_s;
	long count; /* 0: until the job ends */
	bool is_json;
};

/* The process id that the argument is, 0 when it is a file. */
static pid_t process_of(const char *target)
{
	char *end;
	long pid = strtol(target, &end, 10);

	return *end || end == target || pid <= 0 ? 0 : (pid_t)pid;
}

/* Where the trace of the target is and a line about it. False when it is no longer recorded. */
static bool look_up(const char *target, char *path, size_t path_bytes, char *title,
		    size_t title_bytes)
{
	pid_t pid = process_of(target);
	struct live_sessions sessions;
	struct live_session *session;
	struct error err = {0};
	bool found = false;

	if (!pid) {
		snprintf(path, path_bytes, "%s", target);
		snprintf(title, title_bytes, "%s", target);
		return access(target, R_OK) == 0;
	}
	if (live_sessions_find(&sessions, &err) < 0)
		return false;
	session = live_sessions_of(&sessions, pid);
	if (session) {
		snprintf(path, path_bytes, "%s", session->trace_path);
		snprintf(title, title_bytes, "%d %s: %s", session->job, live_session_state(session),
			 session->command);
		found = true;
	}
	live_sessions_free(&sessions);
	return found;
}

static void print_screen(const struct model *model, const struct live_head *head,
			 const struct top_options *options)
{
	const struct model *models[] = {model};
	bool has_colour = command_has_colour();
	struct report_data report;

	report_data_build(models, 1, &report);
	if (options->is_json) {
		struct json *json = json_new("gputrace.report/1", false);

		report_json_add(json, &report);
		json_finish(json, stdout);
	} else {
		if (has_colour)
			fputs("\x1b[H\x1b[2J", stdout);
		live_text_print(head, &report, stdout, has_colour);
	}
	fflush(stdout);
	report_data_free(&report);
}

static double now_realtime_s(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* One screen from what is in the file by now. */
static int show(const char *path, const char *title, const struct top_options *options)
{
	struct live_head head = {.title = title, .window_s = options->window_s};
	const struct trace_health *health;
	struct model_source source;
	struct error err = {0};
	struct model *model = NULL;
	struct trace *trace;
	int64_t end_ns;

	if (trace_open_live(path, &trace, &err) < 0) {
		fprintf(stderr, "gputrace top: %s.\n", err.text);
		return EXIT_UNREADABLE;
	}
	health = trace_health(trace);
	/* GPU records come later than host records; the figures end where both are there. */
	end_ns = health->host_complete_ns;
	if (health->gpu_complete_ns > 0 && health->gpu_complete_ns < end_ns)
		end_ns = health->gpu_complete_ns;
	trace_set_window(trace, end_ns - (int64_t)(options->window_s * 1e9), end_ns);
	head.behind_s = now_realtime_s() - (double)trace_start_realtime_ns(trace) / 1e9 -
			(double)end_ns / 1e9;
	source = model_source_of_trace(trace);
	if (model_build(&source, &model, &err) < 0) {
		fprintf(stderr, "gputrace top: %s.\n", err.text);
		trace_close(trace);
		return EXIT_UNREADABLE;
	}
	print_screen(model, &head, options);
	model_free(model);
	trace_close(trace);
	return EXIT_OK;
}

static int watch(const char *target, const struct top_options *options)
{
	struct timespec pause = {
		.tv_sec = (time_t)options->interval_s,
		.tv_nsec =
			(long)((options->interval_s - (double)(time_t)options->interval_s) * 1e9),
	};
	static char path[PATH_MAX];
	char title[384];
	int status = EXIT_OK;

	for (long screens = 0; !options->count || screens < options->count; screens++) {
		if (screens > 0)
			nanosleep(&pause, NULL);
		if (!look_up(target, path, sizeof(path), title, sizeof(title))) {
			if (screens > 0)
				break; /* the job has ended */
			fprintf(stderr,
				"gputrace top: %s is not being recorded, or not by this user. "
				"`gputrace ps` lists what is.\n",
				target);
			return EXIT_UNREADABLE;
		}
		status = show(path, title, options);
		if (status)
			break;
		/* A file does not say whether more comes. */
		if (!process_of(target) && !options->count)
			break;
	}
	return status;
}

/* Seconds within bounds, 0 when the text is none. */
static double seconds_of(const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	return *end || end == text || !(seconds >= 0.1 && seconds <= 3600) ? 0 : seconds;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"window", required_argument, NULL, 'w'},
		{"interval", required_argument, NULL, 'i'},
		{"count", required_argument, NULL, 'n'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct top_options options = {.window_s = 10, .interval_s = 2};
	int option;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		switch (option) {
		case 'w':
			options.window_s = seconds_of(optarg);
			break;
		case 'i':
			options.interval_s = seconds_of(optarg);
			break;
		case 'n':
			options.count = strtol(optarg, NULL, 10);
			if (options.count <= 0)
				return command_usage_error(argv[0],
							   "--count takes a number from 1 on.");
			break;
		case 'j':
			options.is_json = true;
			break;
		case 'h':
			return command_print_help("top");
		default:
			return command_usage_error(
				argv[0], "The option \"%s\" is unknown or lacks its value.",
				argv[optind - 1]);
		}
	}
	if (!(options.window_s > 0 && options.interval_s > 0))
		return command_usage_error(
			argv[0], "--window and --interval take seconds from 0.1 to 3600.");
	if (optind + 1 != argc)
		return command_usage_error(argv[0], "Name one process or one trace.");
	return watch(argv[optind], &options);
}

const struct command command_top = {
	.name = "top",
	.summary = "the ledger of a running job, live",
	.usage = usage,
	.run = run,
};
