/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that a report says, computed once; text, JSON and HTML only print it, so that they can
 * never disagree.
 */
#ifndef GPUTRACE_PRINT_REPORT_DATA_H
#define GPUTRACE_PRINT_REPORT_DATA_H

#include "copy_stats.h"
#include "finding.h"
#include "host_stats.h"
#include "job_ranks.h"
#include "model.h"
#include "quality.h"
#include "step_stats.h"
#include "symbols.h"

struct ledger_row {
	enum ledger_part part;
	double ms;	/* per step */
	double percent; /* with one decimal; the rows add up to 100.0 */
};

/* One device of one process. */
struct device_report {
	const struct model *model;
	size_t device;
	bool has_ledger; /* false: no GPU work in steady steps */
	struct ledger_row rows[LEDGER_PART_COUNT];
	double step_ms;		      /* mean of steady steps */
	struct step_summary steps_ms; /* of the steady ones */
	double busy_percent;	      /* compute */
	double launches_per_step, kernels_per_step, copies_per_step, syncs_per_step;
	double h2d_bytes_per_step, d2h_bytes_per_step;
	struct finding_list findings;
	char **sites;		 /* one text per finding */
	char **natives;		 /* the native frame beside each Python line, NULL none */
	double combined_gain_ms; /* of all findings together, never more than their parts */
	double lower_gain_ms;
};

struct run_report {
	const struct model *model;
	struct symbols *symbols;
	struct quality quality;
	struct device_report *devices; /* that the process used */
	size_t device_count;
	size_t unused_count; /* that it could see and did nothing with */
};

struct report_data {
	struct run_report *runs;
	size_t run_count;
	const struct job_ranks *job; /* NULL: not several ranks; report_ranks.c */
	struct finding_list job_findings;
	bool is_simulated; /* any device */
	bool shows_why;	   /* text says of every silent rule what it saw; JSON and HTML always do */
	bool shows_hta;	   /* text shows HTA's tables; JSON and HTML always do */
	char *verdict;	   /* one or two sentences */
};

void report_data_build(const struct model *const *models, size_t count, struct report_data *out);
/* Rows of nothing are left out by every printer. */
bool report_row_is_shown(const struct ledger_row *row);
void report_data_free(struct report_data *report);
/* "100 steps found by the period of the launch sequence (97 % explained), 98 steady, ..." */
char *report_steps_text(const struct model *model);
const char *report_step_source_key(enum step_source source);
const char *report_step_mark_key(enum step_mark_kind kind);

#endif
