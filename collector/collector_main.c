/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace-collector: the program around collector_run(). The shim starts it; users do not.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector.h"
#include "collector_process.h"
#include "error.h"
#include "gpu_probe.h"
#include "nvml_watch.h"
#include "ring_relief.h"
#include "small_file.h"

#define LOG_TAG "collector"
#include "log.h"

extern char **environ;

static const char usage[] =
	"usage: gputrace-collector --memfd FD --pid PID --out DIR [--name NAME] [--root DIR]\n"
	"                           [--max-mib N] [--keep-s SECONDS]\n"
	"Writes the trace of one process; libgputrace.so starts it. --version shows the build.\n";

static struct nvml_watch nvml;

static bool start_nvml(void *context, const char *library, uint32_t pid, const char **reason)
{
	return nvml_watch_start(context, library, pid, reason);
}

static bool take_nvml(void *context, struct nvml_state *state)
{
	return nvml_watch_take(context, state);
}

static void stop_nvml(void *context)
{
	nvml_watch_stop(context);
}

static const struct gpu_probe probe = {&nvml, start_nvml, take_nvml, stop_nvml};

struct arguments {
	const char *memfd, *pid, *out, *name, *root, *max_mib, *keep_s;
};

/* 0, or the exit code. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
	const struct {
		const char *option;
		const char **value;
	} options[] = {
		{"--memfd", &arguments->memfd},	  {"--pid", &arguments->pid},
		{"--out", &arguments->out},	  {"--name", &arguments->name},
		{"--root", &arguments->root},	  {"--max-mib", &arguments->max_mib},
		{"--keep-s", &arguments->keep_s},
	};

	for (int i = 1; i < argc; i++) {
		size_t match = 0;

		while (match < sizeof(options) / sizeof(options[0]) &&
		       strcmp(argv[i], options[match].option) != 0)
			match++;
		if (match == sizeof(options) / sizeof(options[0]) || i + 1 == argc) {
			fprintf(stderr, "gputrace-collector: %s %s\n%s", argv[i],
				i + 1 == argc ? "needs a value or is unknown" : "is unknown",
				usage);
			return 2;
		}
		*options[match].value = argv[++i];
	}
	if (arguments->memfd && arguments->pid && arguments->out)
		return 0;
	fputs(usage, stderr);
	return 2;
}

static int parse_number(const char *text, uint64_t limit, uint64_t *value)
{
	const char *at = text;

	return small_file_number(&at, 10, value) && *at == '\0' && *value < limit;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {0};
	struct collector_options options = {.out_dir_fd = -1};
	const char *log = getenv("GPUTRACE_LOG");
	struct error err = {0};
	uint64_t memfd, pid, max_mib = 0, keep_s = 0;
	int rc;

	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts(collector_build());
		return 0;
	}
	rc = parse(argc, argv, &arguments);
	if (rc)
		return rc;
	if (!parse_number(arguments.memfd, 1u << 20, &memfd) ||
	    !parse_number(arguments.pid, 1u << 30, &pid) || pid == 0) {
		fprintf(stderr, "gputrace-collector: --memfd and --pid take numbers\n");
		return 2;
	}
	if ((arguments.max_mib && !parse_number(arguments.max_mib, 1ull << 40, &max_mib)) ||
	    (arguments.keep_s && !parse_number(arguments.keep_s, 1ull << 32, &keep_s))) {
		fprintf(stderr, "gputrace-collector: --max-mib and --keep-s take numbers\n");
		return 2;
	}
	log_set_level(log_level_from_text(log));
	options.out_dir_fd = open(arguments.out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (options.out_dir_fd < 0) {
		log_error("cannot open directory %s: %s", arguments.out, strerror(errno));
		return 1;
	}
	collector_process_detach((int)memfd, options.out_dir_fd, log_level_now > LOG_OFF);
	options.memfd = (int)memfd;
	options.pid = (pid_t)pid;
	options.out_dir = arguments.out;
	options.name = arguments.name;
	options.environment = (const char *const *)environ;
	options.root = arguments.root;
	options.gpu_probe = &probe;
	options.relief = &ring_relief;
	options.max_bytes = max_mib << 20;
	options.keep_ns = keep_s * 1000000000u;
	rc = collector_run(&options, &err);
	if (rc < 0)
		log_error("%s", err.text);
	return rc < 0 ? 1 : 0;
}
