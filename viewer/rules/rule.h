/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules and how they run: each looks at one device of one process and adds findings, or says
 * why it has none. A rule reads the model and the knowledge base and nothing else.
 */
#ifndef GPUTRACE_RULES_RULE_H
#define GPUTRACE_RULES_RULE_H

#include "comm_survey.h"
#include "copy_stats.h"
#include "finding.h"
#include "gpu_table.h"
#include "job_ranks.h"
#include "host_stats.h"
#include "link_rate.h"
#include "memory_survey.h"
#include "model.h"
#include "replay.h"
#include "stall_survey.h"
#include "work_survey.h"

struct rule_context {
	const struct model *model;
	size_t device; /* index of model->devices */
	const struct device_ledger *ledger;
	double step_ms; /* mean steady step on the device */
	double steady_steps;
	const char *unit; /* "step", or "run" when there are no steps */
	struct gpu_match gpu;
	struct link_rate link; /* of the recorded link; raw 0: unknown */
	struct copy_stats copies;
	struct host_stats host;
	struct work_survey work;
	struct comm_survey comm;
	struct memory_survey memory;
	struct stall_survey stalls;
	struct replay *replay;	       /* NULL: without GPU times of steady steps */
	struct finding_list *findings; /* to add to */
	const struct rule *rule;       /* that runs now */
};

struct rule {
	const char *name; /* filled in by rules.c from the row */
	const char *id;
	const char *title;
	const char *page; /* what `gputrace explain` prints: definition, thresholds, gain, limits */
	void (*run)(struct rule_context *context);
	/* Instead of run: looks at all ranks of a job; context has no model and no device then. */
	void (*judge_ranks)(struct rule_context *context, const struct job_ranks *job);
	/* Beside run: what it can say of totals alone (model/call_totals.h); the unit is the run.
	 */
	void (*judge_totals)(struct rule_context *context);
	bool is_about_memory; /* runs without times of GPU work too */
	bool is_about_calls;  /* likewise: what calls returned, how the process was set up */
	bool needs_nodes;     /* says nothing of graphs that were timed as wholes */
};

/* All rules, by id. */
extern const struct rule *const rules_all[];
size_t rules_count(void);
/* By id or name, case ignored; NULL unknown. */
const struct rule *rules_find(const char *text);
/* Runs every rule on one device; findings come back ranked by what they can gain. */
void rules_run(const struct model *model, size_t device, struct finding_list *out);
/* Runs the rules that look at all ranks of a job. */
void rules_run_ranks(const struct job_ranks *job, struct finding_list *out);

/* ---- for rules ---- */

/* A new finding of the running rule; valid until the next one. */
struct finding *rule_raise(struct rule_context *context, uint32_t call);
/* Bounds a finding's gain by the ledger parts it draws from and by the host's own path, and sets
 * its severity. */
void rule_settle(struct rule_context *context, struct finding *finding);
void rule_silent(struct rule_context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void rule_not_judged(struct rule_context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
double rule_percent(const struct rule_context *context, double ms);
/* Of time summed over the steady steps: ms per step, percent of the step. */
double rule_ms(const struct rule_context *context, int64_t total_ns);
double rule_share(const struct rule_context *context, int64_t total_ns);

#endif
