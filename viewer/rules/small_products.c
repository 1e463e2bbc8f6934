/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT205: products whose tiles do not even fill the GPU once.
 */
#include "product_model.h"
#include "text.h"

#define SHARE_PERCENT 10.0

struct small {
	int64_t busy_ns, largest_ns;
	double empty_ns; /* busy time weighted by the share of SMs without a tile */
	uint64_t products;
	size_t shapes;
	uint32_t largest;   /* shape with most time */
	int64_t unknown_ns; /* no tile in the name */
};

static struct small find_small(const struct rule_context *context, double sms)
{
	const struct model *model = context->model;
	struct small small = {.largest = MODEL_NONE};

	for (uint32_t i = 0; i < model->gemm_count; i++) {
		const struct shape_use *use = &context->work.shapes[i];
		struct product_tiles tiles;

		if (!use->products)
			continue;
		tiles = product_tiles_of(&model->gemms[i], &model->kernels[use->kernel].traits);
		if (tiles.most <= 0) {
			small.unknown_ns += use->busy_ns;
			continue;
		}
		if (tiles.most >= sms || use->is_split || product_is_at_memory_roof(context, i))
			continue;
		small.busy_ns += use->busy_ns;
		small.empty_ns += (double)use->busy_ns * (1 - tiles.most / sms);
		small.products += use->products;
		small.shapes++;
		if (use->busy_ns > small.largest_ns) {
			small.largest_ns = use->busy_ns;
			small.largest = i;
		}
	}
	return small;
}

static void raise(struct rule_context *context, const struct small *small, double sms)
{
	const struct gemm_shape *shape = &context->model->gemms[small->largest];
	const struct shape_use *use = &context->work.shapes[small->largest];
	const struct model_kernel *kernel = &context->model->kernels[use->kernel];
	struct finding *finding = rule_raise(context, use->call);
	struct product_tiles tiles = product_tiles_of(shape, &kernel->traits);

	finding->cost_ms = rule_ms(context, small->busy_ns);
	finding->per_step = (double)small->products / context->steady_steps;
	finding->gain_high_ms = small->empty_ns / 1e6 / context->steady_steps;
	finding->gain_low_ms = finding->gain_high_ms / 4;
	finding->draws_from = 1u << LEDGER_GEMM;
	finding->cuts_launches = true;
	product_describe(finding, shape);
	finding_text(finding, "kernel", kernel->short_name);
	finding_number(finding, "tiles", tiles.most);
	finding_number(finding, "sms", sms);
	finding_number(finding, "shapes", (double)small->shapes);
	finding_number(finding, "products_per_step", finding->per_step);
	finding_number(finding, "gemm_ms_per_step", finding->cost_ms);
	finding_summary(finding,
			"%.0f products per %s of %zu %s have fewer tiles than the GPU has SMs "
			"(%.0f); they take %.2f ms (%.1f %%). The heaviest, m=%u n=%u k=%u batch "
			"%u, has %.0f tiles.",
			finding->per_step, context->unit, small->shapes,
			text_noun((double)small->shapes, "shape", "shapes"), sms, finding->cost_ms,
			rule_percent(context, finding->cost_ms), shape->m, shape->n, shape->k,
			shape->batch, tiles.most);
	finding_fix(finding, "Use a larger batch, batch the products into one call "
			     "(bmm, grouped GEMM), or run independent ones on several streams or "
			     "branches of a CUDA graph.");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	double sms = product_sms(context);
	struct small small;

	if (sms <= 0) {
		rule_not_judged(context, "the number of SMs is not known");
		return;
	}
	small = find_small(context, sms);
	if (rule_share(context, small.busy_ns) >= SHARE_PERCENT)
		raise(context, &small, sms);
	else if (rule_share(context, small.unknown_ns + context->work.product_ns -
					     context->work.shaped_ns) >= SHARE_PERCENT)
		rule_not_judged(context, "the shapes of the matrix products were not recorded, or "
					 "their kernels' names tell no tile");
	else
		rule_silent(context,
			    "products that do not fill the GPU once are %.1f %% of the %s (raised "
			    "from %.0f %%)",
			    rule_share(context, small.busy_ns), context->unit, SHARE_PERCENT);
}

/* clang-format off */
const struct rule rule_small_products = {
	.name = "small_products",
	.id = "GT205",
	.title = "GEMMs too small",
	.page =
"Raised when products with fewer tiles than the device has SMs take at least 10 % of the mean\n"
"steady step. The tile is read from the kernel's name; the way of lying with more tiles counts.\n"
"\n"
"Gain: up to the products' time on the SMs that have no tile, if other work filled them; at\n"
"least a quarter of that.\n"
"Silent: split-K and stream-K kernels; products at the memory roof (60 % of its bandwidth, see GT210), bound by\n"
"the weights they read. Not judged: no shapes, no tile in the names, unknown number of SMs.\n"
"Wrong when: the products depend on each other and the batch is given.\n",
	.run = run,
	.needs_nodes = true,
};
/* clang-format on */
