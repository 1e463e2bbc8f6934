/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quality of a recording (GT9xx): what is missing or wrong in the file itself. Printed before
 * anything else, since it lowers the confidence of all that rests on it.
 */
#ifndef GPUTRACE_RULES_QUALITY_H
#define GPUTRACE_RULES_QUALITY_H

#include "model.h"

struct quality_line {
	const char *id; /* "GT901" */
	const char *title;
	char *text;   /* one sentence; owned */
	double value; /* events lost, bytes damaged ... */
	const char *value_key;
};

struct quality {
	struct quality_line *lines;
	size_t count, capacity;
};

/* Why there are no GPU times, as the shim says it. */
#define QUALITY_GPU_REASON_KEY "gpu_times.reason"

void quality_check(const struct model *model, struct quality *quality);
void quality_free(struct quality *quality);
/* The page of `gputrace explain GT901`, NULL for other ids. */
const char *quality_page(const char *id);
/* All ids with titles, for the list of `gputrace explain`; NULL title ends it. */
const char *quality_id(size_t index, const char **title);

#endif
