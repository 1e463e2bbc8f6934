/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT702: driver, toolkit, binary and GPU do not fit together: CUDA's own errors that say so, and
 * the version table.
 */
#include <stdlib.h>
#include <string.h>

#include "machine_verdict.h"
#include "rule.h"

static const char *info(const struct rule_context *context, const char *key)
{
	return context->model->source.info(context->model->source.context, key);
}

static uint32_t find_error(const struct rule_context *context, uint64_t *count)
{
	const struct model *model = context->model;
	uint32_t first = MODEL_NONE;

	*count = 0;
	for (size_t i = 0; i < model->call_count; i++) {
		const struct host_call *call = &model->calls[i];

		if (!call->status || call->flags & CALL_REDUNDANT ||
		    !machine_version_error(call->status) ||
		    !machine_is_cuda_call(model->apis[call->api]))
			continue;
		if (call->device != MODEL_NO_DEVICE && call->device != context->device)
			continue;
		if (first == MODEL_NONE)
			first = (uint32_t)i;
		*count += call->status == model->calls[first].status;
	}
	return first;
}

/* Numbers such as "13000", or versions such as "13.0". */
static struct cuda_version read_version(const char *text)
{
	struct cuda_version version = {0, 0, 0};

	if (!text)
		return version;
	if (!strchr(text, '.'))
		return cuda_version_of_number(strtol(text, NULL, 10));
	cuda_version_parse(text, &version);
	return version;
}

static struct machine_versions collect(const struct rule_context *context)
{
	const struct record_device *device = context->model->devices[context->device].record;
	const char *driver = info(context, "driver.version");
	struct machine_versions versions = {
		.toolkit = read_version(info(context, "cuda.runtime_version"))};

	if (driver)
		cuda_version_parse(driver, &versions.driver);
	if (device) {
		versions.cc_major = device->cc_major;
		versions.cc_minor = device->cc_minor;
	}
	return versions;
}

static void add_versions(struct finding *finding, const struct rule_context *context,
			 const struct machine_versions *versions)
{
	const char *driver = info(context, "driver.version");
	const char *runtime = info(context, "cuda.runtime_version");

	finding_text(finding, "driver", driver ? driver : "unknown");
	finding_text(finding, "runtime", runtime ? runtime : "unknown");
	if (versions->cc_major)
		finding_number(finding, "compute_capability",
			       versions->cc_major + versions->cc_minor / 10.0);
}

static void raise_error(struct rule_context *context, uint32_t call, uint64_t count)
{
	const struct model *model = context->model;
	int32_t status = model->calls[call].status;
	struct machine_versions versions = collect(context);
	struct finding *finding = rule_raise(context, call);
	struct text what, fix;

	text_init(&what);
	text_init(&fix);
	finding->is_failure = true;
	finding->severity = SEVERITY_HIGH;
	finding_number(finding, "error", status);
	finding_number(finding, "times", (double)count);
	add_versions(finding, context, &versions);
	machine_judge_versions(&versions, &what, &fix);
	finding_summary(finding, "%s failed with error %d: %s.%s%s", model_api_name(model, call),
			status, machine_version_error(status), what.length ? " " : "",
			text_string(&what));
	finding_fix(finding, "%s", machine_version_error_fix(status));
	text_fini(&what);
	text_fini(&fix);
}

static void judge_table(struct rule_context *context)
{
	struct machine_versions versions = collect(context);
	enum machine_verdict verdict;
	struct finding *finding;
	struct text what, fix;

	text_init(&what);
	text_init(&fix);
	verdict = machine_judge_versions(&versions, &what, &fix);
	if (verdict == MACHINE_UNKNOWN) {
		rule_not_judged(context,
				"no call failed for its version, and the versions of %s are "
				"unknown",
				versions.driver.major	 ? "the toolkit"
				: versions.toolkit.major ? "the driver"
							 : "driver and toolkit");
	} else if (verdict == MACHINE_GOOD) {
		rule_silent(context, "driver, toolkit and GPU fit together");
	} else {
		/* The program ran: what the table says can only be a warning. */
		finding = rule_raise(context, MODEL_NONE);
		finding->severity = SEVERITY_INFO;
		add_versions(finding, context, &versions);
		finding_summary(finding, "%s", text_string(&what));
		finding_fix(finding, "%s", text_string(&fix));
	}
	text_fini(&what);
	text_fini(&fix);
}

static void run(struct rule_context *context)
{
	uint64_t count;
	uint32_t call = find_error(context, &count);

	if (call != MODEL_NONE)
		raise_error(context, call, count);
	else
		judge_table(context);
}

/* clang-format off */
const struct rule rule_version_mismatch = {
	.name = "version_mismatch",
	.id = "GT702",
	.title = "driver, toolkit and GPU do not fit",
	.page =
"Raised when a call of CUDA's runtime or driver returned an error that says that versions do not\n"
"fit: 35 driver too old for the runtime, 36 call needs a newer driver, 100 no GPU, 209 no code for\n"
"this GPU in the binary, 222 PTX of a newer toolkit, 803 driver and libcuda differ, 804 forward\n"
"compatibility on a GPU without it. Without such an error the versions are compared with the table\n"
"of toolkits, drivers and compute capabilities; what that says is an information, for the program\n"
"ran.\n"
"\n"
"Cost and gain: none is estimated; the errors come first in the report because they end the work.\n"
"\n"
"Silent: versions that fit. Not judged: driver or toolkit unknown, and no such error.\n"
"Wrong when: a program tries newer functions on purpose and falls back (error 36).\n",
	.run = run,
	.is_about_calls = true,
};
/* clang-format on */
