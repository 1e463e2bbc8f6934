/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT202: products and convolutions in fp32 run on CUDA cores although the GPU has Tensor Cores.
 */
#include <stdio.h>

#include "conv_alignment.h"
#include "product_model.h"

#define SHARE_PERCENT 5.0
/* Where the table does not know the GPU: what was published for TF32 and half precision. */
#define UNKNOWN_LOW  0.3
#define UNKNOWN_HIGH 0.9
/* Half precision halves the bytes that the other kernels of the model move. */
#define OTHERS_HIGH 0.5
#define OTHERS	    (1u << LEDGER_MEMORY_BOUND | 1u << LEDGER_ATTENTION)

static bool is_wanted(const struct kernel_traits *traits)
{
	return traits->is_fp32_simt;
}

/* Time of these kernels that Tensor Cores would not shorten: exact math was asked for, or memory is
 * the roof. */
static int64_t excused_ns(const struct rule_context *context)
{
	const struct model *model = context->model;
	int64_t excused = 0;

	for (uint32_t k = 0; k < model->kernel_count; k++) {
		if (model->kernels[k].traits.is_fp32_simt)
			excused += context->work.kernels[k].pedantic_ns;
	}
	for (uint32_t i = 0; i < model->gemm_count; i++) {
		const struct shape_use *use = &context->work.shapes[i];

		if (use->products && model->kernels[use->kernel].traits.is_fp32_simt &&
		    !(model->gemms[i].math_flags & WORK_MATH_PEDANTIC) &&
		    product_is_at_memory_roof(context, i))
			excused += use->busy_ns;
	}
	for (uint32_t i = 0; i < model->conv_count; i++) {
		const struct shape_use *use = &context->work.convs[i];
		const struct conv_shape *shape = &model->convs[i];

		/* Depthwise: a channel meets no other one, so that there is no product of matrices
		 * in it. */
		if (use->products && model->kernels[use->kernel].traits.is_fp32_simt &&
		    !(shape->math_flags & WORK_MATH_PEDANTIC) && shape->groups > 1 &&
		    shape->groups == shape->channels_in)
			excused += use->busy_ns;
	}
	return excused;
}

/* How many times faster: with TF32 (or fp16 on 7.x) as the first step, with half precision at most.
 */
static void speedups(const struct rule_context *context, double *least, double *most)
{
	const struct gpu_row *row = context->gpu.row;
	double half = row->bf16_tflops > row->fp16_tflops ? row->bf16_tflops : row->fp16_tflops;
	double first = row->tf32_tflops > 0 ? row->tf32_tflops : half;

	*most = row->fp32_tflops > 0 ? half / row->fp32_tflops : 1;
	/* A quarter of the ratio of the peaks is what is seen where memory has its share. */
	*least = row->fp32_tflops > 0 ? first / row->fp32_tflops / 4 : 1;
	if (*most < 1)
		*most = 1;
	if (*least < 1)
		*least = 1;
}

/* What is computed, where the kernel with most time belongs to a convolution. */
static void add_convolution(struct finding *finding, const struct model *model, uint32_t launch)
{
	uint32_t call = model_call_conv(model, launch);
	char text[160];

	if (call == MODEL_NONE || !model->convs[model->calls[call].detail].dimensions)
		return;
	conv_describe(&model->convs[model->calls[call].detail], text, sizeof(text));
	finding_text(finding, "convolution", text);
}

static void raise(struct rule_context *context, const struct kernel_sum *sum, double busy_ms,
		  uint16_t major, uint16_t minor)
{
	struct finding *finding = rule_raise(context, sum->call);
	const char *kernel = context->model->kernels[sum->kernel].short_name;
	char capability[16], others[112] = "";
	double least, most, others_ms;

	finding->cost_ms = busy_ms;
	finding->per_step = (double)sum->launches / context->steady_steps;
	if (context->gpu.row) {
		speedups(context, &least, &most);
		finding->gain_low_ms = busy_ms * (1 - 1 / least);
		finding->gain_high_ms = busy_ms * (1 - 1 / most);
	} else {
		finding->gain_low_ms = busy_ms * UNKNOWN_LOW;
		finding->gain_high_ms = busy_ms * UNKNOWN_HIGH;
	}
	others_ms = OTHERS_HIGH * (ledger_part_ms(context->ledger, LEDGER_MEMORY_BOUND) +
				   ledger_part_ms(context->ledger, LEDGER_ATTENTION));
	finding->gain_high_ms += others_ms;
	if (others_ms >= 0.005)
		snprintf(others, sizeof(others),
			 " In half precision all other kernels move fewer bytes, too: up to %.2f "
			 "ms of "
			 "the gain.",
			 others_ms);
	finding->draws_from = 1u << LEDGER_GEMM | 1u << LEDGER_CONV | OTHERS;
	snprintf(capability, sizeof(capability), "%u.%u", major, minor);
	finding_text(finding, "kernel", kernel);
	finding_number(finding, "kernel_ms_per_step", busy_ms);
	finding_number(finding, "kernels_per_step", finding->per_step);
	finding_text(finding, "compute_capability", capability);
	finding_number(finding, "bytes_halved_ms_per_step", others_ms);
	add_convolution(finding, context->model, sum->call);
	finding_text(finding, "gain_from",
		     context->gpu.row ? "peaks of the table" : "published range");
	finding_summary(
		finding,
		"Products and convolutions in fp32 run on CUDA cores for %.2f ms of each %s "
		"(%.1f %%), most of it in %s; this GPU (compute capability %s) has Tensor "
		"Cores.%s",
		busy_ms, context->unit, rule_percent(context, busy_ms), kernel, capability, others);
	if (major >= 8)
		finding_fix(finding,
			    "Allow TF32 (torch.set_float32_matmul_precision(\"high\"), "
			    "torch.backends.cudnn.allow_tf32, or CUBLAS_COMPUTE_32F_FAST_TF32), or "
			    "use bf16 autocast; TF32 keeps 10 bits of mantissa, so check the "
			    "accuracy.");
	else
		finding_fix(finding, "Use mixed precision with fp16 and loss scaling "
				     "(torch.autocast, GradScaler); check the accuracy.");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	struct kernel_sum sum = work_sum(context->model, &context->work, is_wanted);
	int64_t busy_ns = sum.busy_ns - excused_ns(context);
	uint16_t minor, major = product_capability(context, &minor);

	if (rule_share(context, busy_ns) < SHARE_PERCENT)
		rule_silent(context,
			    "fp32 products and convolutions on CUDA cores are %.1f %% of the %s "
			    "(raised from %.0f %%)",
			    rule_share(context, busy_ns), context->unit, SHARE_PERCENT);
	else if (context->gpu.partition == GPU_VGPU)
		rule_not_judged(context, "%s", product_why_unknown(context));
	else if (!major)
		rule_not_judged(context, "the compute capability of this GPU is not known");
	else if (major < 7 || (context->gpu.row && !context->gpu.row->tensor_core_gen))
		rule_silent(context, "this GPU has no Tensor Cores");
	else
		raise(context, &sum, rule_ms(context, busy_ns), major, minor);
}

/* clang-format off */
const struct rule rule_tensor_cores_unused = {
	.name = "tensor_cores_unused",
	.id = "GT202",
	.title = "Tensor Cores not used",
	.page =
"Raised when matrix products and convolutions in fp32 that run on CUDA cores by their kernels'\n"
"names (sgemm, scudnn, simt, ffma, cuDNN's float engines) take at least 5 % of the mean steady\n"
"step on a GPU of compute capability 7.0 or higher that has Tensor Cores.\n"
"\n"
"Cure on 8.0 and higher: TF32, which PyTorch does not use for products by default, or bf16.\n"
"On 7.x: fp16 with loss scaling. TF32 keeps 10 bits of mantissa; most training does not\n"
"notice, some solvers and metrics do.\n"
"\n"
"Gain: from a quarter of the ratio of the dense peaks of TF32 (fp16 on 7.x) and fp32, up to the\n"
"ratio of half precision and fp32, of these kernels' time. GeForce GPUs gain less by TF32. Half\n"
"precision also halves the bytes of the model's other kernels: the upper end counts half of the\n"
"attention and of the memory-bound kernels beside it.\n"
"\n"
"Silent: products and convolutions that ask for exact (pedantic) math, products of a vector and\n"
"those at the memory roof, depthwise convolutions, GPUs without Tensor Cores.\n"
"Not judged: unknown compute capability, vGPU.\n"
"Wrong when: the results need the 23 bits of fp32.\n",
	.run = run,
	.needs_nodes = true,
};
/* clang-format on */
