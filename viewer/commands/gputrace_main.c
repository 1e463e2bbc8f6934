/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace: finds the subcommand and runs it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array_len.h"
#include "command.h"
#include "log.h"
#include "version.h"

#define COMMAND(command_name) extern const struct command command_##command_name;
#include "commands.def"
#undef COMMAND

const struct command *const commands_all[] = {
#define COMMAND(command_name) &command_##command_name,
#include "commands.def"
#undef COMMAND
};

unsigned commands_count(void)
{
	return ARRAY_LEN(commands_all);
}

const struct command *commands_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands_all); i++) {
		if (!strcmp(commands_all[i]->name, name))
			return commands_all[i];
	}
	return NULL;
}

int command_usage_error(const char *name, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "gputrace %s: ", name);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\nTry: gputrace %s --help\n", name);
	return EXIT_USAGE;
}

int command_print_help(const char *name)
{
	fputs(commands_find(name)->usage, stdout);
	return EXIT_OK;
}

bool command_has_colour(void)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_colour && *no_colour) && term &&
	       strcmp(term, "dumb") != 0;
}

/* Results that did not reach stdout are no success: a full disk must not look like an empty report.
 */
static int finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, "gputrace: Cannot write the output.\n");
	return status == EXIT_OK ? 1 : status;
}

int main(int argc, char **argv)
{
	const struct command *command;
	const char *name = argc > 1 ? argv[1] : "help";

	log_set_level(getenv("GPUTRACE_LOG") ? log_level_from_text(getenv("GPUTRACE_LOG"))
					     : LOG_WARN);
	if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
		printf("gputrace %s\n", GPUTRACE_VERSION);
		return finish(EXIT_OK);
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	command = commands_find(name);
	if (!command) {
		fprintf(stderr, "gputrace: There is no command \"%s\".\nTry: gputrace help\n",
			name);
		return EXIT_USAGE;
	}
	if (argc < 2)
		return finish(command->run(1, (char *[]){(char *)"help", NULL}));
	return finish(command->run(argc - 1, argv + 1));
}
