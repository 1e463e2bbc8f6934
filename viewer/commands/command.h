/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a subcommand is, and what all of them share.
 */
#ifndef GPUTRACE_COMMANDS_COMMAND_H
#define GPUTRACE_COMMANDS_COMMAND_H

#include <stdbool.h>

/* `record` passes the status of its child on instead. */
enum exit_status {
	EXIT_OK = 0,
	EXIT_GATE_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NOT_JUDGED = 3, /* inconclusive, not comparable, too few samples */
	EXIT_UNREADABLE = 4,
};

struct command {
	const char *name;		   /* filled in from the row */
	const char *summary;		   /* one line for the list of commands */
	const char *usage;		   /* what --help prints */
	int (*run)(int argc, char **argv); /* argv[0] is the name; gives an exit status */
};

extern const struct command *const commands_all[];
unsigned commands_count(void);
const struct command *commands_find(const char *name);

/* Prints "gputrace NAME: <sentence>" and how to get help on stderr; gives EXIT_USAGE. */
int command_usage_error(const char *name, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints the command's help on stdout; gives EXIT_OK. */
int command_print_help(const char *name);
/* Whether stdout shows colours: a terminal, NO_COLOR unset, TERM not "dumb". */
bool command_has_colour(void);

#endif
