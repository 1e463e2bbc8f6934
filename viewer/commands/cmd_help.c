/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace help: the list of commands, or one command's usage.
 */
#include <stdio.h>
#include <string.h>

#include "command.h"

static const char usage[] = "usage: gputrace help [COMMAND]\n"
			    "\n"
			    "Lists the commands, or prints how one is used.\n";

static int run(int argc, char **argv)
{
	if (argc > 2)
		return command_usage_error(argv[0], "Name one command.");
	if (argc == 2 && strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0) {
		const struct command *command = commands_find(argv[1]);

		if (!command)
			return command_usage_error(argv[0], "There is no command \"%s\".", argv[1]);
		return command_print_help(command->name);
	}
	printf("gputrace records what a CUDA job did and says why it is slow.\n"
	       "\n"
	       "  gputrace record -- python train.py\n"
	       "  gputrace report *.gtrace\n"
	       "\n"
	       "Commands:\n");
	for (unsigned i = 0; i < commands_count(); i++)
		printf("  %-12s %s\n", commands_all[i]->name, commands_all[i]->summary);
	printf("\n"
	       "gputrace COMMAND --help says more; gputrace --version prints the version.\n"
	       "Exit status: 0 ok, 1 gate failed, fault found or output not written, 2 usage, 3 "
	       "could\n"
	       "not be judged, 4 unreadable input; record passes its command's status on.\n");
	return EXIT_OK;
}

const struct command command_help = {
	.name = "help",
	.summary = "this list, or how a command is used",
	.usage = usage,
	.run = run,
};
