/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact log (SIMCUDA_LOG), the truth that the tests compare a report with. Each event is one
 * write() to a file opened for appending, so that it is complete up to the moment of a SIGKILL and
 * processes can share a file. The order of lines is the order of sequence numbers.
 */
#include "sim_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_SIZE = 2 * SIM_LOG_FIELDS_SIZE + 1024 };

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static uint64_t sequence;

void sim_log_open(void)
{
	const char *text = getenv("SIMCUDA_LOG"), *mark;
	char path[4096];

	if (!text || !*text)
		return;
	mark = strstr(text, "%p");
	if (mark)
		snprintf(path, sizeof(path), "%.*s%d%s", (int)(mark - text), text, (int)getpid(),
			 mark + 2);
	else
		snprintf(path, sizeof(path), "%s", text);
	log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (log_fd < 0)
		fprintf(stderr, "simcuda: cannot open SIMCUDA_LOG \"%s\"\n", path);
	sim_state.has_log = log_fd >= 0;
}

void sim_log_reset_after_fork(void)
{
	pthread_mutex_init(&log_lock, NULL);
}

static void write_line(const char *line, size_t length)
{
	while (length > 0) {
		ssize_t written = write(log_fd, line, length);

		if (written <= 0)
			return;
		line += written;
		length -= (size_t)written;
	}
}

void sim_log_note(struct sim_call *call, const char *format, ...)
{
	char *fields = call->thread->log_fields;
	va_list arguments;
	int length;

	if (!fields) {
		fields = call->thread->log_fields = malloc(SIM_LOG_FIELDS_SIZE);
		if (!fields)
			return;
	}
	if (call->log_used + 2 >= SIM_LOG_FIELDS_SIZE)
		return;
	fields[call->log_used++] = '\t';
	va_start(arguments, format);
	length = vsnprintf(fields + call->log_used, SIM_LOG_FIELDS_SIZE - call->log_used, format,
			   arguments);
	va_end(arguments);
	if (length > 0)
		call->log_used += (size_t)length;
	if (call->log_used > SIM_LOG_FIELDS_SIZE - 1)
		call->log_used = SIM_LOG_FIELDS_SIZE - 1;
}

void sim_log_call(struct sim_call *call, CUresult result)
{
	char line[LINE_SIZE];
	int length, more = 0;

	pthread_mutex_lock(&log_lock);
	length = snprintf(line, sizeof(line), "call\t%" PRIu64 "\t%d\t%s\t%d%.*s\n", ++sequence,
			  call->thread->tid, call->function, (int)result, (int)call->log_used,
			  call->log_used > 0 ? call->thread->log_fields : "");
	if (call->live_is_changed)
		more = snprintf(line + length, sizeof(line) - (size_t)length, "%s",
				call->thread->live_lines ? call->thread->live_lines : "");
	write_line(line, (size_t)length + (size_t)more);
	pthread_mutex_unlock(&log_lock);
}

static const char *direction_name(int direction)
{
	switch (direction) {
	case 1:
		return "h2d";
	case 2:
		return "d2h";
	case 9:
		return "h2h";
	case 10:
		return "peer";
	default:
		return "d2d";
	}
}

void sim_log_activity(const struct simcuda_activity *activity)
{
	static const char *const kinds[] = {"", "kernel", "copy", "set", "", "graph", "migration"};
	char line[LINE_SIZE];
	int length;

	if (activity->kind < 1 || activity->kind > 6 || activity->kind == 4)
		return;
	length = snprintf(line, sizeof(line),
			  "gpu\t%" PRIu32 "\t%s\t%" PRIu64 "\t%" PRIu64 "\tstream=%" PRIu32,
			  activity->correlation, kinds[activity->kind], activity->begin_ns,
			  activity->end_ns, activity->stream);
	if (activity->graph_node)
		length += snprintf(line + length, 100, "\tgraph=%" PRIu32 "\tnode=%" PRIu64,
				   activity->graph, activity->graph_node);
	if (activity->kind == 5)
		length += snprintf(line + length, 100, "\tgraph=%" PRIu32 "\tnodes=%" PRIu32 "\n",
				   activity->graph, activity->graph_nodes);
	else if (activity->kind == 1)
		length +=
			snprintf(line + length, SIM_LOG_FIELDS_SIZE, "\tname=%s\n", activity->name);
	else if (activity->kind == 2 || activity->kind == 6)
		length += snprintf(line + length, 100, "\tbytes=%" PRIu64 "\tdirection=%s\n",
				   activity->bytes, direction_name(activity->direction));
	else
		length += snprintf(line + length, 100, "\tbytes=%" PRIu64 "\n", activity->bytes);
	if (length > (int)sizeof(line) - 1)
		length = (int)sizeof(line) - 1;
	pthread_mutex_lock(&log_lock);
	write_line(line, (size_t)length);
	pthread_mutex_unlock(&log_lock);
}

void simcuda_log(const char *tag, const char *function, int result, const char *format, ...)
{
	char line[LINE_SIZE];
	va_list arguments;
	int length;

	if (!sim_state.has_log)
		return;
	pthread_mutex_lock(&log_lock);
	length = snprintf(line, sizeof(line), "%s\t%" PRIu64 "\t%d\t%s\t%d\t", tag, ++sequence,
			  sim_call_thread()->tid, function, result);
	if (length > 0 && (size_t)length < sizeof(line) - 1) {
		va_start(arguments, format);
		length +=
			vsnprintf(line + length, sizeof(line) - (size_t)length, format, arguments);
		va_end(arguments);
	}
	if (length > (int)sizeof(line) - 2)
		length = (int)sizeof(line) - 2;
	line[length++] = '\n';
	write_line(line, (size_t)length);
	pthread_mutex_unlock(&log_lock);
}
