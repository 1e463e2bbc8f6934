/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT207: kernels that turn NCHW into NHWC and back around convolutions.
 */
#include "rule.h"

#define SHARE_PERCENT 2.0

static bool is_wanted(const struct kernel_traits *traits)
{
	return traits->is_layout_change;
}

static void run(struct rule_context *context)
{
	struct kernel_sum sum = work_sum(context->model, &context->work, is_wanted);
	double busy_ms = rule_ms(context, sum.busy_ns);
	struct finding *finding;

	if (rule_percent(context, busy_ms) < SHARE_PERCENT) {
		rule_silent(context,
			    "layout conversions are %.1f %% of the %s (raised from %.0f %%)",
			    rule_percent(context, busy_ms), context->unit, SHARE_PERCENT);
		return;
	}
	if (ledger_part_ms(context->ledger, LEDGER_CONV) <= 0) {
		rule_silent(context, "there are layout conversions, but no convolutions");
		return;
	}
	finding = rule_raise(context, sum.call);
	finding->cost_ms = busy_ms;
	finding->per_step = (double)sum.launches / context->steady_steps;
	finding->gain_high_ms = busy_ms;
	/* The input still has to be converted once, and other kernels may be slower in NHWC. */
	finding->gain_low_ms = busy_ms / 2;
	finding->draws_from = 1u << LEDGER_MEMORY_BOUND;
	finding->cuts_launches = true;
	finding_text(finding, "kernel", context->model->kernels[sum.kernel].short_name);
	finding_number(finding, "kernels_per_step", finding->per_step);
	finding_number(finding, "kernel_ms_per_step", busy_ms);
	finding_summary(finding,
			"%.0f kernels per %s convert between NCHW and NHWC around convolutions: "
			"%.2f ms (%.1f %%).",
			finding->per_step, context->unit, busy_ms, rule_percent(context, busy_ms));
	finding_fix(finding, "Keep model and input in channels_last "
			     "(model.to(memory_format=torch.channels_last), and the input too).");
	rule_settle(context, finding);
}

/* clang-format off */
const struct rule rule_layout_conversion = {
	.name = "layout_conversion",
	.id = "GT207",
	.title = "layout conversion around convolutions",
	.page =
"Raised when kernels named nchwToNhwc or nhwcToNchw take at least 2 % of the mean steady step and\n"
"the step has convolutions. Tensor Cores want channels last; cuDNN converts by itself when the\n"
"tensors are NCHW.\n"
"\n"
"Gain: up to the conversions' time; at least half of it.\n"
"Silent: few conversions, no convolutions.\n"
"Wrong when: parts of the model only exist for NCHW; then conversions move, they do not vanish.\n",
	.run = run,
	.needs_nodes = true,
};
/* clang-format on */
