/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every sample's step loop needs: its options, host work of a known length, and a limit on how
 * far the host runs ahead of the GPU.
 */
#ifndef GPUTRACE_SAMPLES_STEP_LOOP_H
#define GPUTRACE_SAMPLES_STEP_LOOP_H

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "gpu.h"

/* One option of a command line: `--name` sets *flag, `--name N` sets *number. */
struct sample_option {
	const char *name;
	bool *flag;
	long *number;
	const char *help;
};

static inline void sample_usage(const char *program, const struct sample_option *options, FILE *out)
{
	fprintf(out, "usage: %s [options]\n", program);
	for (; options->name; options++)
		fprintf(out, "  --%s%s\t%s\n", options->name, options->number ? " N" : "",
			options->help);
}

/* Ends the sample with exit code 2 and a sentence on an unknown option or a number below 1. */
static inline void sample_parse(int argc, char **argv, const struct sample_option *options)
{
	for (int i = 1; i < argc; i++) {
		const struct sample_option *option = options;
		char *end = NULL;

		while (option->name &&
		       (strncmp(argv[i], "--", 2) != 0 || strcmp(argv[i] + 2, option->name) != 0))
			option++;
		if (!option->name) {
			fprintf(stderr, "%s: unknown option %s\n", argv[0], argv[i]);
			sample_usage(argv[0], options, stderr);
			exit(2);
		}
		if (option->flag) {
			*option->flag = true;
			continue;
		}
		if (i + 1 < argc)
			*option->number = strtol(argv[++i], &end, 10);
		if (!end || *end != '\0' || *option->number < 1) {
			fprintf(stderr, "%s: --%s needs a number of 1 or more\n", argv[0],
				option->name);
			exit(2);
		}
	}
}

static inline double step_clock_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* Keeps this thread busy: what a Python loop spends on logging, schedules and collating a batch. */
static inline void step_host_work(double microseconds)
{
	double end = step_clock_us() + microseconds;

	while (step_clock_us() < end) {
	}
}

/*
 * Lets the host run at most two steps ahead: step_pace() at the head of a step waits until the step
 * before the last one has left the GPU, which never drains the queue.
 */
struct step_pace {
	gpu_event done[2];
	long step;
};

static inline void step_pace_open(struct step_pace *pace)
{
	pace->step = 0;
	GPU_TRY(gpu_event_open(&pace->done[0]));
	GPU_TRY(gpu_event_open(&pace->done[1]));
}

static inline void step_pace_close(struct step_pace *pace)
{
	GPU_TRY(gpu_event_close(pace->done[0]));
	GPU_TRY(gpu_event_close(pace->done[1]));
}

static inline void step_pace_begin(struct step_pace *pace)
{
	if (pace->step >= 2)
		GPU_TRY(gpu_event_sync(pace->done[pace->step & 1]));
}

static inline void step_pace_end(struct step_pace *pace, gpu_stream stream)
{
	GPU_TRY(gpu_event_record(pace->done[pace->step & 1], stream));
	pace->step++;
}

#endif
