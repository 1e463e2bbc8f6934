/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT203: double precision on a GPU that has next to none.
 */
#include <stdio.h>

#include "array_len.h"
#include "product_model.h"
#include "text.h"

#define SHARE_PERCENT 2.0
/* Half the bytes at least; at most the 31 of 32 parts of the arithmetic. */
#define GAIN_LOW  0.5
#define GAIN_HIGH 0.97

static bool is_wanted(const struct kernel_traits *traits)
{
	return traits->is_fp64;
}

/* Compute capabilities whose fp64 rate is at most 1/32 of fp32 (CUDA C++ Programming Guide,
 * "Arithmetic Instructions"). */
static bool is_slow(uint16_t major, uint16_t minor)
{
	static const uint16_t slow[][2] = {{5, 0},  {5, 2},  {5, 3},  {6, 1}, {6, 2},
					   {7, 2},  {7, 5},  {8, 6},  {8, 7}, {8, 9},
					   {10, 3}, {11, 0}, {12, 0}, {12, 1}};

	for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
		if (slow[i][0] == major && slow[i][1] == minor)
			return true;
	}
	return false;
}

static void run(struct rule_context *context)
{
	struct kernel_sum sum = work_sum(context->model, &context->work, is_wanted);
	uint16_t minor, major = product_capability(context, &minor);
	double busy_ms = rule_ms(context, sum.busy_ns);
	struct finding *finding;
	const char *kernel;
	char capability[16];

	if (rule_percent(context, busy_ms) < SHARE_PERCENT) {
		rule_silent(context,
			    "kernels in double precision are %.1f %% of the %s (raised from "
			    "%.0f %%)",
			    rule_percent(context, busy_ms), context->unit, SHARE_PERCENT);
		return;
	}
	if (!major) {
		rule_not_judged(context, "the compute capability of this GPU is not known");
		return;
	}
	snprintf(capability, sizeof(capability), "%u.%u", major, minor);
	if (!is_slow(major, minor)) {
		rule_silent(context, "compute capability %s is not slow at double precision",
			    capability);
		return;
	}
	finding = rule_raise(context, sum.call);
	kernel = context->model->kernels[sum.kernel].short_name;
	finding->cost_ms = busy_ms;
	finding->per_step = (double)sum.launches / context->steady_steps;
	finding->gain_low_ms = busy_ms * GAIN_LOW;
	finding->gain_high_ms = busy_ms * GAIN_HIGH;
	for (int part = 0; part < LEDGER_COMPUTE_PARTS; part++)
		finding->draws_from |= 1u << part;
	finding_text(finding, "kernel", kernel);
	finding_number(finding, "kernels", (double)sum.names);
	finding_number(finding, "kernel_ms_per_step", busy_ms);
	finding_text(finding, "compute_capability", capability);
	finding_summary(finding,
			"%zu %s in double precision %s %.2f ms of each %s (%.1f %%), most of "
			"it %s; compute capability %s does fp64 at 1/32 of its fp32 rate or less.",
			sum.names, text_noun((double)sum.names, "kernel", "kernels"),
			text_noun((double)sum.names, "takes", "take"), busy_ms, context->unit,
			rule_percent(context, busy_ms), kernel, capability);
	finding_fix(finding, "Use fp32 where the accuracy allows it (look for a float64 tensor or "
			     "a Python float that promotes), or a GPU with full fp64 units.");
	rule_settle(context, finding);
}

/* clang-format off */
const struct rule rule_slow_double_precision = {
	.name = "slow_double_precision",
	.id = "GT203",
	.title = "double precision where it is slow",
	.page =
"Raised when kernels in double precision take at least 2 % of the mean steady step on a compute\n"
"capability whose fp64 rate is 1/32 of fp32 or less: 5.x, 6.1, 6.2, 7.2, 7.5, 8.6, 8.7, 8.9,\n"
"10.3, 11.0, 12.x. A kernel is one when its name says so (dgemm, d884) or its arguments are\n"
"double and nothing in them is float or half: scalars are often double where the data is not.\n"
"\n"
"Gain: from half of their time (half the bytes) up to 97 % (the arithmetic).\n"
"Silent: 6.0, 7.0, 8.0, 9.0, 10.0, which have fp64 units. Not judged: unknown compute capability.\n"
"Wrong when: the problem needs double precision.\n",
	.run = run,
	.needs_nodes = true,
};
/* clang-format on */
