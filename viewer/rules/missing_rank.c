/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT606: ranks called a collective that another rank of the communicator never called, although it
 * was still there. It is the one to look at, not those that wait far ahead of it.
 */
#include <stdlib.h>

#include "rule.h"
#include "text.h"

/* The file of the missing rank must go on for so long after the others' call: what a rank did last
 * before it ended may not have been written. */
#define CERTAIN_NS 500000000

struct last_call {
	uint32_t sequence;
	int64_t call_ns; /* on the first rank's clock */
	const struct rank_collective *of;
};

static struct last_call last_of(const struct job_ranks *job, size_t rank, uint64_t hash)
{
	const struct rank_summary *of = &job->items[rank];
	struct last_call last = {0, 0, NULL};

	for (size_t i = 0; i < of->collective_count; i++) {
		if (of->collectives[i].hash == hash && of->collectives[i].sequence >= last.sequence)
			last = (struct last_call){of->collectives[i].sequence,
						  of->collectives[i].call_ns + of->clock_offset_ns,
						  &of->collectives[i]};
	}
	return last;
}

static const struct model_communicator *find(const struct rank_summary *rank, uint64_t hash)
{
	for (size_t i = 0; i < rank->communicator_count; i++) {
		if (rank->communicators[i].hash == hash)
			return &rank->communicators[i];
	}
	return NULL;
}

static void raise(struct rule_context *context, const struct job_ranks *job, size_t rank,
		  const struct last_call *behind, const struct last_call *ahead, size_t joined)
{
	struct finding *finding = rule_raise(context, MODEL_NONE);

	finding->is_failure = true;
	finding->severity = SEVERITY_HIGH;
	finding_number(finding, "missing_rank", (double)job->items[rank].rank);
	finding_number(finding, "sequence", behind->sequence + 1);
	finding_number(finding, "last_called", behind->sequence);
	finding_number(finding, "ranks_that_joined", (double)joined);
	finding_text(finding, "kind", collective_name((enum collective_op)ahead->of->kind));
	finding_summary(finding,
			"Rank %lld did not join %s number %u of communicator %016llx (%llu bytes), "
			"which %zu other rank%s called; its last one was number %u.",
			(long long)job->items[rank].rank,
			collective_name((enum collective_op)ahead->of->kind), behind->sequence + 1,
			(unsigned long long)ahead->of->hash,
			(unsigned long long)ahead->of->size_bytes, joined, joined == 1 ? "" : "s",
			behind->sequence);
	finding_fix(finding,
		    "Look at what rank %lld did last: gputrace report --rank %lld, or its last "
		    "calls by gputrace dump. The ranks that wait are not at fault.",
		    (long long)job->items[rank].rank, (long long)job->items[rank].rank);
}

/* The call of the other ranks that the rank behind did not make. */
static struct last_call next_of_others(const struct job_ranks *job, uint64_t hash,
				       uint32_t sequence, size_t *joined)
{
	struct last_call next = {0, INT64_MIN, NULL};

	*joined = 0;
	for (size_t rank = 0; rank < job->count; rank++) {
		const struct rank_summary *of = &job->items[rank];

		for (size_t i = 0; i < of->collective_count; i++) {
			const struct rank_collective *one = &of->collectives[i];

			if (one->hash != hash || one->sequence != sequence)
				continue;
			++*joined;
			if (one->call_ns + of->clock_offset_ns > next.call_ns)
				next = (struct last_call){sequence,
							  one->call_ns + of->clock_offset_ns, one};
		}
	}
	return next;
}

static void judge_communicator(struct rule_context *context, const struct job_ranks *job,
			       uint64_t hash, struct text *unknown)
{
	uint32_t most = 0;

	for (size_t rank = 0; rank < job->count; rank++) {
		struct last_call last = last_of(job, rank, hash);

		most = last.sequence > most ? last.sequence : most;
	}
	for (size_t rank = 0; rank < job->count; rank++) {
		const struct rank_summary *of = &job->items[rank];
		const struct model_communicator *own = find(of, hash);
		struct last_call last = last_of(job, rank, hash), next;
		size_t joined;

		if (!own || own->end_ns != INT64_MAX || last.sequence >= most)
			continue;
		next = next_of_others(job, hash, last.sequence + 1, &joined);
		if (!next.of)
			continue;
		if (!of->is_aligned ||
		    of->last_ns + of->clock_offset_ns < next.call_ns + CERTAIN_NS)
			text_addf(unknown, "%s%lld", unknown->length ? ", " : "",
				  (long long)of->rank);
		else
			raise(context, job, rank, &last, &next, joined);
	}
}

static void judge_ranks(struct rule_context *context, const struct job_ranks *job)
{
	size_t before = context->findings->count;
	struct text unknown;

	if (job->is_by_order) {
		rule_not_judged(context, "calls to NCCL are not in these recordings");
		return;
	}
	text_init(&unknown);
	for (size_t rank = 0; rank < job->count; rank++) {
		const struct rank_summary *of = &job->items[rank];

		for (size_t i = 0; i < of->communicator_count; i++) {
			uint64_t hash = of->communicators[i].hash;
			bool is_first = hash != 0;

			for (size_t k = 0; k < rank && is_first; k++)
				is_first = !find(&job->items[k], hash);
			if (is_first)
				judge_communicator(context, job, hash, &unknown);
		}
	}
	if (context->findings->count == before) {
		if (unknown.length)
			rule_not_judged(context,
					"the files of ranks %s end before it is certain that they "
					"called nothing more",
					text_string(&unknown));
		else
			rule_silent(context, "all ranks called the same number of collectives");
	}
	text_fini(&unknown);
}

/* clang-format off */
const struct rule rule_missing_rank = {
	.name = "missing_rank",
	.id = "GT606",
	.title = "a rank did not join a collective",
	.page =
"Needs the files of several ranks of a job, which may have been killed. Raised when ranks called\n"
"a collective that another rank of the communicator did not call, although its file goes on for\n"
"half a second after that and it has not left the communicator. The ranks far ahead are not the\n"
"cause: the one behind is.\n"
"\n"
"Not judged: files that end too early to be sure; recordings of other tools; one file.\n"
"Wrong when: the rank behind would have come, but later than the end of its file.\n",
	.judge_ranks = judge_ranks,
};
/* clang-format on */
