/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT604: few ranks come late to most collectives, so that all others wait inside NCCL.
 */
#include <stdlib.h>

#include "rule.h"
#include "text.h"
#include "xmalloc.h"

#define LEAST_SHARE   0.6
#define LEAST_PERCENT 3.0

static char *names_of(const struct job_ranks *job, const size_t *indexes, size_t count)
{
	struct text text;

	text_init(&text);
	for (size_t i = 0; i < count; i++)
		text_addf(&text, "%s%lld", i ? ", " : "", (long long)job->items[indexes[i]].rank);
	return text_take(&text);
}

static void raise(struct rule_context *context, const struct job_ranks *job, const size_t *late,
		  size_t count, double share, double late_ms)
{
	struct finding *finding = rule_raise(context, MODEL_NONE);
	char *names = names_of(job, late, count);
	uint64_t entered_last = 0;
	struct text summary;
	double excess_ms;
	enum ledger_part part = job_ranks_excess(job, late[0], &excess_ms);

	for (size_t i = 0; i < count; i++)
		entered_last += job->items[late[i]].entered_last;
	finding->cost_ms = late_ms;
	finding->gain_high_ms = late_ms;
	finding->draws_from = 1u << LEDGER_COMM;
	finding_text(finding, "ranks", names);
	finding_number(finding, "late_ms_per_step", late_ms);
	finding_number(finding, "late_share_percent", 100 * share);
	finding_number(finding, "entered_last", (double)entered_last);
	finding_number(finding, "matched_collectives", (double)job->matched);
	if (excess_ms > 0) {
		finding_text(finding, "excess_part", ledger_part_key(part));
		finding_number(finding, "excess_ms_per_step", excess_ms);
	}
	text_init(&summary);
	text_addf(&summary,
		  "%s %s %s last to %llu of %zu collectives and %s the others waiting for %.2f ms "
		  "per "
		  "step, %.0f %% of all such waiting.",
		  count == 1 ? "Rank" : "Ranks", names, count == 1 ? "comes" : "come",
		  (unsigned long long)entered_last, job->matched, count == 1 ? "keeps" : "keep",
		  late_ms, 100 * share);
	/* A rank without steps cannot be compared part by part. */
	if (excess_ms > 0)
		text_addf(&summary,
			  " Rank %lld spends %.2f ms per step more than the others in \"%s\".",
			  (long long)job->items[late[0]].rank, excess_ms, ledger_part_label(part));
	finding_summary(finding, "%s", text_string(&summary));
	text_fini(&summary);
	finding_fix(
		finding,
		"Look at the findings of rank %lld: gputrace report --rank %lld on these files. "
		"The ranks with the longest communication are the ones that wait.",
		(long long)job->items[late[0]].rank, (long long)job->items[late[0]].rank);
	free(names);
}

static void judge_ranks(struct rule_context *context, const struct job_ranks *job)
{
	size_t *late = xmalloc(job->count * sizeof(*late)), count;
	double share, late_ms = 0, percent;

	if (!job->matched) {
		rule_not_judged(context, "no collective of the steady steps is in the files of all "
					 "its ranks with its times");
		free(late);
		return;
	}
	count = job_ranks_latest(job, late, &share);
	for (size_t i = 0; i < count; i++)
		late_ms += job->items[late[i]].late_ms;
	percent = job->step_ms > 0 ? 100 * late_ms / job->step_ms : 0;
	if (share < LEAST_SHARE)
		rule_silent(context,
			    "no quarter of the ranks causes most of the waiting (%.0f %% by the "
			    "latest %zu, raised from 60 %%)",
			    100 * share, count);
	else if (percent < LEAST_PERCENT)
		rule_silent(context,
			    "late ranks keep the others waiting for %.1f %% of the step (raised "
			    "from %.0f %%)",
			    percent, LEAST_PERCENT);
	else
		raise(context, job, late, count, share, late_ms);
	free(late);
}

/* clang-format off */
const struct rule rule_straggler = {
	.name = "straggler",
	.id = "GT604",
	.title = "stragglers",
	.page =
"Needs the files of several ranks of a job. Raised when the smallest set of at most a quarter\n"
"of the ranks (at least one) causes 60 % of the waiting in collectives, and that is at least\n"
"3 % of the step. The wait that a rank causes is the time between the arrival of the rank\n"
"before the last and its own, when it is the last.\n"
"\n"
"Clocks are aligned on the ends of all-reduces, all-gathers and reduce-scatters, which all\n"
"ranks leave together; collectives are matched by communicator and sequence number. In\n"
"recordings of other tools they are matched by their order, if all ranks have the same.\n"
"\n"
"Gain: up to what the late ranks cost. Why they are late stands in their own findings.\n"
"Silent: lateness that is spread over the ranks.  Not judged: one file, or no collective with\n"
"times of all its ranks.\n"
"Wrong when: a slow network makes one rank leave earlier than another.\n",
	.judge_ranks = judge_ranks,
};
/* clang-format on */
