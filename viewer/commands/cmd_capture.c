/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace capture: switches the recording of a running job off and on, or puts a mark into it.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "error.h"
#include "live_session.h"
#include "ring.h"

static const char usage[] =
	"usage: gputrace capture on|off PID...\n"
	"       gputrace capture mark TEXT PID...\n"
	"\n"
	"Controls jobs that are being recorded; `gputrace ps` lists them. PID is the job or its\n"
	"collector.\n"
	"\n"
	"  off    record nothing from now on; each wrapped call then costs one branch. The time "
	"until\n"
	"         `on` is in the trace as a range and counts as unknown\n"
	"  on     record again\n"
	"  mark   put TEXT (at most 248 bytes) into the trace as an instant\n"
	"\n"
	"Exit status: 0, 2 wrong usage, 4 when a PID is not being recorded by this user.\n";

#define MARK_WAIT_MS 2000

static void pause_ms(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	nanosleep(&pause, NULL);
}

/* The collector takes a mark within a few milliseconds; a stopped one never does. */
static bool put_mark(struct ring_control *control, const char *text)
{
	uint32_t free_state = RING_MARK_FREE;
	size_t bytes = strlen(text);
	int waited_ms = 0;

	while (!atomic_compare_exchange_strong(&control->mark_state, &free_state,
					       RING_MARK_WRITING)) {
		free_state = RING_MARK_FREE;
		if (++waited_ms > MARK_WAIT_MS)
			return false;
		pause_ms();
	}
	memcpy(control->mark_text, text, bytes);
	control->mark_bytes = (uint32_t)bytes;
	atomic_store_explicit(&control->mark_state, RING_MARK_READY, memory_order_release);
	for (waited_ms = 0; waited_ms < MARK_WAIT_MS; waited_ms++) {
		if (atomic_load_explicit(&control->mark_state, memory_order_acquire) !=
		    RING_MARK_READY)
			return true;
		pause_ms();
	}
	return false;
}

static int control_one(const struct live_sessions *sessions, const char *verb, const char *text,
		       const char *number)
{
	char *end;
	long pid = strtol(number, &end, 10);
	struct live_session *session;

	if (*end || end == number || pid <= 0)
		return command_usage_error("capture", "\"%s\" is no process id.", number);
	session = live_sessions_of(sessions, (pid_t)pid);
	if (!session) {
		fprintf(stderr,
			"gputrace capture: Process %ld is not being recorded, or not by this user. "
			"`gputrace ps` lists those that are.\n",
			pid);
		return EXIT_UNREADABLE;
	}
	if (text) {
		if (put_mark(session->control, text))
			return EXIT_OK;
		fprintf(stderr,
			"gputrace capture: The collector of process %ld does not answer; the mark "
			"may be missing.\n",
			pid);
		return EXIT_UNREADABLE;
	}
	atomic_store_explicit(&session->control->capture_enabled, !strcmp(verb, "on"),
			      memory_order_release);
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	const char *verb, *text = NULL;
	struct live_sessions sessions;
	struct error err = {0};
	int first = 2, status = EXIT_OK;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return command_print_help("capture");
	verb = argc > 1 ? argv[1] : "";
	if (!strcmp(verb, "mark")) {
		text = argc > 2 ? argv[2] : NULL;
		first = 3;
		if (!text || !*text || strlen(text) > sizeof(((struct ring_control *)0)->mark_text))
			return command_usage_error(argv[0],
						   "A mark takes a text of 1 to %zu bytes.",
						   sizeof(((struct ring_control *)0)->mark_text));
	} else if (strcmp(verb, "on") != 0 && strcmp(verb, "off") != 0) {
		return command_usage_error(argv[0], "Say on, off or mark.");
	}
	if (first >= argc)
		return command_usage_error(argv[0], "Name at least one process.");
	if (live_sessions_find(&sessions, &err) < 0) {
		fprintf(stderr, "gputrace capture: %s.\n", err.text);
		return EXIT_UNREADABLE;
	}
	for (int i = first; i < argc && status != EXIT_USAGE; i++) {
		int one = control_one(&sessions, verb, text, argv[i]);

		status = one ? one : status;
	}
	live_sessions_free(&sessions);
	return status;
}

const struct command command_capture = {
	.name = "capture",
	.summary = "switch the recording of a running job on and off, mark it",
	.usage = usage,
	.run = run,
};
