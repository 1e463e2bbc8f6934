/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes for the tests of the simulated stack, and the reader of the driver's exact log.
 */
#include "simtest_child.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char log_path[64];

static void remove_log(void)
{
	if (*log_path)
		unlink(log_path);
}

static void prepare_log(void)
{
	int fd;

	if (!*log_path) {
		strcpy(log_path, "/tmp/simtest-log-XXXXXX");
		fd = mkstemp(log_path);
		if (fd >= 0)
			close(fd);
		atexit(remove_log);
	}
	if (truncate(log_path, 0))
		perror("truncate");
}

static void apply_settings(const char *const settings[])
{
	setenv("SIMCUDA_LOG", log_path, 1);
	setenv("SIMCUDA_TIME_SCALE", "0", 1);
	for (size_t i = 0; settings && settings[i]; i++) {
		char setting[512], *value;

		snprintf(setting, sizeof(setting), "%s", settings[i]);
		value = strchr(setting, '=');
		if (!value)
			continue;
		*value++ = '\0';
		setenv(setting, value, 1);
	}
}

static int wait_for(pid_t pid)
{
	int status = 0;

	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int simtest_child_run(void (*body)(void), const char *const settings[])
{
	pid_t pid;

	prepare_log();
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		apply_settings(settings);
		body();
		fflush(NULL);
		_exit(0);
	}
	return pid < 0 ? -1 : wait_for(pid);
}

int simtest_child_exec(const char *program, const char *const settings[], char *output,
		       size_t output_bytes)
{
	int ends[2];
	size_t used = 0;
	ssize_t got;
	char rest[256];
	pid_t pid;

	prepare_log();
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		apply_settings(settings);
		dup2(ends[1], STDOUT_FILENO);
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	while (used + 1 < output_bytes &&
	       (got = read(ends[0], output + used, output_bytes - 1 - used)) > 0)
		used += (size_t)got;
	output[used] = '\0';
	while (read(ends[0], rest, sizeof(rest)) > 0)
		continue;
	close(ends[0]);
	return pid < 0 ? -1 : wait_for(pid);
}

void simtest_child_check(int holds, const char *text, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
	_exit(1);
}

void simtest_child_equal(long long a, long long b, const char *text_a, const char *text_b,
			 const char *file, int line)
{
	if (a == b)
		return;
	fprintf(stderr, "%s:%d: %s is %lld, not %s, %lld\n", file, line, text_a, a, text_b, b);
	_exit(1);
}

static void split(struct simtest_line *line, char *text)
{
	char *rest = NULL;

	line->text = text;
	for (char *field = strtok_r(text, "\t", &rest);
	     field && line->field_count < (int)(sizeof(line->fields) / sizeof(line->fields[0]));
	     field = strtok_r(NULL, "\t", &rest))
		line->fields[line->field_count++] = field;
}

struct simtest_log *simtest_log_read(void)
{
	struct simtest_log *log = calloc(1, sizeof(*log));
	FILE *file = fopen(log_path, "r");
	char *text = NULL;
	size_t size = 0, room = 0;
	ssize_t length;

	while (log && file && (length = getline(&text, &size, file)) > 0) {
		if (log->count == room) {
			struct simtest_line *more;

			room = room ? room * 2 : 256;
			more = realloc(log->lines, room * sizeof(*more));
			if (!more)
				break;
			log->lines = more;
		}
		if (text[length - 1] == '\n')
			text[length - 1] = '\0';
		log->lines[log->count] = (struct simtest_line){0};
		split(&log->lines[log->count++], text);
		text = NULL;
		size = 0;
	}
	free(text);
	if (file)
		fclose(file);
	return log;
}

void simtest_log_free(struct simtest_log *log)
{
	for (size_t i = 0; log && i < log->count; i++)
		free(log->lines[i].text);
	if (log)
		free(log->lines);
	free(log);
}

const char *simtest_log_field(const struct simtest_line *line, int index)
{
	return line && index < line->field_count ? line->fields[index] : "";
}

const char *simtest_log_value(const struct simtest_line *line, const char *key)
{
	size_t length = strlen(key);

	for (int i = 0; line && i < line->field_count; i++) {
		if (!strncmp(line->fields[i], key, length) && line->fields[i][length] == '=')
			return line->fields[i] + length + 1;
	}
	return "";
}

/* call, rt and blas lines: tag, sequence, thread, function, result, values. */
static bool is_line_of(const struct simtest_line *line, const char *tag, const char *function)
{
	return !strcmp(simtest_log_field(line, 0), tag) &&
	       !strcmp(simtest_log_field(line, 3), function);
}

const struct simtest_line *simtest_log_find(const struct simtest_log *log, const char *tag,
					    const char *function, size_t n)
{
	for (size_t i = 0; i < log->count; i++) {
		if (is_line_of(&log->lines[i], tag, function) && n-- == 0)
			return &log->lines[i];
	}
	return NULL;
}

size_t simtest_log_count(const struct simtest_log *log, const char *tag, const char *function)
{
	size_t count = 0;

	for (size_t i = 0; i < log->count; i++)
		count += is_line_of(&log->lines[i], tag, function);
	return count;
}
