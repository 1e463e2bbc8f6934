/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT206: matrix products whose extents are fine, but one operand begins or strides off 16 bytes: a
 * view with an offset, or rows that were not padded.
 */
#include <stdlib.h>

#include "alignment_cause.h"

static bool is_pointer_or_leading(enum gemm_fault fault)
{
	return fault == GEMM_POINTER || fault == GEMM_LEADING;
}

static void run(struct rule_context *context)
{
	size_t count, raised = 0;
	struct alignment_cause *causes =
		alignment_causes_find(context, is_pointer_or_leading, &count);

	for (size_t i = 0; i < count; i++) {
		if (rule_share(context, causes[i].busy_ns) >= ALIGNMENT_SHARE_PERCENT) {
			alignment_cause_raise(context, &causes[i]);
			raised++;
		}
	}
	free(causes);
	if (raised)
		return;
	if (rule_share(context, context->work.product_ns - context->work.shaped_ns) >=
	    ALIGNMENT_SHARE_PERCENT)
		rule_not_judged(context, "the operands of the matrix products were not recorded");
	else
		rule_silent(context, context->work.product_ns
					     ? "no product with a misaligned pointer or leading "
					       "dimension takes 1 %% of the step"
					     : "there are no matrix products");
}

/* clang-format off */
const struct rule rule_misaligned_pointer = {
	.name = "misaligned_pointer",
	.id = "GT206",
	.title = "misaligned pointer or leading dimension",
	.page =
"Raised when products whose extents are aligned, but one leading dimension or pointer is no\n"
"multiple of 16 bytes, take at least 1 % of the mean steady step. Memory of the framework\n"
"begins at multiples of 256 bytes or more, so this is a view with an offset, or a slice of a\n"
"wider matrix.\n"
"\n"
"Gain: as for GT201.\n"
"Silent: kernels named for full alignment or CUDA cores; products with a misaligned extent,\n"
"which are GT201. Not judged: operands that were not recorded.\n"
"Wrong when: the copy that the cure needs costs more than it gains.\n",
	.run = run,
	.needs_nodes = true,
};
/* clang-format on */
