/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_traces FILE STEPS [FLAW...]: writes one training-like trace for tests and for trying the
 * viewer. Flaws: pageable unpadded sync marks no-gpu; "cured" (none of them) is the default.
 * "cut" leaves the file as a killed collector would.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "trace_file.h"
#include "training_trace.h"

static const struct {
	const char *word;
	uint32_t flaw;
} flaw_words[] = {
	{"pageable", TRAINING_PAGEABLE_COPY}, {"unpadded", TRAINING_UNPADDED_GEMM},
	{"sync", TRAINING_SYNC_IN_LOOP},      {"marks", TRAINING_STEP_MARKS},
	{"no-gpu", TRAINING_NO_GPU_TIMES},    {"cured", 0},
};

static int fail(const struct error *err)
{
	fprintf(stderr, "make_traces: %s\n", err->text);
	return 1;
}

int main(int argc, char **argv)
{
	struct trace_writer_options options;
	struct trace_writer *writer;
	struct error err = {0};
	uint32_t flaws = 0;
	int cut = 0;

	if (argc < 3) {
		fputs("usage: make_traces FILE STEPS "
		      "[pageable|unpadded|sync|marks|no-gpu|cut]...\n",
		      stderr);
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		cut |= strcmp(argv[i], "cut") == 0;
		for (size_t j = 0; j < sizeof(flaw_words) / sizeof(flaw_words[0]); j++) {
			if (strcmp(argv[i], flaw_words[j].word) == 0)
				flaws |= flaw_words[j].flaw;
		}
	}
	training_trace_options(&options);
	if (trace_writer_create(AT_FDCWD, argv[1], &options, &writer, &err) < 0)
		return fail(&err);
	if (training_trace_write(writer, (uint32_t)strtoul(argv[2], NULL, 10), flaws, &err) < 0)
		return fail(&err);
	if (cut) {
		if (trace_writer_flush(writer, &err) < 0)
			return fail(&err);
		_exit(0);
	}
	if (trace_writer_finish(writer, SESSION_EXITED, &err) < 0)
		return fail(&err);
	return 0;
}
