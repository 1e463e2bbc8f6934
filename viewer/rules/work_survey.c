/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the kernels of the steady steps.
 */
#include "work_survey.h"

#include <stdlib.h>
#include <string.h>

#include "xmalloc.h"

void work_visit_steady(const struct model *model, size_t device,
		       void (*visit)(void *context, const struct gpu_op *op), void *context)
{
	const struct step_window *windows = model->devices[device].ledger.windows;

	for (size_t s = 0; windows && s < model->steps.count; s++) {
		size_t first, limit;

		if (model->steps.items[s].kind != STEP_STEADY ||
		    windows[s].end_ns <= windows[s].begin_ns)
			continue;
		model_ops_between(model, device, windows[s].begin_ns, windows[s].end_ns, &first,
				  &limit);
		for (size_t i = first; i < limit; i++)
			visit(context, &model->ops[i]);
	}
}

struct survey_pass {
	const struct model *model;
	struct work_survey *survey;
};

static bool is_product_kernel(const struct gpu_op *op)
{
	return op->kernel_class == KERNEL_GEMM || op->kernel_class == KERNEL_CONV;
}

static void add_to_shape(struct survey_pass *pass, struct shape_use *use, const struct gpu_op *op,
			 uint32_t product)
{
	int64_t busy_ns = op->end_ns - op->begin_ns;

	pass->survey->product_ns += busy_ns;
	pass->survey->shaped_ns += busy_ns;
	use->busy_ns += busy_ns;
	/* A captured product runs again with every launch of its graph. */
	if (use->last_product != product || use->last_launch != op->call || !use->products)
		use->products++;
	use->last_product = product;
	use->last_launch = op->origin != MODEL_NONE ? op->call : use->last_launch;
	if (pass->model->kernels[op->detail].traits.is_split)
		use->is_split = true;
	if (busy_ns > use->heaviest_ns) {
		use->heaviest_ns = busy_ns;
		use->kernel = op->detail;
		use->call = product;
	}
}

/* The call whose shape explains this kernel, and what is kept of that shape. */
static struct shape_use *shape_of(struct survey_pass *pass, const struct gpu_op *op, uint32_t *call,
				  uint8_t *math_flags)
{
	const struct model *model = pass->model;

	*call = model_call_gemm(model, model_op_call(op));
	if (*call != MODEL_NONE) {
		uint32_t shape = model->calls[*call].detail;

		*math_flags = model->gemms[shape].math_flags;
		return &pass->survey->shapes[shape];
	}
	*call = is_product_kernel(op) ? model_call_conv(model, model_op_call(op)) : MODEL_NONE;
	if (*call != MODEL_NONE && model->convs[model->calls[*call].detail].dimensions) {
		uint32_t shape = model->calls[*call].detail;

		*math_flags = model->convs[shape].math_flags;
		return &pass->survey->convs[shape];
	}
	return NULL;
}

static void add_kernel(void *context, const struct gpu_op *op)
{
	struct survey_pass *pass = context;
	struct kernel_use *use;
	struct shape_use *shape;
	uint32_t product;
	uint8_t math_flags = 0;
	int64_t busy_ns = op->end_ns - op->begin_ns;

	if (op->type != GPU_OP_KERNEL)
		return;
	use = &pass->survey->kernels[op->detail];
	use->busy_ns += busy_ns;
	use->launches++;
	if (busy_ns > use->longest_ns || use->launches == 1) {
		use->longest_ns = busy_ns;
		use->call = op->call;
	}
	shape = shape_of(pass, op, &product, &math_flags);
	if (shape) {
		use->shaped_ns += busy_ns;
		if (math_flags & WORK_MATH_PEDANTIC)
			use->pedantic_ns += busy_ns;
		add_to_shape(pass, shape, op, product);
	} else if (is_product_kernel(op)) {
		pass->survey->product_ns += busy_ns;
	}
}

void work_survey_build(const struct model *model, size_t device, struct work_survey *survey)
{
	struct survey_pass pass = {model, survey};

	memset(survey, 0, sizeof(*survey));
	survey->shapes = xcalloc(model->gemm_count + 1, sizeof(*survey->shapes));
	survey->convs = xcalloc(model->conv_count + 1, sizeof(*survey->convs));
	survey->kernels = xcalloc(model->kernel_count + 1, sizeof(*survey->kernels));
	work_visit_steady(model, device, add_kernel, &pass);
	for (size_t i = 0; i < model->call_count; i++) {
		if (model->calls[i].kind != RECORD_KIND_gemm || !model->calls[i].status)
			continue;
		survey->shapes[model->calls[i].detail].refused++;
		survey->refused++;
	}
}

void work_survey_free(struct work_survey *survey)
{
	free(survey->shapes);
	free(survey->convs);
	free(survey->kernels);
	memset(survey, 0, sizeof(*survey));
}

struct kernel_sum work_sum(const struct model *model, const struct work_survey *survey,
			   bool (*is_wanted)(const struct kernel_traits *traits))
{
	struct kernel_sum sum = {.kernel = MODEL_NONE, .call = MODEL_NONE};
	int64_t most_ns = -1;

	for (uint32_t k = 0; k < model->kernel_count; k++) {
		const struct kernel_use *use = &survey->kernels[k];

		if (!use->launches || !is_wanted(&model->kernels[k].traits))
			continue;
		sum.busy_ns += use->busy_ns;
		sum.launches += use->launches;
		sum.names++;
		if (use->busy_ns > most_ns) {
			most_ns = use->busy_ns;
			sum.kernel = k;
			sum.call = use->call;
		}
	}
	return sum;
}
