/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT607: all ranks called a collective, and on none did it end.
 */
#include <stdlib.h>

#include "rule.h"

/* GPU records come with a delay; without one for so long the kernel did not end. */
#define CERTAIN_NS 1000000000

static bool is_stuck(const struct job_ranks *job, const struct collective_entry *group, size_t size)
{
	if (!group[0].of->rank_count || size != group[0].of->rank_count)
		return false;
	for (size_t i = 0; i < size; i++) {
		const struct rank_summary *rank = &job->items[group[i].rank];

		if (group[i].of->end_ns > group[i].of->begin_ns || !rank->has_ledger ||
		    rank->last_ns < group[i].of->call_ns + CERTAIN_NS)
			return false;
	}
	return true;
}

static void raise(struct rule_context *context, const struct rank_collective *of)
{
	struct finding *finding = rule_raise(context, MODEL_NONE);

	finding->is_failure = true;
	finding->severity = SEVERITY_HIGH;
	finding_number(finding, "sequence", of->sequence);
	finding_number(finding, "ranks", of->rank_count);
	finding_text(finding, "kind", collective_name((enum collective_op)of->kind));
	finding_summary(finding,
			"All %u ranks called %s number %u of communicator %016llx (%llu bytes), "
			"but it ended on none of them for more than a second.",
			of->rank_count, collective_name((enum collective_op)of->kind), of->sequence,
			(unsigned long long)of->hash, (unsigned long long)of->size_bytes);
	finding_fix(finding,
		    "All ranks are there, so it is the transport or the GPUs: NCCL_DEBUG="
		    "INFO, Xid messages in the kernel's log, ACS and IOMMU settings, or two "
		    "communicators that wait for each other's kernels.");
}

static void judge_ranks(struct rule_context *context, const struct job_ranks *job)
{
	size_t count, before = context->findings->count;
	struct collective_entry *entries = job_ranks_entries(job, &count);
	uint64_t reported = 0;

	for (size_t i = 0, size; i < count && !job->is_by_order; i += size) {
		for (size = 1;
		     i + size < count && entries[i + size].of->hash == entries[i].of->hash &&
		     entries[i + size].of->sequence == entries[i].of->sequence;
		     size++)
			;
		if (entries[i].of->hash != reported && is_stuck(job, &entries[i], size)) {
			reported = entries[i].of->hash;
			raise(context, entries[i].of);
		}
	}
	if (context->findings->count == before) {
		if (job->is_by_order)
			rule_not_judged(context, "calls to NCCL are not in these recordings");
		else
			rule_silent(context, "no collective that all ranks called stayed open");
	}
	free(entries);
}

/* clang-format off */
const struct rule rule_unfinished_collective = {
	.name = "unfinished_collective",
	.id = "GT607",
	.title = "a collective did not end",
	.page =
"Needs the files of all ranks of a communicator. Raised when all of them called a collective and\n"
"none has its kernel's end, although each file goes on for a second after the call and has GPU\n"
"times before. What every rank has joined is stuck in the transport or on the GPUs.\n"
"\n"
"Not judged: recordings of other tools; one file.  Silent: where a rank is missing (GT606).\n"
"Wrong when: a transfer takes longer than the second for which the files go on.\n",
	.judge_ranks = judge_ranks,
};
/* clang-format on */
