/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT210: products with few rows stream their weights at the memory's speed. Nothing is wrong; it
 * tells what would help, and keeps GT205 and GT208 from blaming these products.
 */
#include "product_model.h"

#define SHARE_PERCENT 10.0
#define DECODE_ROWS   16

static void run(struct rule_context *context)
{
	const struct model *model = context->model;
	const char *why = product_why_unknown(context);
	int64_t busy_ns = 0, largest_ns = 0;
	const struct gemm_shape *shape;
	const struct shape_use *use;
	struct finding *finding;
	uint32_t largest = MODEL_NONE;
	double bytes = 0, gbs;

	if (why) {
		rule_not_judged(context, "%s", why);
		return;
	}
	for (uint32_t i = 0; i < model->gemm_count; i++) {
		use = &context->work.shapes[i];
		shape = &model->gemms[i];
		if (!use->products || (shape->m > DECODE_ROWS && shape->n > DECODE_ROWS) ||
		    !product_is_at_memory_roof(context, i))
			continue;
		busy_ns += use->busy_ns;
		bytes += gemm_bytes(shape) * (double)use->products;
		if (use->busy_ns > largest_ns) {
			largest_ns = use->busy_ns;
			largest = i;
		}
	}
	if (rule_share(context, busy_ns) < SHARE_PERCENT) {
		rule_silent(context,
			    "products of at most 16 rows at the memory's speed are %.1f %% of the "
			    "%s (raised from %.0f %%)",
			    rule_share(context, busy_ns), context->unit, SHARE_PERCENT);
		return;
	}
	shape = &model->gemms[largest];
	use = &context->work.shapes[largest];
	gbs = bytes / (double)busy_ns;
	finding = rule_raise(context, use->call);
	finding->cost_ms = rule_ms(context, busy_ns);
	product_describe(finding, shape);
	finding_text(finding, "kernel", model->kernels[use->kernel].short_name);
	finding_number(finding, "achieved_gbs", gbs);
	finding_number(finding, "memory_gbs", product_memory_gbs(context));
	finding_number(finding, "gemm_ms_per_step", finding->cost_ms);
	finding_summary(
		finding,
		"Products of at most 16 rows take %.2f ms of each %s (%.1f %%) and read their "
		"operands at %.0f of %.0f GB/s: they are at the memory's roof.",
		finding->cost_ms, context->unit, rule_percent(context, finding->cost_ms), gbs,
		product_memory_gbs(context));
	finding_fix(finding,
		    "Only more rows per product (larger or continuous batches, speculative "
		    "decoding) or smaller weights (fp8, int8, int4) make them faster.");
	rule_settle(context, finding);
	finding->severity = SEVERITY_INFO;
}

/* clang-format off */
const struct rule rule_decode_memory_roof = {
	.name = "decode_memory_roof",
	.id = "GT210",
	.title = "decode at the memory roof",
	.page =
"An information: products with at most 16 rows or columns that move at least 60 % of the device\n"
"memory's bandwidth take at least 10 % of the mean steady step. That is how decoding looks: each\n"
"token reads all weights once. GT205 and GT208 do not speak of these products.\n"
"\n"
"No gain is stated. Larger batches cost nothing more until about 100 to 300 rows; weights of half\n"
"the size halve the time.\n"
"Silent: fewer such products. Not judged: unknown GPU or vGPU.\n"
"Wrong when: the weights fit into the L2 cache, which is faster than the memory.\n",
	.run = run,
	.needs_nodes = true,
};
/* clang-format on */
