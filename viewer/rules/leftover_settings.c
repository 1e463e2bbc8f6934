/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT706: variables of the environment that were set for debugging and now slow the job down. Only
 * what slows this job counts: settings of NCCL in a job that communicates, and so on.
 */
#include <stdlib.h>
#include <string.h>

#include "array_len.h"
#include "rule.h"
#include "text.h"

/* From this share of a step with the host away before an upload, one thread for loading is slow. */
#define LOADER_PERCENT 5.0

enum setting_scope {
	SCOPE_ANY,
	SCOPE_COMMUNICATION, /* the job communicates */
	SCOPE_PRODUCTS,	     /* it multiplies float matrices */
	SCOPE_LOADER,	     /* it waits for input */
};

/* value NULL: any text but "" and "0"; "=X": exactly X. */
static const struct setting {
	const char *name, *value;
	enum setting_scope scope;
	uint32_t draws_from; /* what can get shorter; 0: cannot be told from this recording */
	const char *effect, *fix;
} settings[] = {
	{"CUDA_LAUNCH_BLOCKING", NULL, SCOPE_ANY,
	 1u << LEDGER_IDLE_ISSUE | 1u << LEDGER_IDLE_SYNC | 1u << LEDGER_IDLE_HOST_AWAY,
	 "every launch waits for its kernel, so that host and GPU never work at the same time",
	 "Unset CUDA_LAUNCH_BLOCKING; it is for finding the launch that failed."},
	{"NVIDIA_TF32_OVERRIDE", "=0", SCOPE_PRODUCTS, 0,
	 "no library may use TF32, whatever the program allows",
	 "Unset NVIDIA_TF32_OVERRIDE unless results must be compared bit by bit."},
	{"PYTORCH_NO_CUDA_MEMORY_CACHING", NULL, SCOPE_ANY, 1u << LEDGER_IDLE_SYNC,
	 "every tensor is a cudaMalloc and a cudaFree, which waits for the GPU",
	 "Unset PYTORCH_NO_CUDA_MEMORY_CACHING; it is for compute-sanitizer."},
	{"NCCL_P2P_DISABLE", NULL, SCOPE_COMMUNICATION, 1u << LEDGER_COMM,
	 "NCCL copies between GPUs through host memory, although they may reach each other",
	 "Unset NCCL_P2P_DISABLE, or set it only on machines where peer access hangs."},
	{"NCCL_SHM_DISABLE", NULL, SCOPE_COMMUNICATION, 1u << LEDGER_COMM,
	 "GPUs of one machine that cannot reach each other talk through the network",
	 "Unset NCCL_SHM_DISABLE."},
	{"NCCL_IB_DISABLE", NULL, SCOPE_COMMUNICATION, 1u << LEDGER_COMM,
	 "NCCL uses TCP sockets instead of InfiniBand or RoCE",
	 "Unset NCCL_IB_DISABLE where the machines have InfiniBand or RoCE."},
	{"NCCL_ALGO", "", SCOPE_COMMUNICATION, 1u << LEDGER_COMM,
	 "NCCL may not choose the algorithm by message size",
	 "Unset NCCL_ALGO unless it was measured on this machine with this NCCL."},
	{"NCCL_PROTO", "", SCOPE_COMMUNICATION, 1u << LEDGER_COMM,
	 "NCCL may not choose the protocol by message size",
	 "Unset NCCL_PROTO unless it was measured on this machine with this NCCL."},
	{"TORCH_DISTRIBUTED_DEBUG", "=DETAIL", SCOPE_COMMUNICATION, 0,
	 "every collective is checked across ranks by another collective before it runs",
	 "Unset TORCH_DISTRIBUTED_DEBUG; it is for finding mismatched collectives."},
	{"OMP_NUM_THREADS", "=1", SCOPE_LOADER, 0,
	 "work on the CPU, such as decoding and collating, runs on one thread while the GPU waits "
	 "for input; torchrun sets it where it is not set",
	 "Set OMP_NUM_THREADS to the CPUs per rank, or load in more worker processes."},
};

static bool is_set(const struct setting *setting, const char *text)
{
	if (!text || !*text)
		return false;
	if (!setting->value)
		return strcmp(text, "0") != 0;
	return setting->value[0] != '=' || !strcmp(text, setting->value + 1);
}

static bool communicates(const struct model *model)
{
	for (size_t i = 0; i < model->kernel_count; i++) {
		if (model->kernels[i].traits.kernel_class == KERNEL_COMMUNICATION)
			return true;
	}
	for (size_t i = 0; i < model->api_count; i++) {
		if (!strncmp(model->apis[i], "nccl", 4))
			return true;
	}
	return false;
}

/* Products of 32-bit floats, by shape or by the name of a kernel. */
static bool multiplies_floats(const struct model *model)
{
	for (size_t i = 0; i < model->gemm_count; i++) {
		if (model->gemms[i].type_a == ELEMENT_F32)
			return true;
	}
	for (size_t i = 0; i < model->kernel_count; i++) {
		if (strstr(model->kernels[i].name, "sgemm"))
			return true;
	}
	return false;
}

static double waits_for_input_percent(const struct rule_context *context)
{
	const struct device_ledger *ledger = context->ledger;
	int64_t idle_ns = 0;

	for (size_t i = 0; i < ledger->charge_count; i++) {
		const struct host_call *call = &context->model->calls[ledger->charges[i].call];

		if (ledger->charges[i].part == LEDGER_IDLE_HOST_AWAY &&
		    call->kind == RECORD_KIND_copy &&
		    context->model->transfers[call->detail].direction == COPY_H2D)
			idle_ns += ledger->charges[i].idle_ns;
	}
	return rule_share(context, idle_ns);
}

static bool is_in_scope(const struct rule_context *context, enum setting_scope scope)
{
	switch (scope) {
	case SCOPE_COMMUNICATION:
		return communicates(context->model);
	case SCOPE_PRODUCTS:
		return multiplies_floats(context->model);
	case SCOPE_LOADER:
		return waits_for_input_percent(context) >= LOADER_PERCENT;
	default:
		return true;
	}
}

static void raise(struct rule_context *context, const struct setting *setting, const char *value)
{
	struct finding *finding = rule_raise(context, MODEL_NONE);

	for (int part = 0; part < LEDGER_PART_COUNT; part++) {
		if (setting->draws_from >> part & 1)
			finding->cost_ms += ledger_part_ms(context->ledger, (enum ledger_part)part);
	}
	finding->draws_from = setting->draws_from;
	finding->gain_high_ms = finding->cost_ms;
	finding_text(finding, "variable", setting->name);
	finding_text(finding, "value", value);
	finding_summary(finding, "%s=%s is set: %s.%s", setting->name, value, setting->effect,
			finding->cost_ms > 0
				? " What the part of the step that it touches takes is the cost "
				  "here; how much of it is due to the setting cannot be told."
				: " What it costs cannot be told from this recording.");
	finding_fix(finding, "%s", setting->fix);
	if (finding->cost_ms > 0)
		rule_settle(context, finding);
	else
		finding->severity = SEVERITY_INFO;
}

/* Sessions of the shim say which variables were looked for; recordings of other tools do not. */
static bool has_environment(const struct model *model)
{
	const struct model_source *source = &model->source;

	return !source->info(source->context, "import.source");
}

static void run(struct rule_context *context)
{
	const struct model_source *source = &context->model->source;
	size_t raised = 0, out_of_scope = 0;

	if (!has_environment(context->model)) {
		rule_not_judged(context, "the recording does not hold the job's environment");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		char *key = text_format("env.%s", settings[i].name);
		const char *value = source->info(source->context, key);

		free(key);
		if (!is_set(&settings[i], value))
			continue;
		if (is_in_scope(context, settings[i].scope)) {
			raise(context, &settings[i], value);
			raised++;
		} else {
			out_of_scope++;
		}
	}
	if (!raised && out_of_scope)
		rule_silent(context, "%zu settings for debugging that this job does not feel",
			    out_of_scope);
	else if (!raised)
		rule_silent(context, "no setting that slows a job is in the environment");
}

/* clang-format off */
const struct rule rule_leftover_settings = {
	.name = "leftover_settings",
	.id = "GT706",
	.title = "leftover settings",
	.is_about_calls = true,
	.page =
"Raised for each variable of the job's environment that slows it down:\n"
"  CUDA_LAUNCH_BLOCKING, PYTORCH_NO_CUDA_MEMORY_CACHING          set and not 0\n"
"  NVIDIA_TF32_OVERRIDE=0                        where float matrices are multiplied\n"
"  NCCL_P2P_DISABLE, NCCL_SHM_DISABLE, NCCL_IB_DISABLE, NCCL_ALGO, NCCL_PROTO,\n"
"  TORCH_DISTRIBUTED_DEBUG=DETAIL                where the job communicates\n"
"  OMP_NUM_THREADS=1     where the GPU waits for input for 5 % of the step (as GT502)\n"
"\n"
"Cost: the part of the step that the setting touches, where there is one. Gain: from nothing up\n"
"to all of that; how much is due to the setting, one recording cannot tell. Run once without it.\n"
"Silent: settings that this job does not feel.\n"
"Not judged: imported recordings, which do not hold the environment.\n"
"Wrong when: the setting is there for a reason, such as a machine where peer access hangs.\n",
	.run = run,
};
/* clang-format on */
