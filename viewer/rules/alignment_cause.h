/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes of misaligned Tensor Core products, shared by the rule about extents (GT201) and the one
 * about pointers and leading dimensions (GT206). One cause (a vocabulary of 50257) is one finding,
 * whatever products it appears in.
 */
#ifndef GPUTRACE_RULES_ALIGNMENT_CAUSE_H
#define GPUTRACE_RULES_ALIGNMENT_CAUSE_H

#include "gemm_alignment.h"
#include "rule.h"

#define ALIGNMENT_SHARE_PERCENT 1.0 /* of the step, from which a cause is told */

struct alignment_cause {
	struct gemm_alignment alignment;
	uint32_t shape; /* that took most of the time */
	int64_t busy_ns, shape_ns;
	double low_ns, high_ns; /* what the cure gains over the steady steps */
	uint64_t products;
	size_t shapes;
	uint64_t refused; /* calls with such a shape that the library returned with an error */
	bool is_measured; /* an aligned twin is in the trace */
};

/* Those whose fault is wanted; to be freed. */
struct alignment_cause *alignment_causes_find(const struct rule_context *context,
					      bool (*is_wanted)(enum gemm_fault fault),
					      size_t *count);
void alignment_cause_raise(struct rule_context *context, const struct alignment_cause *cause);
/* Share of a product's time that a cure gains by what was published. */
double alignment_published_low(bool is_odd);
double alignment_published_high(bool is_odd);

#endif
