/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hand-made training steps that communicate, for the rules about it: 20 steps of forward kernels,
 * backward kernels with all-reduces, and an optimizer, on one rank of two.
 */
#ifndef GPUTRACE_TESTS_COMM_BENCH_H
#define GPUTRACE_TESTS_COMM_BENCH_H

#include "rule_bench.h"

struct comm_loop {
	int sums;	    /* all-reduces per backward pass */
	int micro_batches;  /* 0: one */
	uint64_t sum_bytes; /* of each */
	int64_t sum_ns;	    /* its kernel, when nobody is late */
	int64_t late_ns;    /* how much longer it is in every second step */
	bool is_hidden;	    /* the all-reduces run beside the backward kernels */
	bool has_calls;	    /* the calls to NCCL are in the file */
	bool is_layered;    /* one all-reduce per layer, forward and backward, of one buffer */
	const char *kernel; /* NULL: an all-reduce's */
};

#define COMM_ALL_REDUCE_KERNEL                                                                     \
	"_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"

void comm_bench_run(struct bench *bench, const struct comm_loop *loop);

#endif
