/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the collector would have sampled, for rules about the machine.
 */
#ifndef GPUTRACE_TESTS_MACHINE_BENCH_H
#define GPUTRACE_TESTS_MACHINE_BENCH_H

#include "rule_bench.h"

/* The subject: device 0, or the one thread of the tiny machine, whose number is 0 here. */
void bench_sample(struct bench *bench, enum sample_metric metric, int64_t time_ns, int64_t value);
void bench_pages(struct bench *bench, int32_t node, uint32_t on_node, uint32_t sampled);
/* Two nodes at distance 21 with CPUs 0,2 and 1,3; the GPU is on node 1. */
void bench_two_nodes(struct bench *bench, const char *cpus_allowed);
/* 20 steps: a blocking upload, 10 ms of kernels. Does not run the rules. */
void bench_copy_steps(struct bench *bench, uint64_t bytes);

#endif
