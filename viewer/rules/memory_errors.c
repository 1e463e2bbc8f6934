/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT703: the GPU's memory has errors: uncorrected ones that were counted, rows that had to be
 * replaced, calls that failed because of them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "device_info.h"
#include "machine_verdict.h"
#include "rule.h"
#include "sample_series.h"

#define ERROR_ECC_UNCORRECTABLE 214 /* of the runtime and of the driver */

static uint32_t find_failure(const struct model *model, size_t device)
{
	for (size_t i = 0; i < model->call_count; i++) {
		if (model->calls[i].status == ERROR_ECC_UNCORRECTABLE &&
		    model->apis[model->calls[i].api][0] == 'c' &&
		    (model->calls[i].device == device || model->calls[i].device == MODEL_NO_DEVICE))
			return (uint32_t)i;
	}
	return MODEL_NONE;
}

static void measure(const struct model *model, size_t device, struct machine_health *health)
{
	const struct sample_series *errors =
		sample_series_find(model, SAMPLE_ecc_errors, model->devices[device].ordinal);

	health->ecc_errors = health->ecc_growth = health->pcie_replays = -1;
	health->remapped_rows = device_info_number(model, device, "remapped_rows");
	health->remap_failed = device_info_number(model, device, "remap_failed");
	if (!errors || !errors->count)
		return;
	health->ecc_errors = errors->points[errors->count - 1].value;
	health->ecc_growth = health->ecc_errors - errors->points[0].value;
}

static void raise(struct rule_context *context, const struct machine_health *health, uint32_t call,
		  const char *what, const char *fix)
{
	struct finding *finding = rule_raise(context, call);

	finding->severity = SEVERITY_INFO;
	if (call != MODEL_NONE || health->ecc_growth > 0 || health->remap_failed > 0) {
		finding->is_failure = call != MODEL_NONE;
		finding->severity = finding->is_failure ? SEVERITY_HIGH : SEVERITY_INFO;
	}
	finding_number(finding, "ecc_errors", (double)health->ecc_errors);
	finding_number(finding, "ecc_errors_during_run", (double)health->ecc_growth);
	if (health->remapped_rows >= 0)
		finding_number(finding, "remapped_rows", (double)health->remapped_rows);
	finding_summary(finding, "%s", what);
	finding_fix(finding, "%s", fix);
}

static void run(struct rule_context *context)
{
	const struct model *model = context->model;
	uint32_t call = find_failure(model, context->device);
	struct machine_health health;
	enum machine_verdict verdict;
	struct text what, fix;

	text_init(&what);
	text_init(&fix);
	measure(model, context->device, &health);
	verdict = machine_judge_health(&health, &what, &fix);
	if (call != MODEL_NONE)
		raise(context, &health, call,
		      "A call failed because the GPU met an uncorrectable memory error (214).",
		      "Drain the node and reset the GPU, then look for Xid 48, 63, 64, 94 and 95 "
		      "in "
		      "dmesg.");
	else if (verdict == MACHINE_UNKNOWN)
		rule_not_judged(context, "the GPU's memory errors were not sampled");
	else if (verdict == MACHINE_GOOD)
		rule_silent(context, "no memory error was counted and no row replaced");
	else
		raise(context, &health, MODEL_NONE, text_string(&what), text_string(&fix));
	text_fini(&what);
	text_fini(&fix);
}

/* clang-format off */
const struct rule rule_memory_errors = {
	.name = "memory_errors",
	.id = "GT703",
	.title = "memory errors of the GPU",
	.page =
"Raised when a call failed with error 214 (uncorrectable memory error), when NVML counted\n"
"uncorrected errors, or when rows of the memory were replaced or could not be replaced any more.\n"
"Only the failed call ends the work; the others are an information about the machine.\n"
"`gputrace doctor --dmesg FILE` reads the kernel's Xid lines.\n"
"\n"
"Cost and gain: none.\n"
"\n"
"Silent: nothing counted. Not judged: no NVML, or a GPU that does not count.\n"
"Wrong when: the count is from a job before this one; it starts when the driver is loaded.\n",
	.run = run,
	.is_about_calls = true,
};
/* clang-format on */
