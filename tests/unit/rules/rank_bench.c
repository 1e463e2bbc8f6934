/* SPDX-License-Identifier: Apache-2.0 */
/* Rank r's clock is 3 s * r ahead of the first one's. */
#include "rank_bench.h"

#include <stdlib.h>
#include <string.h>

#include "rule_bench.h"
#include "text.h"
#include "xmalloc.h"

#define CLOCK_NS    3000000000
#define STEP_NS	    100000000ll
#define COMPUTE_NS  80000000
#define TRANSFER_NS 10000000
#define HASH	    0xabcdu

static void add_steps(struct rank_summary *rank, size_t index)
{
	rank->collectives = xcalloc(RANK_BENCH_STEPS, sizeof(*rank->collectives));
	rank->collective_count = RANK_BENCH_STEPS;
	for (uint32_t i = 0; i < RANK_BENCH_STEPS; i++) {
		int64_t at = CLOCK_NS * (int64_t)index + STEP_NS * (int64_t)(i + 1);

		rank->collectives[i] = (struct rank_collective){.hash = HASH,
								.size_bytes = 8 << 20,
								.call_ns = at,
								.begin_ns = at,
								.end_ns = at + TRANSFER_NS,
								.sequence = i + 1,
								.peer = MARK_NO_PEER,
								.kind = COLLECTIVE_ALL_REDUCE,
								.element = 7,
								.is_steady = true};
	}
	rank->last_ns = CLOCK_NS * (int64_t)index + STEP_NS * (RANK_BENCH_STEPS + 2);
}

void rank_bench_init(struct rank_bench *bench, size_t ranks)
{
	memset(bench, 0, sizeof(*bench));
	bench->count = ranks;
	bench->items = xcalloc(ranks, sizeof(*bench->items));
	for (size_t i = 0; i < ranks; i++) {
		struct rank_summary *rank = &bench->items[i];

		rank->path = text_format("r%zu.gtrace", i);
		rank->host = xstrdup("node");
		rank->cpus_allowed = xstrdup("0-63");
		rank->nodes_allowed = xstrdup("0-1");
		rank->host_cpus = 64;
		rank->rank = (int64_t)i;
		rank->world_size = (uint32_t)ranks;
		rank->gpu_node = i < ranks / 2 ? 0 : 1;
		rank->has_ledger = true;
		rank->step_ms = STEP_NS / 1e6;
		rank->compute_ms = COMPUTE_NS / 1e6;
		rank->part_ms[LEDGER_GEMM] = rank->compute_ms;
		rank->part_ms[LEDGER_COMM] = TRANSFER_NS / 1e6;
		rank->steady_count = RANK_BENCH_STEPS;
		rank->communicators = xcalloc(1, sizeof(*rank->communicators));
		rank->communicators[0] = (struct model_communicator){.handle = 0x10 + i,
								     .hash = HASH,
								     .rank = (uint32_t)i,
								     .rank_count = (uint32_t)ranks,
								     .end_ns = INT64_MAX};
		rank->communicator_count = 1;
		add_steps(rank, i);
		for (size_t k = 0; k < rank->collective_count; k++)
			rank->collectives[k].rank_count = (uint32_t)ranks;
	}
}

void rank_bench_delay(struct rank_bench *bench, size_t late, int64_t late_ns)
{
	for (size_t i = 0; i < bench->count; i++) {
		struct rank_summary *rank = &bench->items[i];

		for (size_t k = 0; k < rank->collective_count; k++) {
			if (i == late)
				rank->collectives[k].begin_ns += late_ns;
			rank->collectives[k].end_ns += late_ns;
		}
		if (i == late)
			rank->part_ms[LEDGER_IDLE_HOST_AWAY] += (double)late_ns / 1e6;
		else
			rank->part_ms[LEDGER_COMM] += (double)late_ns / 1e6;
		rank->step_ms += (double)late_ns / 1e6;
	}
}

struct rank_collective *rank_bench_collective(struct rank_bench *bench, size_t rank,
					      uint32_t sequence)
{
	return &bench->items[rank].collectives[sequence - 1];
}

void rank_bench_cut(struct rank_bench *bench, size_t rank, uint32_t sequence)
{
	bench->items[rank].collective_count = sequence - 1;
}

void rank_bench_run(struct rank_bench *bench)
{
	job_ranks_build(bench->items, bench->count, &bench->job);
	assert_true(bench->job.is_job);
	rules_run_ranks(&bench->job, &bench->findings);
}

void rank_bench_fini(struct rank_bench *bench)
{
	finding_list_free(&bench->findings);
	job_ranks_free(&bench->job);
}

const struct finding *rank_bench_only(const struct rank_bench *bench, const char *id)
{
	const struct finding *found = NULL;

	for (size_t i = 0; i < bench->findings.count; i++) {
		if (strcmp(bench->findings.items[i].id, id) != 0)
			continue;
		assert_null(found);
		found = &bench->findings.items[i];
	}
	assert_non_null(found);
	return found;
}

enum judgement_status rank_bench_status(const struct rank_bench *bench, const char *id)
{
	for (size_t i = 0; i < bench->findings.judgement_count; i++) {
		if (!strcmp(bench->findings.judgements[i].id, id))
			return bench->findings.judgements[i].status;
	}
	fail_msg("no judgement of %s", id);
	return NOT_JUDGED;
}

double rank_bench_number(const struct finding *finding, const char *key)
{
	for (size_t i = 0; i < finding->evidence_count; i++) {
		if (!strcmp(finding->evidence[i].key, key))
			return finding->evidence[i].value;
	}
	fail_msg("no evidence %s", key);
	return 0;
}

const char *rank_bench_text(const struct finding *finding, const char *key)
{
	for (size_t i = 0; i < finding->evidence_count; i++) {
		if (!strcmp(finding->evidence[i].key, key))
			return finding->evidence[i].text;
	}
	fail_msg("no evidence %s", key);
	return NULL;
}

enum judgement_status rank_bench_of_one_file(const char *id, const char *world_size)
{
	enum judgement_status status;
	struct bench bench;

	bench_init(&bench);
	if (world_size)
		script_info(bench.script, "world_size", world_size);
	bench_run(&bench);
	status = bench_status(&bench, id);
	bench_fini(&bench);
	return status;
}
