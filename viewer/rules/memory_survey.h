/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rules about memory share: failed requests of a device, how its allocator's memory lay,
 * and the verdict on the last failure. Built once per device.
 */
#ifndef GPUTRACE_RULES_MEMORY_SURVEY_H
#define GPUTRACE_RULES_MEMORY_SURVEY_H

#include "memory_failure.h"
#include "memory_map.h"
#include "memory_verdict.h"
#include "model.h"

struct finding;
struct rule_context;

struct memory_survey {
	struct memory_failures failures;
	struct memory_map map;	 /* at the last failure; without one at the peak or the end */
	bool is_map_of_failure;	 /* it fits the failure's totals */
	bool has_framework;	 /* its blocks are in the file */
	uint64_t capacity_bytes; /* MEMORY_NOT_TOLD */
	struct memory_shortage shortage;   /* of the last failure */
	struct memory_judgement judgement; /* likewise */
};

void memory_survey_build(const struct model *model, size_t device, struct memory_survey *survey);

/* For the rules of the verdicts: raises the running rule when the last failure has its verdict,
 * else says why not. */
void memory_raise_verdict(struct rule_context *context, enum memory_verdict verdict);
/* The evidence of a map: numbers of all pools and of each, and the picture. */
void memory_add_map(const struct rule_context *context, struct finding *finding);
/* "file:line in function", or what else is known of a site; caller frees. */
char *memory_site_text(const struct model *model, uint32_t site);

#endif
