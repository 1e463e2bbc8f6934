/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT304: ranks of one host are bound to the same CPUs, or all to one NUMA node although their GPUs
 * are on several.
 */
#include <stdlib.h>
#include <string.h>

#include "cpu_list.h"
#include "rule.h"
#include "text.h"

static bool is_same_host(const struct rank_summary *a, const struct rank_summary *b)
{
	return a->host && b->host && !strcmp(a->host, b->host);
}

/* Bound, that is, to fewer CPUs than the host has. */
static bool is_bound(const struct rank_summary *rank)
{
	return rank->cpus_allowed && rank->host_cpus &&
	       cpu_list_count(rank->cpus_allowed) < rank->host_cpus;
}

/* Ranks on the host of `index` whose CPUs overlap with its own, itself counted. */
static size_t sharing(const struct job_ranks *job, size_t index, struct text *names)
{
	const struct rank_summary *one = &job->items[index];
	size_t count = 0;

	for (size_t i = 0; i < job->count; i++) {
		const struct rank_summary *other = &job->items[i];

		if (!is_same_host(one, other) || !is_bound(other) ||
		    !cpu_list_overlap(one->cpus_allowed, other->cpus_allowed))
			continue;
		text_addf(names, "%s%lld", count++ ? ", " : "", (long long)other->rank);
	}
	return count;
}

static void raise_cpus(struct rule_context *context, const struct rank_summary *rank, size_t count,
		       const char *names)
{
	struct finding *finding = rule_raise(context, MODEL_NONE);
	uint32_t cpus = cpu_list_count(rank->cpus_allowed);

	finding->severity = cpus < count ? SEVERITY_MEDIUM : SEVERITY_INFO;
	finding_text(finding, "host", rank->host);
	finding_text(finding, "ranks", names);
	finding_text(finding, "cpus", rank->cpus_allowed);
	finding_number(finding, "cpu_count", cpus);
	finding_number(finding, "ranks_sharing", (double)count);
	finding_summary(finding,
			"Ranks %s on %s may use the same CPUs (rank %lld: %s, %u of %u), so their "
			"launching threads can stand in each other's way.",
			names, rank->host, (long long)rank->rank, rank->cpus_allowed, cpus,
			rank->host_cpus);
	finding_fix(finding, "Give each rank CPUs of its own on its GPU's NUMA node (numactl "
			     "--physcpubind, srun --cpu-bind, torchrun's or MPI's binding).");
}

/* The one node that all ranks of the host may use, -1: several or unknown. */
static void raise_node(struct rule_context *context, const struct job_ranks *job, size_t index)
{
	const struct rank_summary *one = &job->items[index];
	struct finding *finding;
	size_t ranks = 0, away = 0;

	if (!one->nodes_allowed || cpu_list_count(one->nodes_allowed) != 1)
		return;
	for (size_t i = 0; i < job->count; i++) {
		const struct rank_summary *other = &job->items[i];

		if (!is_same_host(one, other))
			continue;
		if (i < index || other->gpu_node < 0 || !other->nodes_allowed ||
		    strcmp(one->nodes_allowed, other->nodes_allowed) != 0)
			return;
		ranks++;
		away += !cpu_list_has(other->nodes_allowed, (uint32_t)other->gpu_node);
	}
	if (ranks < 2 || !away)
		return;
	finding = rule_raise(context, MODEL_NONE);
	finding->severity = SEVERITY_INFO;
	finding_text(finding, "host", one->host);
	finding_text(finding, "node", one->nodes_allowed);
	finding_number(finding, "ranks_on_node", (double)ranks);
	finding_number(finding, "ranks_away_from_gpu", (double)away);
	finding_summary(
		finding,
		"All %zu ranks on %s are bound to NUMA node %s; the GPUs of %zu of them are "
		"on other nodes.",
		ranks, one->host, one->nodes_allowed, away);
	finding_fix(finding, "Bind each rank to the node of its own GPU (numactl --cpunodebind "
			     "--membind, srun --gpu-bind=closest).");
}

static void judge_ranks(struct rule_context *context, const struct job_ranks *job)
{
	size_t before = context->findings->count, known = 0;

	for (size_t i = 0; i < job->count; i++) {
		const struct rank_summary *rank = &job->items[i];
		struct text names;
		size_t count;
		bool is_told = false;

		known += rank->cpus_allowed != NULL && rank->host_cpus > 0;
		for (size_t k = 0; k < i; k++)
			is_told |= is_same_host(rank, &job->items[k]) && is_bound(&job->items[k]) &&
				   is_bound(rank) &&
				   cpu_list_overlap(rank->cpus_allowed, job->items[k].cpus_allowed);
		raise_node(context, job, i);
		if (is_told || !is_bound(rank))
			continue;
		text_init(&names);
		count = sharing(job, i, &names);
		if (count > 1)
			raise_cpus(context, rank, count, text_string(&names));
		text_fini(&names);
	}
	if (context->findings->count != before)
		return;
	if (known < job->count)
		rule_not_judged(context, "which CPUs the ranks may use is not in all files");
	else
		rule_silent(context, "no ranks are bound to the same CPUs, or all away from their "
				     "GPUs");
}

/* clang-format off */
const struct rule rule_rank_binding = {
	.name = "rank_binding",
	.id = "GT304",
	.title = "ranks share CPUs or one node",
	.page =
"Needs the files of several ranks of a job. Raised when ranks of one host are bound to sets of\n"
"CPUs that overlap, or when all of them are bound to one NUMA node while GPUs of some are on\n"
"others. The table of ranks above has the whole binding.\n"
"\n"
"Severity: medium where there are fewer CPUs than ranks that share them, else info: what it\n"
"costs stands in each rank's own findings (GT301, GT509).\n"
"Silent: ranks that are not bound at all, which the scheduler may spread.\n"
"Not judged: files without the job's CPUs; one file.\n"
"Wrong when: ranks that share CPUs are never busy at the same time.\n",
	.judge_ranks = judge_ranks,
};
/* clang-format on */
