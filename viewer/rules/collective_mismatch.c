/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT605: the same collective of a communicator is something else on another rank.
 */
#include <stdlib.h>

#include "rule.h"

static bool differs(const struct rank_collective *a, const struct rank_collective *b)
{
	return a->kind != b->kind || a->element != b->element || a->size_bytes != b->size_bytes ||
	       a->peer != b->peer || a->reduction != b->reduction;
}

static void raise(struct rule_context *context, const struct job_ranks *job,
		  const struct collective_entry *a, const struct collective_entry *b)
{
	struct finding *finding = rule_raise(context, MODEL_NONE);
	long long first = job->items[a->rank].rank, second = job->items[b->rank].rank;

	finding->is_failure = true;
	finding->severity = SEVERITY_HIGH;
	finding_number(finding, "sequence", a->of->sequence);
	finding_number(finding, "first_rank", (double)first);
	finding_number(finding, "second_rank", (double)second);
	finding_text(finding, "first_kind", collective_name((enum collective_op)a->of->kind));
	finding_text(finding, "second_kind", collective_name((enum collective_op)b->of->kind));
	finding_number(finding, "first_bytes", (double)a->of->size_bytes);
	finding_number(finding, "second_bytes", (double)b->of->size_bytes);
	finding_summary(finding,
			"Collective %u of communicator %016llx is %s of %llu bytes (type %u) on "
			"rank %lld and %s of %llu bytes (type %u) on rank %lld.",
			a->of->sequence, (unsigned long long)a->of->hash,
			collective_name((enum collective_op)a->of->kind),
			(unsigned long long)a->of->size_bytes, a->of->element, first,
			collective_name((enum collective_op)b->of->kind),
			(unsigned long long)b->of->size_bytes, b->of->element, second);
	finding_fix(finding, "Make all ranks take the same way through the program: branches that "
			     "depend on the rank or the data, unequal numbers of batches, unused "
			     "parameters.");
}

static void judge_ranks(struct rule_context *context, const struct job_ranks *job)
{
	size_t count, before = context->findings->count;
	struct collective_entry *entries = job_ranks_entries(job, &count);
	uint64_t reported = 0;

	/* Only the first of a communicator: what follows is a consequence. */
	for (size_t i = 1; i < count && !job->is_by_order; i++) {
		const struct collective_entry *a = &entries[i - 1], *b = &entries[i];

		if (a->of->hash == b->of->hash && a->of->sequence == b->of->sequence &&
		    a->of->hash != reported && differs(a->of, b->of)) {
			reported = a->of->hash;
			raise(context, job, a, b);
		}
	}
	if (context->findings->count == before) {
		if (job->is_by_order)
			rule_not_judged(context, "calls to NCCL are not in these recordings");
		else
			rule_silent(context, "collectives with the same number are the same on all "
					     "ranks");
	}
	free(entries);
}

/* clang-format off */
const struct rule rule_collective_mismatch = {
	.name = "collective_mismatch",
	.id = "GT605",
	.title = "ranks call different collectives",
	.page =
"Needs the files of several ranks of a job. Raised when collectives with the same number in the\n"
"same communicator differ in kind, bytes, type, reduction or root between two ranks: the\n"
"program took different ways, which ends in a hang or in wrong results. The first difference of\n"
"each communicator is reported, with both values.\n"
"\n"
"Not judged: recordings of other tools, which have no calls to NCCL; one file.\n"
"Wrong when: several threads of a rank call collectives of one communicator, so that equal\n"
"numbers are not the same call.\n",
	.judge_ranks = judge_ranks,
};
/* clang-format on */
