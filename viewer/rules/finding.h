/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rule has to say: findings with their cost and evidence, or why it says nothing.
 */
#ifndef GPUTRACE_RULES_FINDING_H
#define GPUTRACE_RULES_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger.h"
#include "memory_map.h"

enum severity { SEVERITY_INFO = 0, SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH };

/* One number of the evidence. The unit is part of the key: "achieved_gbs", "bytes_per_step". */
struct evidence {
	const char *key; /* a literal */
	double value;
	char *text; /* instead of a value; owned */
};

struct finding {
	const char *id;	  /* "GT101" */
	const char *rule; /* "pcie_bound" */
	const char *title;
	enum severity severity;
	double cost_ms;			  /* per step, that the finding is about */
	double gain_low_ms, gain_high_ms; /* per step, "up to"; both 0: not estimated */
	uint32_t draws_from;		  /* bit per enum ledger_part that the gain comes out of */
	bool is_beside_step;		  /* its cost is in no steady step: of steps left out */
	bool cuts_launches;		  /* its cure makes the host's work less too */
	double per_step;		  /* how often per step, 0 not counted */
	uint32_t call;			  /* a call that it points at, MODEL_NONE none */
	uint32_t site;			  /* without a call: index of sites, 0 none */
	bool is_failure;		  /* it ended the work; ranks before all that costs time */
	char *summary;			  /* one or two sentences with the numbers; owned */
	char *fix;			  /* one sentence; owned */
	struct evidence *evidence;
	size_t evidence_count, evidence_capacity;
};

enum judgement_status { JUDGED_SILENT = 1, JUDGED_RAISED, NOT_JUDGED };

struct judgement {
	const char *id, *rule;
	enum judgement_status status;
	char *reason; /* why silent or not judged; owned */
};

struct finding_list {
	struct finding *items;
	size_t count, capacity;
	struct judgement *judgements;
	size_t judgement_count, judgement_capacity;
	double combined_low_ms; /* of all findings together, per step: see combined_gain.c */
	double combined_high_ms;
	struct memory_map memory_map; /* that the rules about memory saw */
	bool is_map_of_failure;	      /* it is of the last failed request */
	uint64_t steady_kernels;      /* that ran on the device in steady steps */
};

void finding_number(struct finding *finding, const char *key, double value);
void finding_text(struct finding *finding, const char *key, const char *text);
void finding_summary(struct finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void finding_fix(struct finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void finding_list_free(struct finding_list *list);

#endif
