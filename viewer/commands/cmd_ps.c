/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace ps: the jobs that are being recorded on this machine.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "command.h"
#include "error.h"
#include "json.h"
#include "live_session.h"
#include "printable.h"

static const char usage[] =
	"usage: gputrace ps [--json]\n"
	"\n"
	"Lists the jobs of this machine that are being recorded: process, who writes, state, age,\n"
	"threads with a ring, size of the trace file, command. Only those of the own user.\n"
	"\n"
	"  --json   print JSON (schema gputrace.ps/1)\n"
	"\n"
	"Exit status: 0, also when there is none; 4 when /proc cannot be read.\n";

static void print_table(const struct live_sessions *sessions)
{
	if (sessions->count == 0)
		printf("Nothing is being recorded by this user.\n");
	else
		printf("%7s %9s %-9s %9s %7s %10s  %s\n", "PID", "COLLECTOR", "STATE", "AGE s",
		       "THREADS", "FILE MiB", "COMMAND");
	for (size_t i = 0; i < sessions->count; i++) {
		const struct live_session *session = &sessions->items[i];
		struct text command;
		char collector[16];

		snprintf(collector, sizeof(collector), "%d", session->holder);
		text_init(&command);
		text_add_printable(&command, session->command);
		printf("%7d %9s %-9s %9.1f %7u %10.1f  %s\n", session->job,
		       session->holder == session->job ? "thread" : collector,
		       live_session_state(session), live_session_age_s(session),
		       live_session_threads(session), (double)session->trace_bytes / 1048576,
		       text_string(&command));
		text_fini(&command);
	}
	if (sessions->denied)
		printf("Collectors of other users: %zu.\n", sessions->denied);
}

static void print_json(const struct live_sessions *sessions)
{
	struct json *json = json_new("gputrace.ps/1", false);

	json_array(json, "sessions");
	for (size_t i = 0; i < sessions->count; i++) {
		const struct live_session *session = &sessions->items[i];

		json_object(json, NULL);
		json_integer(json, "pid", session->job);
		json_integer(json, "writer_pid", session->holder);
		json_text(json, "state", live_session_state(session));
		json_number(json, "age_s", live_session_age_s(session));
		json_unsigned(json, "threads", live_session_threads(session));
		json_unsigned(json, "unrecorded_calls", live_session_lost(session));
		json_text(json, "trace", session->trace_path);
		json_unsigned(json, "trace_bytes", session->trace_bytes);
		json_text(json, "command", session->command);
		json_end_object(json);
	}
	json_end_array(json);
	json_unsigned(json, "collectors_of_other_users", sessions->denied);
	json_finish(json, stdout);
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct live_sessions sessions;
	struct error err = {0};
	bool is_json = false;
	int option;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		if (option == 'j')
			is_json = true;
		else if (option == 'h')
			return command_print_help("ps");
		else
			return command_usage_error(argv[0], "The option \"%s\" is unknown.",
						   argv[optind - 1]);
	}
	if (optind < argc)
		return command_usage_error(argv[0], "\"%s\" is not understood.", argv[optind]);
	if (live_sessions_find(&sessions, &err) < 0) {
		fprintf(stderr, "gputrace ps: %s.\n", err.text);
		return EXIT_UNREADABLE;
	}
	if (is_json)
		print_json(&sessions);
	else
		print_table(&sessions);
	live_sessions_free(&sessions);
	return EXIT_OK;
}

const struct command command_ps = {
	.name = "ps",
	.summary = "the jobs that are being recorded on this machine",
	.usage = usage,
	.run = run,
};
