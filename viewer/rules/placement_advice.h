/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rules about placement share: when the place can matter at all, what it can cost, and how
 * to bind a process.
 */
#ifndef GPUTRACE_RULES_PLACEMENT_ADVICE_H
#define GPUTRACE_RULES_PLACEMENT_ADVICE_H

#include "placement.h"
#include "rule.h"

/* How much faster copies could be from near memory. */
struct copy_loss {
	double achieved_gbs, attainable_gbs; /* of large pinned copies; 0 unknown */
	double high_ms;			     /* per step */
	char text[192];			     /* a sentence about it */
};

/* True when the placement is unknown or the machine has one node; the rule has then said so. */
bool placement_is_unknown(struct rule_context *context, const struct placement *placement);
/* Exposed copies and waiting for launches, ms per step: all that the place can touch. */
double placement_cost_ms(const struct rule_context *context);
/* Whether that is at least 2 % of the step. */
bool placement_matters(const struct rule_context *context);
struct copy_loss placement_copy_loss(const struct rule_context *context);
void placement_add_loss(struct finding *finding, const struct copy_loss *loss);
/* A numactl line if the job may use the node, else advice for the scheduler. */
void placement_fix(struct finding *finding, const struct placement *placement);
/* A launch for the device, MODEL_NONE without. */
uint32_t placement_first_launch(const struct rule_context *context);

#endif
