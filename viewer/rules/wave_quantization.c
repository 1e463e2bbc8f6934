/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT204: the last wave of a product's tiles fills less than half of the GPU.
 */
#include <math.h>

#include "product_model.h"

#define LOST_PERCENT 3.0
#define LAST_FILL    0.5

struct waves {
	double tiles, waves, last_fill, lost_share;
};

static struct waves waves_of(double tiles, double sms)
{
	struct waves waves = {.tiles = tiles, .waves = ceil(tiles / sms)};

	waves.last_fill = (tiles - (waves.waves - 1) * sms) / sms;
	waves.lost_share = 1 - tiles / (waves.waves * sms);
	return waves;
}

/* How the tiles lie is not known: what holds for both ways counts, with the smaller loss. */
static bool has_bad_tail(const struct rule_context *context, uint32_t index, struct waves *waves)
{
	const struct gemm_shape *shape = &context->model->gemms[index];
	const struct shape_use *use = &context->work.shapes[index];
	const struct kernel_traits *traits = &context->model->kernels[use->kernel].traits;
	struct product_tiles tiles = product_tiles_of(shape, traits);
	double sms = product_sms(context);
	struct waves other;

	if (!use->products || use->is_split || traits->is_persistent || tiles.least <= sms ||
	    sms <= 0 || product_is_memory_bound(context, shape, traits))
		return false;
	*waves = waves_of(tiles.least, sms);
	other = waves_of(tiles.most, sms);
	if (waves->last_fill >= LAST_FILL || other.last_fill >= LAST_FILL)
		return false;
	if (other.lost_share < waves->lost_share)
		*waves = other;
	return true;
}

/* Lost time of the steady steps, bounded by what the best products reach on this GPU. */
static double lost_ns(const struct rule_context *context, uint32_t index, const struct waves *waves)
{
	const struct gemm_shape *shape = &context->model->gemms[index];
	const struct shape_use *use = &context->work.shapes[index];
	const struct kernel_traits *traits = &context->model->kernels[use->kernel].traits;
	double lost = (double)use->busy_ns * waves->lost_share;
	double peak = product_peak_tflops(context, shape, traits);
	double best = peak > 0 ? gemm_flops(shape) * (double)use->products /
					 (peak * 1e3 * PRODUCT_REACHABLE_SHARE)
			       : 0;
	double room = (double)use->busy_ns - best;

	if (lost > room)
		lost = room;
	return lost > 0 ? lost : 0;
}

static void raise(struct rule_context *context, uint32_t index, const struct waves *waves,
		  double lost_ms)
{
	const struct gemm_shape *shape = &context->model->gemms[index];
	const struct shape_use *use = &context->work.shapes[index];
	const struct model_kernel *kernel = &context->model->kernels[use->kernel];
	struct finding *finding = rule_raise(context, use->call);
	double sms = product_sms(context);

	finding->cost_ms = lost_ms;
	finding->per_step = (double)use->products / context->steady_steps;
	finding->gain_high_ms = lost_ms;
	/* Two blocks on an SM share it, which softens the tail. */
	finding->gain_low_ms = lost_ms / 4;
	finding->draws_from = 1u << LEDGER_GEMM;
	product_describe(finding, shape);
	finding_text(finding, "kernel", kernel->short_name);
	finding_number(finding, "tile_m", kernel->traits.tile_m);
	finding_number(finding, "tile_n", kernel->traits.tile_n);
	finding_number(finding, "tiles", waves->tiles);
	finding_number(finding, "sms", sms);
	finding_number(finding, "waves", waves->waves);
	finding_number(finding, "last_wave_percent", 100 * waves->last_fill);
	finding_number(finding, "gemm_ms_per_step", rule_ms(context, use->busy_ns));
	finding_summary(
		finding,
		"m=%u n=%u k=%u (batch %u, %s) has %.0f tiles of %ux%u on %.0f SMs: %.0f "
		"waves, the last %.0f %% full. That loses %.2f of %.2f ms per %s (%.1f %%).",
		shape->m, shape->n, shape->k, shape->batch, gemm_type_name(shape->type_a),
		waves->tiles, kernel->traits.tile_m, kernel->traits.tile_n, sms, waves->waves,
		100 * waves->last_fill, lost_ms, rule_ms(context, use->busy_ns), context->unit,
		rule_percent(context, lost_ms));
	finding_fix(finding,
		    "Choose a batch or hidden size with %.0f tiles or a little less (%.0f full "
		    "waves), or close to %.0f.",
		    (waves->waves - 1) * sms, waves->waves - 1, waves->waves * sms);
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	const struct model *model = context->model;
	size_t raised = 0;
	double most = 0;

	if (product_sms(context) <= 0) {
		rule_not_judged(context, "the number of SMs is not known");
		return;
	}
	for (uint32_t i = 0; i < model->gemm_count; i++) {
		struct waves waves;
		double percent, lost_ms;

		if (!has_bad_tail(context, i, &waves))
			continue;
		lost_ms = lost_ns(context, i, &waves) / 1e6 / context->steady_steps;
		percent = rule_percent(context, lost_ms);
		if (percent > most)
			most = percent;
		if (percent < LOST_PERCENT)
			continue;
		raise(context, i, &waves, lost_ms);
		raised++;
	}
	if (raised)
		return;
	if (rule_share(context, context->work.product_ns - context->work.shaped_ns) >= LOST_PERCENT)
		rule_not_judged(context, "the shapes of the matrix products were not recorded");
	else
		rule_silent(context,
			    "half-empty last waves lose %.1f %% of the %s at most (raised from "
			    "%.0f %%)",
			    most, context->unit, LOST_PERCENT);
}

/* clang-format off */
const struct rule rule_wave_quantization = {
	.name = "wave_quantization",
	.id = "GT204",
	.title = "tile and wave quantization",
	.page =
"A product is cut into tiles, one per SM at a time. Raised when the last wave of a shape's tiles\n"
"fills less than half of the SMs, and what it loses is at least 3 % of the mean steady step.\n"
"109 tiles on 108 SMs take two waves, as 216 do.\n"
"\n"
"The tile is read from the kernel's name; which way it lies is not known, so the loss counts\n"
"only where it holds for both. The number of SMs is the device's own, so a MIG instance is\n"
"judged by what it has.\n"
"\n"
"Gain: up to the lost share of the product's time, no more than 85 % of the dense peak leaves;\n"
"a quarter of it at least, since SMs that run two blocks soften the tail.\n"
"\n"
"Silent: persistent, split-K and stream-K kernels, which do not run in waves; products bound by\n"
"memory; less than one wave (GT205). Not judged: no shapes, unknown number of SMs.\n"
"Wrong when: the library would choose another tile for the other size.\n",
	.run = run,
	.needs_nodes = true,
};
/* clang-format on */
