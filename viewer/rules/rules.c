/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the rules of rules.def on a device and ranks what they find.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "array.h"
#include "array_len.h"
#include "combined_gain.h"
#include "finding_phase.h"
#include "rule.h"
#include "seen_link.h"
#include "text.h"

#define RULE(rule_name) extern const struct rule rule_##rule_name;
#include "rules.def"
#undef RULE

const struct rule *const rules_all[] = {
#define RULE(rule_name) &rule_##rule_name,
#include "rules.def"
#undef RULE
};

size_t rules_count(void)
{
	return ARRAY_LEN(rules_all);
}

const struct rule *rules_find(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(rules_all); i++) {
		if (!strcasecmp(rules_all[i]->id, text) || !strcasecmp(rules_all[i]->name, text))
			return rules_all[i];
	}
	return NULL;
}

void finding_number(struct finding *finding, const char *key, double value)
{
	if (finding->evidence_count == finding->evidence_capacity)
		finding->evidence = array_grow(finding->evidence, &finding->evidence_capacity,
					       sizeof(*finding->evidence));
	finding->evidence[finding->evidence_count++] = (struct evidence){key, value, NULL};
}

void finding_text(struct finding *finding, const char *key, const char *text)
{
	finding_number(finding, key, 0);
	finding->evidence[finding->evidence_count - 1].text = text_format("%s", text);
}

void finding_summary(struct finding *finding, const char *format, ...)
{
	struct text text;
	va_list arguments;

	text_init(&text);
	va_start(arguments, format);
	text_addv(&text, format, arguments);
	va_end(arguments);
	free(finding->summary);
	finding->summary = text_take(&text);
}

void finding_fix(struct finding *finding, const char *format, ...)
{
	struct text text;
	va_list arguments;

	text_init(&text);
	va_start(arguments, format);
	text_addv(&text, format, arguments);
	va_end(arguments);
	free(finding->fix);
	finding->fix = text_take(&text);
}

void finding_list_free(struct finding_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct finding *finding = &list->items[i];

		for (size_t e = 0; e < finding->evidence_count; e++)
			free(finding->evidence[e].text);
		free(finding->evidence);
		free(finding->summary);
		free(finding->fix);
	}
	for (size_t i = 0; i < list->judgement_count; i++)
		free(list->judgements[i].reason);
	free(list->items);
	free(list->judgements);
	memset(list, 0, sizeof(*list));
}

struct finding *rule_raise(struct rule_context *context, uint32_t call)
{
	struct finding_list *list = context->findings;

	if (list->count == list->capacity)
		list->items = array_grow(list->items, &list->capacity, sizeof(*list->items));
	memset(&list->items[list->count], 0, sizeof(*list->items));
	list->items[list->count].id = context->rule->id;
	list->items[list->count].rule = context->rule->name;
	list->items[list->count].title = context->rule->title;
	list->items[list->count].call = call;
	return &list->items[list->count++];
}

double rule_percent(const struct rule_context *context, double ms)
{
	return context->step_ms > 0 ? 100 * ms / context->step_ms : 0;
}

double rule_ms(const struct rule_context *context, int64_t total_ns)
{
	return (double)total_ns / 1e6 / context->steady_steps;
}

double rule_share(const struct rule_context *context, int64_t total_ns)
{
	return rule_percent(context, rule_ms(context, total_ns));
}

/* What the host's own path leaves of a gain; said where it takes a tenth or more away. */
static void bound_by_host(struct rule_context *context, struct finding *finding)
{
	double wanted_ms = finding->gain_high_ms;
	struct text text;

	finding->gain_high_ms = combined_gain_reachable_ms(context, finding, finding->gain_high_ms);
	finding->gain_low_ms = combined_gain_reachable_ms(context, finding, finding->gain_low_ms);
	if (wanted_ms <= 0 || finding->gain_high_ms > 0.9 * wanted_ms)
		return;
	finding_number(finding, "hidden_by_host_ms_per_step", wanted_ms - finding->gain_high_ms);
	if (!finding->summary)
		return;
	text_init(&text);
	text_addf(&text,
		  "%s Of %.2f ms that the GPU could save, %.2f ms would only make it wait longer: "
		  "the host, as recorded, launches no faster.",
		  finding->summary, wanted_ms, wanted_ms - finding->gain_high_ms);
	free(finding->summary);
	finding->summary = text_take(&text);
}

void rule_settle(struct rule_context *context, struct finding *finding)
{
	double available_ms = 0;
	double share;

	for (int part = 0; part < LEDGER_PART_COUNT; part++) {
		if (finding->draws_from >> part & 1)
			available_ms += ledger_part_ms(context->ledger, (enum ledger_part)part);
	}
	if (finding->gain_high_ms > available_ms)
		finding->gain_high_ms = available_ms;
	if (finding->gain_high_ms < 0)
		finding->gain_high_ms = 0;
	bound_by_host(context, finding);
	if (finding->gain_low_ms > finding->gain_high_ms)
		finding->gain_low_ms = finding->gain_high_ms;
	if (finding->gain_low_ms < 0)
		finding->gain_low_ms = 0;
	/* Where no gain can be estimated, the cost alone says how much it matters. */
	share = rule_percent(context,
			     finding->gain_high_ms > 0 ? finding->gain_high_ms : finding->cost_ms);
	finding->severity = share >= 10	 ? SEVERITY_HIGH
			    : share >= 3 ? SEVERITY_MEDIUM
					 : SEVERITY_LOW;
}

static void judge(struct rule_context *context, enum judgement_status status, char *reason)
{
	struct finding_list *list = context->findings;

	if (list->judgement_count == list->judgement_capacity)
		list->judgements = array_grow(list->judgements, &list->judgement_capacity,
					      sizeof(*list->judgements));
	list->judgements[list->judgement_count++] =
		(struct judgement){context->rule->id, context->rule->name, status, reason};
}

void rule_silent(struct rule_context *context, const char *format, ...)
{
	struct text text;
	va_list arguments;

	text_init(&text);
	va_start(arguments, format);
	text_addv(&text, format, arguments);
	va_end(arguments);
	judge(context, JUDGED_SILENT, text_take(&text));
}

void rule_not_judged(struct rule_context *context, const char *format, ...)
{
	struct text text;
	va_list arguments;

	text_init(&text);
	va_start(arguments, format);
	text_addv(&text, format, arguments);
	va_end(arguments);
	judge(context, NOT_JUDGED, text_take(&text));
}

/* Failures first, then by what can be gained, then by cost; what has neither, by how much it
 * matters. Ids break ties so that the order never depends on chance. */
static int compare_findings(const void *left, const void *right)
{
	const struct finding *a = left, *b = right;

	if (a->is_failure != b->is_failure)
		return a->is_failure ? -1 : 1;
	if (a->gain_high_ms != b->gain_high_ms)
		return a->gain_high_ms < b->gain_high_ms ? 1 : -1;
	if (a->cost_ms != b->cost_ms)
		return a->cost_ms < b->cost_ms ? 1 : -1;
	if (a->severity != b->severity)
		return a->severity < b->severity ? 1 : -1;
	if (strcmp(a->id, b->id) != 0)
		return strcmp(a->id, b->id);
	return (a->call > b->call) - (a->call < b->call);
}

/* From this share of the step on, what a rule did not find may hide in graphs without nodes. */
#define GRAPH_PERCENT 10.0

/* A rule about kernels that found nothing has seen none of what graphs replayed. */
static void doubt(struct rule_context *context, size_t judgements)
{
	struct finding_list *list = context->findings;
	double percent = ledger_part_percent(context->ledger, LEDGER_GRAPH);

	if (!context->rule->needs_nodes || percent < GRAPH_PERCENT)
		return;
	for (size_t i = judgements; i < list->judgement_count; i++) {
		if (list->judgements[i].status != JUDGED_SILENT)
			continue;
		free(list->judgements[i].reason);
		list->judgements[i].status = NOT_JUDGED;
		list->judgements[i].reason = text_format("graph replays without nodes are %.1f %% "
							 "of the step; GPUTRACE_GRAPHS=nodes "
							 "records them, and slows graphs down",
							 percent);
	}
}

/* What is between ranks cannot be seen in the file of one. */
static void refuse_one_rank(struct rule_context *context)
{
	const struct model *model = context->model;
	const struct model_communicator *largest = communicator_largest(model);
	const char *size = model->source.info(model->source.context, "world_size");

	if ((largest && largest->rank_count > 1) || (size && strtol(size, NULL, 10) > 1) ||
	    context->comm.all.kernels)
		rule_not_judged(context, "one rank cannot tell: gputrace report over the files of "
					 "all ranks says it");
	else
		rule_silent(context, "the job has one rank");
}

void rules_run_ranks(const struct job_ranks *job, struct finding_list *out)
{
	struct rule_context context = {.unit = "step", .step_ms = job->step_ms, .findings = out};

	for (size_t i = 0; i < ARRAY_LEN(rules_all); i++) {
		size_t findings = out->count;

		context.rule = rules_all[i];
		if (!context.rule->judge_ranks)
			continue;
		context.rule->judge_ranks(&context, job);
		if (out->count > findings)
			judge(&context, JUDGED_RAISED, text_format("%zu", out->count - findings));
	}
	for (size_t i = 0; i < out->count; i++) {
		struct finding *finding = &out->items[i];
		double share = job->step_ms > 0 ? 100 * finding->cost_ms / job->step_ms : 0;

		if (finding->cost_ms > 0)
			finding->severity = share >= 10	 ? SEVERITY_HIGH
					    : share >= 3 ? SEVERITY_MEDIUM
							 : SEVERITY_LOW;
	}
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), compare_findings);
}

/* Allocations and failures are recorded singly in every mode. */
static bool needs_all(const struct rule *rule)
{
	return rule->judge_totals || !(rule->is_about_memory || rule->is_about_calls);
}

/* Of a recording without all single records. */
static void judge_totals(struct rule_context *context)
{
	if (context->rule->judge_totals && context->model->total_count)
		context->rule->judge_totals(context);
	else
		rule_not_judged(context, "%s", call_totals_reason(context->model));
}

void rules_run(const struct model *model, size_t device, struct finding_list *out)
{
	const struct model_device *of = &model->devices[device];
	struct rule_context context = {
		.model = model,
		.device = device,
		.ledger = &of->ledger,
		.step_ms = ledger_step_ms(&of->ledger),
		.steady_steps = (double)(of->ledger.steady_count ? of->ledger.steady_count : 1),
		.unit = model->steps.source == STEPS_NONE ? "run" : "step",
		.gpu = gpu_table_find(of->name, of->record ? of->record->sm_count : 0),
		.findings = out,
	};

	if (call_totals_replace_calls(model)) {
		context.unit = "run";
		context.step_ms = (double)call_totals_length_ns(model) / 1e6;
	}
	copy_stats_build(model, device, &context.copies);
	if (of->record)
		context.link = seen_link(of->record, &context.copies);
	host_stats_build(model, device, &context.host);
	work_survey_build(model, device, &context.work);
	comm_survey_build(model, device, &context.comm);
	memory_survey_build(model, device, &context.memory);
	stall_survey_build(model, device, &context.stalls);
	if (of->op_count && of->ledger.steady_count)
		context.replay = replay_new(model, device);
	out->steady_kernels = context.host.kernels;
	out->memory_map = context.memory.map;
	out->is_map_of_failure = context.memory.failures.lasting > 0;
	for (size_t i = 0; i < ARRAY_LEN(rules_all); i++) {
		size_t findings = out->count, judgements = out->judgement_count;

		context.rule = rules_all[i];
		if (context.rule->judge_ranks)
			refuse_one_rank(&context);
		else if (call_totals_replace_calls(model) && needs_all(context.rule))
			judge_totals(&context);
		else if (context.rule->is_about_memory || context.rule->is_about_calls)
			context.rule->run(&context);
		else if (!of->op_count)
			rule_not_judged(&context, "there are no GPU times for this device");
		else if (!of->ledger.steady_count && model->blind_count)
			rule_not_judged(&context,
					"no step has all its records: they were off for %.0f %% of "
					"the time",
					blind_span_percent(model));
		else if (!of->ledger.steady_count)
			rule_not_judged(&context, "the device did nothing in the steady steps");
		else
			context.rule->run(&context);
		if (out->count > findings)
			judge(&context, JUDGED_RAISED, text_format("%zu", out->count - findings));
		else if (out->judgement_count == judgements)
			rule_silent(&context, "nothing found");
		doubt(&context, judgements);
	}
	finding_phases_set(&context, out);
	combined_gain_set(&context, out);
	replay_free(context.replay);
	copy_stats_free(&context.copies);
	work_survey_free(&context.work);
	stall_survey_free(&context.stalls);
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), compare_findings);
}
