/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row per rank: who and where, and where its step goes; then the findings between ranks.
 */
#include "report_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "printable.h"
#include "report_words.h"
#include "rule.h"
#include "text.h"

static double idle_ms(const struct rank_summary *rank)
{
	return rank->part_ms[LEDGER_IDLE_GPU_WAIT] + rank->part_ms[LEDGER_IDLE_SYNC] +
	       rank->part_ms[LEDGER_IDLE_ISSUE] + rank->part_ms[LEDGER_IDLE_HOST_AWAY];
}

/* Of the exposed communication, what was spent waiting for the last rank. */
static double exposed_waiting_ms(const struct rank_summary *rank)
{
	if (!(rank->communication_ms > 0))
		return 0;
	return rank->part_ms[LEDGER_COMM] * rank->waiting_ms / rank->communication_ms;
}

char *report_ranks_summary(const struct job_ranks *job)
{
	struct text text;

	text_init(&text);
	text_addf(&text, "%zu", job->count);
	if (job->world_size > job->count)
		text_addf(&text, " of %u", job->world_size);
	text_add(&text, " ranks of one job");
	if (job->world_size > job->count)
		text_add(&text, " (the files of the others are not here)");
	if (job->matched)
		text_addf(&text,
			  ", %zu collectives of the steady steps matched by %s, clocks aligned on "
			  "their ends",
			  job->matched,
			  job->is_by_order ? "their order" : "communicator and number");
	else
		text_add(&text,
			 ", no collective of the steady steps is complete: waiting is unknown");
	return text_take(&text);
}

void report_ranks_add(struct report_data *report, const struct job_ranks *job)
{
	const struct finding_list *found = &report->job_findings;
	char *of_rank = report->verdict;
	struct text text;

	report->job = job;
	rules_run_ranks(job, &report->job_findings);
	text_init(&text);
	text_addf(&text, "%zu ranks. ", job->count);
	if (found->count && (found->items[0].is_failure || found->items[0].cost_ms > 0))
		text_addf(&text, "First: %s (%s). %s ", found->items[0].title, found->items[0].id,
			  found->items[0].summary);
	text_addf(&text, "Rank %lld: %s", (long long)job->items[job->detail].rank, of_rank);
	report->verdict = text_take(&text);
	free(of_rank);
}

/* ---- text ---- */

static void print_cell(FILE *to, const char *value, int width)
{
	struct text text;

	text_init(&text);
	text_add_printable(&text, value ? value : "?");
	fprintf(to, " %-*s", width, text_string(&text));
	text_fini(&text);
}

static void print_places(FILE *to, const struct job_ranks *job)
{
	fprintf(to, "  %4s  %-16s %8s %4s  %-13s %8s %7s  %-14s %-14s %s\n", "rank", "host", "pid",
		"GPU", "PCI", "GPU node", "nodes", "CPUs allowed", "CPUs seen", "GPU name");
	for (size_t i = 0; i < job->count; i++) {
		const struct rank_summary *rank = &job->items[i];
		char node[16] = "?";

		if (rank->gpu_node >= 0)
			snprintf(node, sizeof(node), "%d", rank->gpu_node);
		fprintf(to, "  %4lld ", (long long)rank->rank);
		print_cell(to, rank->host, 16);
		if (rank->pid >= 0)
			fprintf(to, " %8lld %4u ", (long long)rank->pid, rank->ordinal);
		else
			fprintf(to, " %8s %4u ", "?", rank->ordinal);
		print_cell(to, rank->pci, 13);
		fprintf(to, " %8s", node);
		fprintf(to, " %7s ", rank->nodes_allowed ? rank->nodes_allowed : "?");
		print_cell(to, rank->cpus_allowed, 14);
		print_cell(to, rank->cpus_used, 14);
		print_cell(to, rank->gpu, 0);
		fputc('\n', to);
	}
}

static void print_times(FILE *to, const struct job_ranks *job)
{
	fprintf(to, "  %4s %10s %10s %10s %10s %10s %10s %10s %10s\n", "rank", "step ms", "compute",
		"exposed", "of it wait", "copies", "idle", "late ms", "came last");
	for (size_t i = 0; i < job->count; i++) {
		const struct rank_summary *rank = &job->items[i];

		if (!rank->has_ledger) {
			fprintf(to, "  %4lld   no GPU times in steady steps\n",
				(long long)rank->rank);
			continue;
		}
		fprintf(to, "  %4lld %10.3f %10.3f %10.3f", (long long)rank->rank, rank->step_ms,
			rank->compute_ms, rank->part_ms[LEDGER_COMM]);
		if (rank->matched)
			fprintf(to, " %10.3f", exposed_waiting_ms(rank));
		else
			fprintf(to, " %10s", "unknown");
		fprintf(to, " %10.3f %10.3f", rank->part_ms[LEDGER_COPY], idle_ms(rank));
		if (rank->matched)
			fprintf(to, " %10.3f %10llu", rank->late_ms,
				(unsigned long long)rank->entered_last);
		else
			fprintf(to, " %10s %10s", "unknown", "unknown");
		fputs(job_ranks_is_comparable(job, i) ? "\n" : "  whole run, it has no steps\n",
		      to);
	}
}

static void print_finding(FILE *to, const struct finding *finding, size_t number, const char *bold,
			  const char *plain)
{
	struct text text;

	fprintf(to, "\n  %s%zu. %s %s%s [%s]", bold, number, finding->id, finding->title, plain,
		report_severity_word(finding->severity));
	if (finding->cost_ms > 0)
		fprintf(to, "  costs %.2f ms per step", finding->cost_ms);
	fputc('\n', to);
	text_init(&text);
	text_add_printable(&text, finding->summary);
	report_print_wrapped(to, "     ", text_string(&text));
	text_clear(&text);
	text_add(&text, "-> ");
	text_add_printable(&text, finding->fix);
	report_print_wrapped(to, "     ", text_string(&text));
	text_fini(&text);
}

void report_ranks_text(FILE *to, const struct report_data *report, const char *bold,
		       const char *plain)
{
	const struct job_ranks *job = report->job;
	const struct finding_list *found = &report->job_findings;
	char *summary = report_ranks_summary(job);

	fprintf(to, "%sRanks%s: %s\n\n", bold, plain, summary);
	free(summary);
	print_places(to, job);
	fputc('\n', to);
	print_times(to, job);
	for (size_t i = 0; i < found->count; i++)
		print_finding(to, &found->items[i], i + 1, bold, plain);
	fputc('\n', to);
	for (size_t i = 0; i < found->judgement_count; i++) {
		const struct judgement *one = &found->judgements[i];

		if (one->status == NOT_JUDGED)
			fprintf(to, "  %s not judged: %s\n", one->id, one->reason);
		else if (one->status == JUDGED_SILENT)
			fprintf(to, "  %s %s\n", one->id, one->reason);
	}
	fprintf(to,
		"\n%sIn detail: rank %lld%s (--rank N shows another one, --rank all every one)\n\n",
		bold, (long long)job->items[job->detail].rank, plain);
}

/* ---- JSON ---- */

static void add_rank(struct json *json, const struct rank_summary *rank)
{
	json_object(json, NULL);
	json_integer(json, "rank", rank->rank);
	json_text(json, "path", rank->path);
	json_text(json, "host", rank->host);
	json_integer(json, "pid", rank->pid);
	json_unsigned(json, "gpu", rank->ordinal);
	json_text(json, "gpu_name", rank->gpu);
	json_text(json, "pci", rank->pci);
	if (rank->gpu_node >= 0)
		json_integer(json, "gpu_numa_node", rank->gpu_node);
	else
		json_null(json, "gpu_numa_node");
	json_text(json, "numa_nodes_allowed", rank->nodes_allowed);
	json_text(json, "cpus_allowed", rank->cpus_allowed);
	json_text(json, "cpus_seen", rank->cpus_used);
	json_flag(json, "simulated", rank->is_simulated);
	if (rank->has_ledger) {
		json_text(json, "per", rank->is_whole_run ? "run" : "step");
		json_number(json, "step_ms", rank->step_ms);
		json_object(json, "ledger_ms");
		for (int part = 0; part < LEDGER_PART_COUNT; part++)
			json_number(json, ledger_part_key((enum ledger_part)part),
				    rank->part_ms[part]);
		json_end_object(json);
	} else {
		json_null(json, "step_ms");
	}
	json_unsigned(json, "matched_collectives", rank->matched);
	if (rank->matched) {
		json_number(json, "communication_ms", rank->communication_ms);
		json_number(json, "waiting_ms", rank->waiting_ms);
		json_number(json, "exposed_waiting_ms", exposed_waiting_ms(rank));
		json_number(json, "late_ms", rank->late_ms);
		json_unsigned(json, "entered_last", rank->entered_last);
	}
	json_end_object(json);
}

static void add_finding(struct json *json, const struct finding *finding)
{
	static const char *const severities[] = {"info", "low", "medium", "high"};

	json_object(json, NULL);
	json_text(json, "id", finding->id);
	json_text(json, "rule", finding->rule);
	json_text(json, "title", finding->title);
	json_text(json, "severity", severities[finding->severity]);
	json_number(json, "cost_ms", finding->cost_ms);
	json_number(json, "gain_low_ms", finding->gain_low_ms);
	json_number(json, "gain_high_ms", finding->gain_high_ms);
	json_text(json, "summary", finding->summary);
	json_text(json, "fix", finding->fix);
	json_object(json, "evidence");
	for (size_t e = 0; e < finding->evidence_count; e++) {
		const struct evidence *evidence = &finding->evidence[e];

		if (evidence->text)
			json_text(json, evidence->key, evidence->text);
		else
			json_number(json, evidence->key, evidence->value);
	}
	json_end_object(json);
	json_end_object(json);
}

void report_ranks_json(struct json *json, const struct report_data *report)
{
	static const char *const statuses[] = {"", "silent", "raised", "not_judged"};
	const struct job_ranks *job = report->job;
	const struct finding_list *found = &report->job_findings;

	json_object(json, "job");
	json_unsigned(json, "rank_count", job->count);
	json_unsigned(json, "world_size", job->world_size);
	json_text(json, "matched_by", job->is_by_order ? "order" : "communicator");
	json_unsigned(json, "matched_collectives", job->matched);
	json_number(json, "step_ms", job->step_ms);
	json_integer(json, "detail_rank", job->items[job->detail].rank);
	json_array(json, "ranks");
	for (size_t i = 0; i < job->count; i++)
		add_rank(json, &job->items[i]);
	json_end_array(json);
	json_array(json, "findings");
	for (size_t i = 0; i < found->count; i++)
		add_finding(json, &found->items[i]);
	json_end_array(json);
	json_array(json, "judgements");
	for (size_t i = 0; i < found->judgement_count; i++) {
		json_object(json, NULL);
		json_text(json, "id", found->judgements[i].id);
		json_text(json, "rule", found->judgements[i].rule);
		json_text(json, "status", statuses[found->judgements[i].status]);
		json_text(json, "reason", found->judgements[i].reason);
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}
