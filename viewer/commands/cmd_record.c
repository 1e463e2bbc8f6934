/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace record: runs a command with the shim preloaded. It becomes the command by exec, so that
 * signals, job control, the process id and the exit status are the command's own.
 */
#include <errno.h>
#include <getopt.h>
#include <libgen.h>
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
	"usage: gputrace record [-o DIRECTORY] [--name NAME] [--gpu cupti|events|off]\n"
	"                       [--keep-last TIME] [--max-size SIZE] [--no-deepbind] [--dry-run]\n"
	"                       -- COMMAND...\n"
	"\n"
	"Runs COMMAND with libgputrace.so preloaded; each of its processes that uses CUDA writes "
	"one\n"
	".gtrace file. What LD_PRELOAD holds already is kept.\n"
	"\n"
	"  -o, --output DIRECTORY  where the files go; default: the current directory\n"
	"  --name NAME             first part of the files' names; default: the program's name\n"
	"  --gpu WHERE             GPU times from: cupti (default); events: pairs of events, where "
	"CUPTI\n"
	"                          cannot be had; off: host calls only\n"
	"  --keep-last TIME        keep only the last part of the run, such as 10m (a flight "
	"recorder)\n"
	"  --max-size SIZE         keep the file below this size, such as 2G, by dropping its "
	"oldest "
	"part\n"
	"  --no-deepbind           record libraries that are opened with RTLD_DEEPBIND too, by "
	"taking that\n"
	"                          flag away; read the man page first\n"
	"  --dry-run               print what would be made, set and run, and do nothing\n"
	"\n"
	"All other settings are environment variables (GPUTRACE_*) and are passed on as they are.\n"
	"\n"
	"Exit status: the command's own; 125 when recording cannot be set up, 126 when the command "
	"cannot\n"
	"be run, 127 when it is not found, 2 for wrong usage.\n";

struct record_options {
	const char *output, *name, *gpu, *keep_last, *max_size;
	bool is_dry_run, takes_deepbind_away;
};

/* A library of ours: beside this program, then where an installation has it. */
static char *find_library(const char *name)
{
	static const char *const places[] = {".", "../lib", "../lib64", "../lib/gputrace",
					     "../libexec/gputrace"};
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
		char *path = text_format("%s/%s/%s", self, places[i], name);
		bool is_there = realpath(path, resolved) && !access(resolved, R_OK);

		free(path);
		if (is_there)
			return text_format("%s", resolved);
	}
	return NULL;
}

/* Whether one of the paths of a list, which ld.so takes apart at colons and spaces, is this file.
 */
static bool list_has(const char *list, const char *library)
{
	char path[PATH_MAX], resolved[PATH_MAX];

	for (const char *at = list; *at;) {
		size_t length = strcspn(at, ": ");

		if (length > 0 && length < sizeof(path)) {
			memcpy(path, at, length);
			path[length] = '\0';
			if (!strcmp(path, library) ||
			    (strchr(path, '/') && realpath(path, resolved) &&
			     !strcmp(resolved, library)))
				return true;
		}
		at += length + (at[length] ? 1 : 0);
	}
	return false;
}

/* Adds a library behind what is in the list; the user's stay first, in their order: a sanitizer
 * insists on it. */
static void list_add(struct text *list, const char *library)
{
	if (list_has(text_string(list), library))
		return;
	if (list->length > 0)
		text_add(list, ":");
	text_add(list, library);
}

/* As a shell would have to read it. */
static void print_quoted(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+=./:,@%^";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, stdout);
		return;
	}
	putchar('\'');
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*word);
	}
	putchar('\'');
}

static int set_variable(const struct record_options *options, const char *name, const char *value)
{
	if (options->is_dry_run) {
		printf("%s=", name);
		print_quoted(value);
		putchar('\n');
	} else if (setenv(name, value, 1)) {
		fprintf(stderr, "gputrace record: Cannot set %s: %s\n", name, strerror(errno));
		return EXIT_RECORD_FAILED;
	}
	return 0;
}

/* What a directory that is not there yet will be called; false: what it would be in is not there.
 */
static bool name_new_directory(const char *wanted, char resolved[PATH_MAX])
{
	char *for_parent = text_format("%s", wanted), *for_name = text_format("%s", wanted);
	char folder[PATH_MAX];
	bool is_known = realpath(dirname(for_parent), folder) != NULL;

	if (is_known) {
		char *path =
			text_format("%s/%s", strcmp(folder, "/") ? folder : "", basename(for_name));

		is_known = strlen(path) < PATH_MAX;
		if (is_known)
			memcpy(resolved, path, strlen(path) + 1);
		free(path);
	}
	free(for_parent);
	free(for_name);
	return is_known;
}

/* Absolute, because the command may change its directory before it uses CUDA. */
static int output_directory(const struct record_options *options, char resolved[PATH_MAX])
{
	const char *wanted = options->output ? options->output : getenv("GPUTRACE_OUT");
	struct stat status;

	if (!wanted || !*wanted)
		wanted = ".";
	if (options->output && stat(wanted, &status) && errno == ENOENT) {
		if (options->is_dry_run && name_new_directory(wanted, resolved)) {
			printf("mkdir ");
			print_quoted(resolved);
			putchar('\n');
			return 0;
		}
		if (options->is_dry_run || (mkdir(wanted, 0777) && errno != EEXIST)) {
			fprintf(stderr, "gputrace record: Cannot create %s: %s\n", wanted,
				strerror(errno));
			return EXIT_RECORD_FAILED;
		}
	}
	if (!realpath(wanted, resolved)) {
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

static int prepare(const struct record_options *options, const char *preload)
{
	char directory[PATH_MAX];
	int rc = output_directory(options, directory);

	if (!rc)
		rc = set_variable(options, "LD_PRELOAD", preload);
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

/* Adds one of our libraries to the list. 0 or an exit code. */
static int add_library(struct text *list, const char *name)
{
	char *library = find_library(name);
	int rc = 0;

	if (!library) {
		fprintf(stderr,
			"gputrace record: Cannot find %s beside this program or in ../lib.\n",
			name);
		return EXIT_RECORD_FAILED;
	}
	if (strpbrk(library, " :")) {
		fprintf(stderr,
			"gputrace record: %s cannot be preloaded: its path has a space or a "
			"colon.\n",
			library);
		rc = EXIT_RECORD_FAILED;
	} else {
		list_add(list, library);
	}
	free(library);
	return rc;
}

static int run_command(const struct record_options *options, char **command)
{
	const char *before = getenv("LD_PRELOAD");
	struct text list;
	int rc = 0;

	text_init(&list);
	text_add(&list, before ? before : "");
	/* Before the recorder, so that its dlopen() is the first. */
	if (options->takes_deepbind_away)
		rc = add_library(&list, "libgputrace-nodeepbind.so");
	if (!rc)
		rc = add_library(&list, "libgputrace.so");
	if (!rc)
		rc = prepare(options, text_string(&list));
	text_fini(&list);
	if (rc)
		return rc;
	if (options->is_dry_run) {
		for (size_t i = 0; command[i]; i++) {
			if (i)
				putchar(' ');
			print_quoted(command[i]);
		}
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
		{"no-deepbind", no_argument, NULL, 'b'},
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
			if (strcmp(optarg, "cupti") != 0 && strcmp(optarg, "events") != 0 &&
			    strcmp(optarg, "off") != 0)
				return command_usage_error(
					argv[0], "--gpu is cupti, events or off, not \"%s\".",
					optarg);
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
		case 'b':
			options.takes_deepbind_away = true;
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
