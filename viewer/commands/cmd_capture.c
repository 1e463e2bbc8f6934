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
	"       gputrace capture nodes|whole PID...\n"
	"       gputrace capture mark TEXT PID...\n"
	"\n"
	"Controls jobs that are being recorded; `gputrace ps` lists them. PID is the job or its\n"
	"collector.\n"
	"\n"
	"  off    record nothing from now on; each wrapped call then costs one branch. The time "
	"until\n"
	"         `on` is in the trace as a range and counts as unknown\n"
	"  on     record again\n"
	"  nodes  time every node of the graphs that are instantiated from now on\n"
	"  whole  time their launches as wholes\n"
	"  mark   put TEXT (at most 248 bytes) into the trace as an instant\n"
	"\n"
	"Exit status: 0, 2 wrong usage, 4 when a PID is not being recorded by this user.\n";

#define MARK_WAIT_MS 2000

/* Verbs that switch something, and to what. */
static const struct {
	const char *verb;
	int is_on;	 /* capture_enabled, -1: not changed */
	uint32_t graphs; /* enum ring_graphs */
} switches[] = {
	{"off", 0, RING_GRAPHS_AS_STARTED},
	{"on", 1, RING_GRAPHS_AS_STARTED},
	{"nodes", -1, RING_GRAPHS_NODES},
	{"whole", -1, RING_GRAPHS_WHOLE},
};

static size_t find_switch(const char *verb)
{
	size_t at = 0;

	while (at < sizeof(switches) / sizeof(switches[0]) && strcmp(switches[at].verb, verb) != 0)
		at++;
	return at;
}

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

/* The job's GPU thread looks ten times a second. */
static int switch_graphs(struct ring_control *control, uint32_t wanted, long pid)
{
	uint32_t graphs = atomic_load_explicit(&control->graphs_now, memory_order_acquire);

	if (graphs == RING_GRAPHS_AS_STARTED) {
		fprintf(stderr, "gputrace capture: Process %ld has no GPU times from CUPTI.\n",
			pid);
		return EXIT_UNREADABLE;
	}
	/* A refusal of an earlier time is asked again. */
	if (graphs == RING_GRAPHS_REFUSED)
		atomic_store(&control->graphs_now, RING_GRAPHS_AS_STARTED);
	atomic_store_explicit(&control->graphs_wanted, wanted, memory_order_release);
	for (int waited_ms = 0; waited_ms < MARK_WAIT_MS; waited_ms++) {
		graphs = atomic_load_explicit(&control->graphs_now, memory_order_acquire);
		if (graphs == wanted)
			return EXIT_OK;
		if (graphs == RING_GRAPHS_REFUSED) {
			fprintf(stderr,
				"gputrace capture: The CUPTI of process %ld cannot be switched "
				"safely (CUDA 13.0 and 13.1), or refused; GPUTRACE_GRAPHS chooses "
				"at the start.\n",
				pid);
			return EXIT_UNREADABLE;
		}
		pause_ms();
	}
	fprintf(stderr,
		"gputrace capture: Process %ld does not answer; it may be stopped, or its own "
		"profiler has CUPTI.\n",
		pid);
	return EXIT_UNREADABLE;
}

static int control_one(const struct live_sessions *sessions, const char *verb, const char *text,
		       const char *number)
{
	char *end;
	long pid = strtol(number, &end, 10);
	struct live_session *session;
	size_t at;

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
	at = find_switch(verb);
	if (switches[at].is_on < 0)
		return switch_graphs(session->control, switches[at].graphs, pid);
	atomic_store_explicit(&session->control->capture_enabled, (uint32_t)switches[at].is_on,
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
	} else if (find_switch(verb) == sizeof(switches) / sizeof(switches[0])) {
		return command_usage_error(argv[0], "Say on, off, nodes, whole or mark.");
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
