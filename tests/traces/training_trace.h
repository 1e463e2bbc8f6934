/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes traces as a GPT-like training loop would leave them, through the real trace writer: host
 * calls, GPU records, names, sites, devices, clocks. One stream, one thread; times are modelled.
 */
#ifndef GPUTRACE_TESTS_TRAINING_TRACE_H
#define GPUTRACE_TESTS_TRAINING_TRACE_H

#include <stdint.h>

#include "trace_writer.h"

enum training_flaw {
	TRAINING_PAGEABLE_COPY = 1, /* the batch is copied from pageable memory */
	TRAINING_UNPADDED_GEMM = 2, /* vocabulary 50257 instead of 50304 */
	TRAINING_SYNC_IN_LOOP = 4,  /* loss.item() and a device synchronisation every step */
	TRAINING_STEP_MARKS = 8,    /* NVTX ranges "step N" */
	TRAINING_NO_GPU_TIMES = 16, /* as without CUPTI */
	TRAINING_FLAWS = 7	    /* all that cost time */
};

/* 0 or the writer's error. Leaves the file open, so that the caller ends it as it wants. */
int training_trace_write(struct trace_writer *writer, uint32_t steps, uint32_t flaws,
			 struct error *err);
void training_trace_options(struct trace_writer_options *options);

#endif
