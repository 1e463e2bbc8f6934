/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT704: the GPU is not this process's alone: other processes, a slice of it (MIG), MPS.
 */
#include <string.h>

#include "device_info.h"
#include "machine_verdict.h"
#include "rule.h"
#include "sample_series.h"

static bool has_mps(const struct model *model)
{
	static const char *const keys[] = {"env.CUDA_MPS_PIPE_DIRECTORY",
					   "env.CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
					   "env.CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (model->source.info(model->source.context, keys[i]))
			return true;
	}
	return false;
}

static void measure(const struct model *model, size_t device, struct machine_tenants *tenants)
{
	uint32_t ordinal = model->devices[device].ordinal;
	const struct sample_series *others =
		sample_series_find(model, SAMPLE_other_processes, ordinal);
	const struct sample_series *used =
		sample_series_find(model, SAMPLE_memory_used_bytes, ordinal);
	const struct sample_series *own =
		sample_series_find(model, SAMPLE_memory_own_bytes, ordinal);

	tenants->other_processes = -1;
	tenants->other_bytes = 0;
	for (size_t i = 0; others && i < others->count; i++) {
		size_t at_used =
			used ? sample_series_at(used, others->points[i].time_ns) : SIZE_MAX;
		size_t at_own = own ? sample_series_at(own, others->points[i].time_ns) : SIZE_MAX;

		if (others->points[i].value < tenants->other_processes)
			continue;
		tenants->other_processes = others->points[i].value;
		if (at_used != SIZE_MAX && at_own != SIZE_MAX && tenants->other_processes > 0 &&
		    used->points[at_used].value > own->points[at_own].value)
			tenants->other_bytes =
				(uint64_t)(used->points[at_used].value - own->points[at_own].value);
	}
	tenants->has_mig = device_info_number(model, device, "mig_enabled") == 1 ||
			   strstr(model->devices[device].name, " MIG ") != NULL;
	tenants->has_mps = has_mps(model);
}

static void run(struct rule_context *context)
{
	struct machine_tenants tenants;
	enum machine_verdict verdict;
	struct finding *finding;
	struct text what, fix;

	text_init(&what);
	text_init(&fix);
	measure(context->model, context->device, &tenants);
	verdict = machine_judge_tenants(&tenants, &what, &fix);
	if (verdict == MACHINE_UNKNOWN) {
		rule_not_judged(context, "whether other processes use the GPU was not sampled");
	} else if (verdict == MACHINE_GOOD) {
		rule_silent(context, "no other process had memory on the GPU");
	} else {
		finding = rule_raise(context, MODEL_NONE);
		finding->severity = SEVERITY_INFO;
		finding_number(finding, "other_processes", (double)tenants.other_processes);
		finding_number(finding, "other_bytes", (double)tenants.other_bytes);
		finding_number(finding, "mig", tenants.has_mig);
		finding_number(finding, "mps", tenants.has_mps);
		finding_summary(finding, "%s", text_string(&what));
		finding_fix(finding, "%s", text_string(&fix));
	}
	text_fini(&what);
	text_fini(&fix);
}

/* clang-format off */
const struct rule rule_shared_gpu = {
	.name = "shared_gpu",
	.id = "GT704",
	.title = "GPU shared with others",
	.page =
"Raised, as an information, when NVML saw other processes with memory on the GPU during the run, when\n"
"the GPU is partitioned (MIG) or when the process runs under MPS. What the others cost cannot be\n"
"measured from this process: times are this process's share of the GPU.\n"
"\n"
"Cost and gain: none is estimated.\n"
"\n"
"Silent: alone on the GPU. Not judged: no NVML; a container in which the own process cannot be told\n"
"from the others.\n"
"Wrong when: the other process only holds memory and never runs.\n",
	.run = run,
	.is_about_calls = true,
};
/* clang-format on */
