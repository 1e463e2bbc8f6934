/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same numbers as report_ranks.c prints, as a table.
 */
#include "html_ranks.h"

#include <stdlib.h>

#include "printable.h"
#include "report_ranks.h"
#include "report_words.h"

static void add_cell(struct text *page, const char *value)
{
	text_add(page, "<td>");
	text_add_html(page, value ? value : "?");
	text_add(page, "</td>");
}

static void add_rank(struct text *page, const struct rank_summary *rank, bool is_comparable)
{
	double idle_ms = rank->part_ms[LEDGER_IDLE_GPU_WAIT] + rank->part_ms[LEDGER_IDLE_SYNC] +
			 rank->part_ms[LEDGER_IDLE_ISSUE] + rank->part_ms[LEDGER_IDLE_HOST_AWAY];

	text_addf(page, "<tr><td>%lld</td>", (long long)rank->rank);
	add_cell(page, rank->host);
	if (rank->pid >= 0)
		text_addf(page, "<td>%lld</td><td>%u</td>", (long long)rank->pid, rank->ordinal);
	else
		text_addf(page, "<td>?</td><td>%u</td>", rank->ordinal);
	add_cell(page, rank->pci);
	if (rank->gpu_node >= 0)
		text_addf(page, "<td>%d</td>", rank->gpu_node);
	else
		text_add(page, "<td>?</td>");
	add_cell(page, rank->cpus_allowed);
	add_cell(page, rank->cpus_used);
	if (rank->has_ledger)
		text_addf(page, "<td>%.3f%s</td><td>%.3f</td><td>%.3f</td><td>%.3f</td>",
			  rank->step_ms, is_comparable ? "" : " (whole run)", rank->compute_ms,
			  rank->part_ms[LEDGER_COMM], idle_ms);
	else
		text_add(page, "<td colspan=\"4\">no GPU times</td>");
	if (rank->matched)
		text_addf(page, "<td>%.3f</td><td>%.3f</td><td>%llu</td></tr>\n", rank->waiting_ms,
			  rank->late_ms, (unsigned long long)rank->entered_last);
	else
		text_add(page, "<td colspan=\"3\">unknown</td></tr>\n");
}

void html_ranks_add(struct text *page, const struct report_data *report)
{
	const struct job_ranks *job = report->job;
	char *summary = report_ranks_summary(job);

	text_add(page, "<h1>Ranks</h1>\n<p class=\"dim\">");
	text_add_html(page, summary);
	free(summary);
	text_add(page,
		 "</p>\n<div "
		 "class=\"wide\"><table>\n<tr><th>rank</th><th>host</th><th>pid</th><th>GPU</th>"
		 "<th>PCI</th><th>GPU's node</th><th>CPUs allowed</th><th>CPUs seen</th>"
		 "<th>step ms</th><th>compute</th><th>exposed communication</th><th>idle</th>"
		 "<th>waiting in collectives</th><th>kept others waiting</th><th>came last</th>"
		 "</tr>\n");
	for (size_t i = 0; i < job->count; i++)
		add_rank(page, &job->items[i], job_ranks_is_comparable(job, i));
	text_add(page, "</table></div>\n");
	for (size_t i = 0; i < report->job_findings.count; i++) {
		const struct finding *finding = &report->job_findings.items[i];

		text_addf(page, "<div class=\"finding %s\"><h3>%s ",
			  report_severity_word(finding->severity), finding->id);
		text_add_html(page, finding->title);
		text_add(page, "</h3><p>");
		text_add_html(page, finding->summary);
		text_add(page, "</p><p>");
		text_add_html(page, finding->fix);
		text_add(page, "</p></div>\n");
	}
}
