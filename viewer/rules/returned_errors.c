/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT705: calls that returned an error, grouped by call, code and site. What programs ask on purpose
 * ("is it ready yet?") is no error, nor is what a library tried and handled itself.
 */
#include <stdlib.h>
#include <string.h>

#include "array_len.h"
#include "error_name.h"
#include "machine_verdict.h"
#include "map.h"
#include "rule.h"
#include "text.h"
#include "xmalloc.h"

/* So many groups are findings; the rest is counted in the last of them. */
#define GROUPS_SHOWN 8

struct error_group {
	uint32_t call; /* the first of them */
	uint64_t count;
	bool is_sticky;
};

struct error_groups {
	struct error_group *items;
	size_t count;
	uint64_t expected; /* not counted as errors */
};

/* part: of the name of the call; NULL any. */
static const struct {
	int32_t status;
	const char *part;
} expected[] = {
	{600, NULL},		    /* not ready: asked without waiting */
	{704, NULL},		    /* peer access is enabled already */
	{705, "DisablePeer"},	    /* it was not enabled */
	{712, "Register"},	    /* the host memory is registered already */
	{713, "Unregister"},	    /* it was not registered */
	{713, "HostGetFlags"},	    /* asks whether it is */
	{1, "PointerGetAttribute"}, /* asks whether a pointer is CUDA's */
	{1, "HostGetFlags"},
	{1, "HostGetDevicePointer"},
	{801, "GetAttribute"},	 /* asks whether something is supported */
	{500, "GetProcAddress"}, /* asks whether a function is there */
	{500, "EntryPoint"},
	{217, "CanAccessPeer"},
};

static bool is_expected(const struct model *model, const struct host_call *call)
{
	const char *api = model->apis[call->api];

	/* NCCL's non-blocking communicators answer "in progress". */
	if (!strncmp(api, "nccl", 4) && call->status == 7)
		return true;
	/* Versions that do not fit have a rule of their own, GT702. */
	if (machine_version_error(call->status) && machine_is_cuda_call(api))
		return true;
	/* Requests for memory have rules of their own, GT401 to GT406. */
	if (call->kind == RECORD_KIND_memory && call->status == 2)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		if (call->status == expected[i].status &&
		    (!expected[i].part || strstr(api, expected[i].part)))
			return strncmp(api, "cublas", 6) != 0;
	}
	return false;
}

/* Calls of this device; those of no device belong to the first one. */
static bool is_of_device(const struct rule_context *context, const struct host_call *call)
{
	return call->device == context->device ||
	       (call->device == MODEL_NO_DEVICE && context->device == 0);
}

static void group_errors(const struct rule_context *context, struct error_groups *groups)
{
	const struct model *model = context->model;
	struct map index;

	map_init(&index);
	groups->items = xcalloc(model->failed_calls + 1, sizeof(*groups->items));
	for (uint32_t i = 0; i < model->call_count; i++) {
		const struct host_call *call = &model->calls[i];
		uint64_t key, *slot;
		bool is_new;

		/* What the caller passes on is the caller's error; what it does not was handled. */
		if (!call->status || call->parent != MODEL_NONE || !is_of_device(context, call))
			continue;
		if (is_expected(model, call)) {
			groups->expected++;
			continue;
		}
		key = map_mix(map_mix(call->api, (uint64_t)(uint32_t)call->status),
			      model_call_site(model, i));
		slot = map_slot(&index, key, &is_new);
		if (is_new) {
			*slot = groups->count;
			groups->items[groups->count++] = (struct error_group){
				i, 0, error_name_is_sticky(model->apis[call->api], call->status)};
		}
		groups->items[*slot].count++;
	}
	map_fini(&index);
	/* In a summary only the first of them are records; the rest is in the totals. */
	for (size_t i = 0; i < groups->count && model->recording == RECORDED_SUMS; i++) {
		const struct host_call *call = &model->calls[groups->items[i].call];
		uint64_t failed = call_totals_failed(model, call->api, call->site);

		if (failed > groups->items[i].count)
			groups->items[i].count = failed;
	}
}

static int compare_groups(const void *left, const void *right)
{
	const struct error_group *a = left, *b = right;

	if (a->is_sticky != b->is_sticky)
		return a->is_sticky ? -1 : 1;
	if (a->is_sticky)
		return (a->call > b->call) - (a->call < b->call);
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return (a->call > b->call) - (a->call < b->call);
}

/* Of the failing call inside this one, such as the driver's behind the runtime's. */
static uint32_t inner_failure(const struct model *model, uint32_t call)
{
	uint32_t inner = MODEL_NONE;

	for (uint32_t at = call + 1; at < model->call_count; at++) {
		if (model->calls[at].parent == MODEL_NONE ||
		    model->calls[at].thread != model->calls[call].thread)
			break;
		if (model->calls[at].status)
			inner = at;
	}
	return inner;
}

static char *name_of(const struct model *model, uint32_t call)
{
	const char *name = error_name_of(model_api_name(model, call), model->calls[call].status);

	return name ? text_format("%s (%d)", name, model->calls[call].status)
		    : text_format("code %d", model->calls[call].status);
}

static void raise(struct rule_context *context, const struct error_group *group, uint64_t others)
{
	const struct model *model = context->model;
	struct finding *finding = rule_raise(context, group->call);
	uint32_t inner = inner_failure(model, group->call);
	double at_s = (double)(model->calls[group->call].begin_ns - model->begin_ns) / 1e9;
	const char *api = model_api_name(model, group->call);
	char *name = name_of(model, group->call);

	finding->severity = group->is_sticky ? SEVERITY_HIGH : SEVERITY_INFO;
	finding->is_failure = group->is_sticky;
	finding_number(finding, "errors", (double)group->count);
	finding_text(finding, "call", api);
	finding_text(finding, "code", name);
	finding_number(finding, "first_at_s", at_s);
	if (inner != MODEL_NONE) {
		char *inner_name = name_of(model, inner);

		finding_text(finding, "inner_call", model_api_name(model, inner));
		finding_text(finding, "inner_code", inner_name);
		free(inner_name);
	}
	if (others)
		finding_number(finding, "other_groups", (double)others);
	finding_summary(finding, "%s returned %s %llu time%s, first %.3f s after the start.%s", api,
			name, (unsigned long long)group->count, group->count == 1 ? "" : "s", at_s,
			group->is_sticky ? " This code stays: the context is lost, and every later "
					   "call returns it too."
					 : "");
	finding_fix(finding, "%s",
		    group->is_sticky
			    ? "A kernel or copy launched before this call is the cause: run once "
			      "with compute-sanitizer, or with CUDA_LAUNCH_BLOCKING=1, so that the "
			      "error comes back at the launch that made it."
			    : "Check the result of this call; if the program asks on purpose and "
			      "handles the answer, nothing is wrong.");
	free(name);
}

static void run(struct rule_context *context)
{
	struct error_groups groups = {0};

	const struct model_source *source = &context->model->source;
	const char *format = source->info(source->context, "import.format");

	if (!context->model->call_count) {
		rule_not_judged(context, "no host calls are in the file");
		return;
	}
	if (format && !strcmp(format, "pytorch-profiler")) {
		rule_not_judged(context, "PyTorch's profiler does not record what calls return");
		return;
	}
	group_errors(context, &groups);
	if (groups.count)
		qsort(groups.items, groups.count, sizeof(*groups.items), compare_groups);
	for (size_t i = 0; i < groups.count && i < GROUPS_SHOWN; i++)
		raise(context, &groups.items[i],
		      i + 1 == GROUPS_SHOWN ? groups.count - GROUPS_SHOWN : 0);
	if (!groups.count && groups.expected)
		rule_silent(
			context,
			"%llu calls returned codes that are answers, such as \"not ready\", and "
			"none an error",
			(unsigned long long)groups.expected);
	else if (!groups.count)
		rule_silent(context, "no call returned an error");
	free(groups.items);
}

/* clang-format off */
const struct rule rule_returned_errors = {
	.name = "returned_errors",
	.id = "GT705",
	.title = "CUDA errors returned",
	.is_about_calls = true,
	.page =
"Raised for every call, code and site that returned an error to the program, in the whole run;\n"
"the eight most frequent are shown, and codes after which the context is lost come first. Such a\n"
"code (illegal address, launch failure, uncorrectable ECC error, ...) is a failure, everything\n"
"else is information.\n"
"\n"
"No error: \"not ready\" of a query, peer access that is already enabled, memory that is already\n"
"registered, a pointer or a function that is not CUDA's and was asked for, NCCL's \"in progress\";\n"
"and calls that failed inside another call that succeeded, which the library handled.\n"
"Requests for memory that fail are GT401 to GT406. A code that the table does not name is printed\n"
"as a number.\n"
"Not judged: no host calls in the file. Recordings of PyTorch's profiler do not hold result codes.\n"
"Wrong when: the program probes for something and handles the answer; then it is noise.\n",
	.run = run,
};
/* clang-format on */
