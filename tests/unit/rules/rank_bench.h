/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hand-made jobs of several ranks: each rank's clock starts at a time of its own, every step has
 * one all-reduce, to which a rank can come late.
 */
#ifndef GPUTRACE_TESTS_RANK_BENCH_H
#define GPUTRACE_TESTS_RANK_BENCH_H

#include "unit_test.h"

#include "rule.h"

#define RANK_BENCH_STEPS 20

struct rank_bench {
	struct rank_summary *items; /* given to the job by rank_bench_run() */
	size_t count;
	struct job_ranks job;
	struct finding_list findings;
};

/* Steps of 100 ms with 80 ms of compute and an all-reduce of 8 MiB that takes 10 ms. */
void rank_bench_init(struct rank_bench *bench, size_t ranks);
/* From now on the rank arrives so much later in every step, away from the GPU until then. */
void rank_bench_delay(struct rank_bench *bench, size_t rank, int64_t late_ns);
/* The rank's collective of this number, from 1. */
struct rank_collective *rank_bench_collective(struct rank_bench *bench, size_t rank,
					      uint32_t sequence);
/* Takes away everything that the rank did from this number on. */
void rank_bench_cut(struct rank_bench *bench, size_t rank, uint32_t sequence);
void rank_bench_run(struct rank_bench *bench);
void rank_bench_fini(struct rank_bench *bench);

/* What the rule says of one file by itself, of a job of that many ranks; NULL: it does not say. */
enum judgement_status rank_bench_of_one_file(const char *id, const char *world_size);

const struct finding *rank_bench_only(const struct rank_bench *bench, const char *id);
enum judgement_status rank_bench_status(const struct rank_bench *bench, const char *id);
double rank_bench_number(const struct finding *finding, const char *key);
const char *rank_bench_text(const struct finding *finding, const char *key);

#endif
