/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace doctor: what this machine is, as far as GPUs go, and what is wrong with it. No trace.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "doctor.h"
#include "error.h"

static const char usage[] =
	"usage: gputrace doctor [options]\n"
	"\n"
	"Shows the GPUs of this machine with their links, clocks, memory and errors, NUMA nodes, "
	"paths\n"
	"between GPUs, driver and CUDA libraries, and what does not fit together.\n"
	"\n"
	"  --binary FILE         for which GPUs a program, library, fat binary, cubin or PTX has "
	"code;\n"
	"                        may be given several times\n"
	"  --dmesg FILE|-        kernel messages: explains the driver's Xid lines\n"
	"  --root FOLDER         read the files of another machine, as --capture or a simulator "
	"made\n"
	"                        them; NVML is then asked only with --nvml\n"
	"  --nvml LIBRARY|off    the NVML library to ask; default: libnvidia-ml.so.1\n"
	"  --capture FOLDER      copy what is read of /sys and /proc there and end\n"
	"  --format text|json    (text); --json is the same as --format json\n"
	"\n"
	"Exit status: 0 nothing to repair, 1 a fault was found, 2 wrong usage, 3 no GPU was "
	"found,\n"
	"4 a file cannot be read.\n";

enum {
	OPTION_BINARY = 1,
	OPTION_DMESG,
	OPTION_ROOT,
	OPTION_NVML,
	OPTION_CAPTURE,
	OPTION_FORMAT,
	OPTION_JSON
};

static int capture(const char *root, const char *folder)
{
	struct error err = {0};
	int rc = doctor_capture(root, folder, &err);

	if (rc < 0) {
		fprintf(stderr, "gputrace doctor: %s.\n", err.text);
		return EXIT_UNREADABLE;
	}
	printf("%d files of this machine are in %s\n", rc, folder);
	return EXIT_OK;
}

static int look(const struct doctor_options *options, bool is_json)
{
	struct error err = {0};
	struct doctor *doctor;
	int status = EXIT_OK;

	if (doctor_look(options, &doctor, &err) < 0) {
		fprintf(stderr, "gputrace doctor: %s.\n", err.text);
		return EXIT_UNREADABLE;
	}
	if (is_json)
		doctor_print_json(doctor, stdout);
	else
		doctor_print_text(doctor, stdout);
	/* Binaries and messages can be looked at without a GPU. */
	if (!doctor->gpu_count && !options->binary_count && !options->dmesg)
		status = EXIT_NOT_JUDGED;
	for (size_t i = 0; i < doctor->finding_count; i++) {
		if (doctor->findings[i].verdict == MACHINE_FAULT)
			status = EXIT_GATE_FAILED;
	}
	doctor_free(doctor);
	return status;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"binary", required_argument, NULL, OPTION_BINARY},
		{"dmesg", required_argument, NULL, OPTION_DMESG},
		{"root", required_argument, NULL, OPTION_ROOT},
		{"nvml", required_argument, NULL, OPTION_NVML},
		{"capture", required_argument, NULL, OPTION_CAPTURE},
		{"format", required_argument, NULL, OPTION_FORMAT},
		{"json", no_argument, NULL, OPTION_JSON},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *binaries[DOCTOR_MAX_BINARIES], *folder = NULL;
	struct doctor_options options = {.root = "", .binaries = binaries};
	bool is_json = false;
	int option;

	optind = 0;
	opterr = 0;
	if (getenv("GPUTRACE_ROOT"))
		options.root = getenv("GPUTRACE_ROOT");
	options.nvml = getenv("GPUTRACE_NVML");
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		switch (option) {
		case OPTION_BINARY:
			if (options.binary_count == DOCTOR_MAX_BINARIES)
				return command_usage_error(argv[0], "At most %d binaries.",
							   DOCTOR_MAX_BINARIES);
			binaries[options.binary_count++] = optarg;
			break;
		case OPTION_DMESG:
			options.dmesg = optarg;
			break;
		case OPTION_ROOT:
			options.root = optarg;
			break;
		case OPTION_NVML:
			options.nvml = optarg;
			break;
		case OPTION_CAPTURE:
			folder = optarg;
			break;
		case OPTION_FORMAT:
			if (strcmp(optarg, "json") != 0 && strcmp(optarg, "text") != 0)
				return command_usage_error(
					argv[0], "The format \"%s\" is unknown: text or json.",
					optarg);
			is_json = !strcmp(optarg, "json");
			break;
		case OPTION_JSON:
			is_json = true;
			break;
		case 'h':
			return command_print_help("doctor");
		default:
			return command_usage_error(
				argv[0], "The option \"%s\" is unknown or lacks its value.",
				argv[optind - 1]);
		}
	}
	if (optind < argc)
		return command_usage_error(
			argv[0], "What is \"%s\"? Files are named with --binary.", argv[optind]);
	if (folder)
		return capture(options.root, folder);
	return look(&options, is_json);
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "what this machine is, and what is wrong with it",
	.usage = usage,
	.run = run,
};
