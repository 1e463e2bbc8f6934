/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How precise a recording is (GT905, GT906): whether the clocks of host and GPU agree well enough
 * for what is read off them, and what recording itself took.
 */
#ifndef GPUTRACE_RULES_QUALITY_PRECISION_H
#define GPUTRACE_RULES_QUALITY_PRECISION_H

#include "quality.h"

void quality_check_clocks(const struct model *model, struct quality *quality);
void quality_check_overhead(const struct model *model, struct quality *quality);

/* In quality_missing.c: what was not kept. */
void quality_check_dropped(const struct model *model, struct quality *quality);
void quality_check_recovered(const struct model *model, struct quality *quality);
void quality_check_unseen(const struct model *model, struct quality *quality);
/* In quality_counter.c: counters that contradict the operations. */
void quality_check_counters(const struct model *model, struct quality *quality);
void quality_check_past(const struct model *model, struct quality *quality);

/* In quality_times.c: where GPU times come from, and which operations have none. */
void quality_check_times(const struct model *model, struct quality *quality);
/* In quality_launches.c: launches without a time that nothing explains. */
void quality_check_launches(const struct model *model, struct quality *quality);

/* In quality.c: a line of one of its kinds; takes over the text. */
void quality_add(struct quality *quality, const char *id, const char *value_key, double value,
		 char *text);

#endif
