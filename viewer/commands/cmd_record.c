/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace record: runs a command with the shim preloaded. It becomes the command by exec, so that
 * signals, job control, the process id and the exit status are the command's own.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array_len.h"
#include "command.h"
#include "text.h"

/* As env(1), timeout(1) and shells have it. */
enum { EXIT_RECORD_FAILED = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

static const char usage[] =
	"usage: gputrace record [-o DIRECTORY] [--name NAME] [--gpu cupti|off] [--dry-run] -- "
	"COMMAND...\n"
	"\n"
	"Runs COMMAND with libgputrace.so preloaded; each of its processes that uses CUDA writes "
	"one\n"
	".gtrace file. What LD_PRELOAD holds already is kept.\n"
	"\n"
	"  -o, --output DIRECTORY  where the files go; default: the current directory\n"
	"  --name NAME             first part of the files' names; default: the program's name\n"
	"  --gpu cupti|off         off records host calls only\n"
	"  --keep-last TIME        keep only the last part of the run, such as 10m (a flight "
	"recorder)\n"
	"  --max-size SIZE         keep the file below this size, such as 2G, by dropping its "
	"oldest "
	"part\n"
	"  --dry-run               print what would be set and run, and do nothing\n"
	"\n"
	"All other settings are environment variables (GPUTRACE_*) and are passed on as they are.\n"
	"\n"
	"Exit status: the command's own; 125 when recording cannot be set up, 126 when the command "
	"cannot\n"
	"be run, 127 when it is not found, 2 for wrong usage.\n";

struct record_options {
	const char *output, *name, *gpu, *keep_last, *max_size;
	bool is_dry_run;
};

/* Beside this program, then where an installation has it. */
static char *find_shim(void)
{
	static const char *const places[] = {
		"libgputrace.so", "../lib/libgputrace.so", "../lib64/libgputrace.so",
		"../lib/gputrace/libgputrace.so", "../libexec/gputrace/libgputrace.so"};
	char self[PATH_MAX], resolved[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (length <= 0)
		return NULL;
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		char *path = text_format("%s/%s", self, places[i]);
		bool is_there = realpath(path, resolved) && !access(resolved, R_OK);

		free(path);
		if (is_there)
			return text_format("%s", resolved);
	}
	return NULL;
}

/* The user's libraries stay first, in their order: a sanitizer insists on it. */
static char *preload_list(const char *shim)
{
	const char *before = getenv("LD_PRELOAD");

	if (!before || !*before)
		return text_format("%s", shim);
	if (strstr(before, shim))
		return text_format("%s", before);
	return text_format("%s:%s", before, shim);
}

static int set_variable(const struct record_options *options, const char *name, const char *value)
{
	if (options->is_dry_run)
		printf("%s=%s\n", name, value);
	else if (setenv(name, value, 1)) {
		fprintf(stderr, "gputrace record: Cannot set %s: %s\n", name, strerror(errno));
		return EXIT_RECORD_FAILED;
	}
	return 0;
}

/* Absolute, because the command may change its directory before it uses CUDA. */
static int output_directory(const struct record_options *options, char resolved[PATH_MAX])
{
	const char *wanted = options->output ? options->output : getenv("GPUTRACE_OUT");
	struct stat status;

	if (!wanted || !*wanted)
		wanted = ".";
	if (!options->is_dry_run && options->output && mkdir(wanted, 0777) && errno != EEXIST) {
		fprintf(stderr, "gputrace record: Cannot create %s: %s\n", wanted, strerror(errno));
		return EXIT_RECORD_FAILED;
	}
	if (!realpath(wanted, resolved)) {
		if (options->is_dry_run) {
			snprintf(resolved, PATH_MAX, "%s", wanted);
			return 0;
		}
		fprintf(stderr, "gputrace record: Cannot use %s: %s\n", wanted, strerror(errno));
		return EXIT_RECORD_FAILED;
	}
	if (stat(resolved, &status) || !S_ISDIR(status.st_mode) || access(resolved, W_OK)) {
		fprintf(stderr, "gputrace record: %s is no directory that can be written to.\n",
			wanted);
		return EXIT_RECORD_FAILED;
	}
	return 0;
}

static int prepare(const struct record_options *options, const char *shim)
{
	char directory[PATH_MAX];
	char *preload;
	int rc = output_directory(options, directory);

	if (rc)
		return rc;
	preload = preload_list(shim);
	rc = set_variable(options, "LD_PRELOAD", preload);
	free(preload);
	if (!rc)
		rc = set_variable(options, "GPUTRACE_OUT", directory);
	if (!rc && options->name)
		rc = set_variable(options, "GPUTRACE_NAME", options->name);
	if (!rc && options->gpu)
		rc = set_variable(options, "GPUTRACE_GPU", options->gpu);
	if (!rc && options->keep_last)
		rc = set_variable(options, "GPUTRACE_KEEP_LAST", options->keep_last);
	if (!rc && options->max_size)
		rc = set_variable(options, "GPUTRACE_MAX_SIZE", options->max_size);
	return rc;
}

static int run_command(const struct record_options *options, char **command)
{
	char *shim = find_shim();
	int rc;

	if (!shim) {
		fprintf(stderr,
			"gputrace record: Cannot find libgputrace.so beside this program or in "
			"../lib.\n");
		return EXIT_RECORD_FAILED;
	}
	if (strpbrk(shim, " :")) {
		fprintf(stderr,
			"gputrace record: %s cannot be preloaded: its path has a space or a "
			"colon.\n",
			shim);
		free(shim);
		return EXIT_RECORD_FAILED;
	}
	rc = prepare(options, shim);
	free(shim);
	if (rc)
		return rc;
	if (options->is_dry_run) {
		for (size_t i = 0; command[i]; i++)
			printf("%s%s", i ? " " : "", command[i]);
		putchar('\n');
		return EXIT_OK;
	}
	fflush(stdout);
	execvp(command[0], command);
	rc = errno;
	fprintf(stderr, "gputrace record: Cannot run %s: %s\n", command[0], strerror(rc));
	return rc == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* A whole number, maybe with one of the letters behind it. */
static bool is_amount(const char *text, const char *units)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && digits < 10 &&
	       (!text[digits] || (strchr(units, text[digits]) && !text[digits + 1]));
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"output", required_argument, NULL, 'o'},
		{"name", required_argument, NULL, 'n'},
		{"gpu", required_argument, NULL, 'g'},
		{"dry-run", no_argument, NULL, 'd'},
		{"keep-last", required_argument, NULL, 'k'},
		{"max-size", required_argument, NULL, 'm'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct record_options options = {0};
	int option;

	optind = 0;
	opterr = 0;
	/* "+": the command's own options are not ours, even without "--". */
	while ((option = getopt_long(argc, argv, "+o:h", long_options, NULL)) != -1) {
		switch (option) {
		case 'o':
			options.output = optarg;
			break;
		case 'n':
			options.name = optarg;
			break;
		case 'g':
			if (strcmp(optarg, "cupti") != 0 && strcmp(optarg, "off") != 0)
				return command_usage_error(
					argv[0], "--gpu is cupti or off, not \"%s\".", optarg);
			options.gpu = optarg;
			break;
		case 'k':
			if (!is_amount(optarg, "smhd"))
				return command_usage_error(argv[0],
							   "--keep-last takes a time such as 90s, "
							   "10m or 2h, not \"%s\".",
							   optarg);
			options.keep_last = optarg;
			break;
		case 'm':
			if (!is_amount(optarg, "KMGT"))
				return command_usage_error(argv[0],
							   "--max-size takes a size such as 512M "
							   "or 2G, not \"%s\".",
							   optarg);
			options.max_size = optarg;
			break;
		case 'd':
			options.is_dry_run = true;
			break;
		case 'h':
			return command_print_help("record");
		default:
			return command_usage_error(argv[0],
						   "The option \"%s\" is unknown or lacks its "
						   "value.",
						   argv[optind - 1]);
		}
	}
	if (optind == argc)
		return command_usage_error(argv[0], "Name the command to record, after \"--\".");
	return run_command(&options, argv + optind);
}

const struct command command_record = {
	.name = "record",
	.summary = "run a command and record what its GPU work does",
	.usage = usage,
	.run = run,
};
