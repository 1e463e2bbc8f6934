/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace recover: a complete trace file of what is undamaged in a damaged one.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "error.h"
#include "trace_recover.h"

static const char usage[] =
	"usage: gputrace recover [-o FILE] TRACE\n"
	"\n"
	"Writes what is undamaged in a damaged or cut trace to a new, complete file. The new file\n"
	"says what is missing, and so do its reports. TRACE itself is not changed.\n"
	"\n"
	"  -o, --output FILE   name of the new file; it must not exist\n"
	"                      (default: TRACE with .recovered before .gtrace)\n"
	"\n"
	"Exit status: 0, 2 wrong usage, 4 when nothing can be recovered or written.\n";

/* x.gtrace -> x.recovered.gtrace */
static char *default_output(const char *path)
{
	static const char suffix[] = ".gtrace", middle[] = ".recovered";
	size_t stem = strlen(path), bytes = stem + sizeof(middle) + sizeof(suffix);
	char *output = malloc(bytes);

	if (stem > sizeof(suffix) - 1 && !strcmp(path + stem - (sizeof(suffix) - 1), suffix))
		stem -= sizeof(suffix) - 1;
	if (output)
		snprintf(output, bytes, "%.*s%s%s", (int)stem, path, middle, suffix);
	return output;
}

static void print_result(const char *output, const struct trace_recovery *recovery)
{
	printf("%s: %" PRIu64 " records in %" PRIu64 " chunks, %" PRIu64 " bytes.\n", output,
	       recovery->records, recovery->chunks, recovery->bytes);
	if (recovery->lost_chunks)
		printf("  Damaged chunks left out: %" PRIu64 ", with about %" PRIu64 " records.\n",
		       recovery->lost_chunks, recovery->lost_records);
	if (recovery->gap_bytes)
		printf("  Bytes that were part of no chunk: %" PRIu64
		       "; what they held is unknown.\n",
		       recovery->gap_bytes);
	if (recovery->is_head_rebuilt)
		printf("  The head was damaged and is made anew; the session's id is lost.\n");
	if (!recovery->had_end)
		printf("  The trace had no end; the new file says \"killed\".\n");
}

static int recover(const char *path, const char *output)
{
	struct trace_recovery recovery;
	struct error err = {0};
	int fd = open(output, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0) {
		fprintf(stderr, "gputrace recover: Cannot create %s: %s.%s\n", output,
			strerror(errno), errno == EEXIST ? " Name another file with -o." : "");
		return EXIT_UNREADABLE;
	}
	rc = trace_recover(path, fd, &recovery, &err);
	if (close(fd) < 0 && rc == 0)
		rc = error_set(&err, -errno, "Cannot write %s: %s", output, strerror(errno));
	if (rc < 0) {
		unlink(output);
		fprintf(stderr, "gputrace recover: %s.\n", err.text);
		return EXIT_UNREADABLE;
	}
	print_result(output, &recovery);
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"output", required_argument, NULL, 'o'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *output = NULL;
	char *made;
	int option, status;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "o:h", long_options, NULL)) != -1) {
		if (option == 'o')
			output = optarg;
		else if (option == 'h')
			return command_print_help("recover");
		else
			return command_usage_error(
				argv[0], "The option \"%s\" is unknown or lacks its value.",
				argv[optind - 1]);
	}
	if (optind + 1 != argc)
		return command_usage_error(argv[0], "Name exactly one trace.");
	made = output ? NULL : default_output(argv[optind]);
	status = recover(argv[optind], output ? output : made);
	free(made);
	return status;
}

const struct command command_recover = {
	.name = "recover",
	.summary = "a complete file of what is undamaged in a damaged one",
	.usage = usage,
	.run = run,
};
