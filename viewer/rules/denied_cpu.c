/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT509: the launching thread could not run when it wanted to: throttled by its cgroup's quota,
 * waiting in the run queue, or crowded out by the job's own threads.
 */
#include <stdlib.h>
#include <string.h>

#include "rule.h"
#include "sample_series.h"
#include "text.h"

#define DENIED_PERCENT 3.0
/* Less idle time than this, and the GPU did not feel it. */
#define IDLE_PERCENT 1.0
#define IDLE_OF_HOST                                                                               \
	(1u << LEDGER_IDLE_ISSUE | 1u << LEDGER_IDLE_HOST_AWAY | 1u << LEDGER_IDLE_SYNC)

struct denial {
	double wait_share;	/* of wall time, runnable without a CPU */
	double throttled_share; /* the cgroup was stopped by its quota */
	double runnable;	/* threads of the job in state R, mean */
	unsigned int cpus;	/* that the job may use, 0 unknown */
	bool is_throttling_known;
};

static const char *info(const struct rule_context *context, const char *key)
{
	return context->model->source.info(context->model->source.context, key);
}

static double mean(const struct sample_series *series, int64_t begin_ns, int64_t end_ns)
{
	double sum = 0;
	size_t count = 0;

	for (size_t i = 0; series && i < series->count; i++) {
		if (series->points[i].time_ns < begin_ns || series->points[i].time_ns > end_ns)
			continue;
		sum += (double)series->points[i].value;
		count++;
	}
	return count ? sum / (double)count : 0;
}

/* False when the thread was not sampled often enough. */
static bool measure(const struct rule_context *context, struct denial *denial)
{
	const struct model *model = context->model;
	uint32_t thread = model->threads[context->host.thread].thread_id;
	const char *cpus = info(context, "process.cpu_count");
	double growth, covered_ns;
	int64_t begin_ns, end_ns;

	memset(denial, 0, sizeof(*denial));
	sample_window(model, &begin_ns, &end_ns);
	if (!sample_series_growth(sample_series_find(model, SAMPLE_thread_wait_ns, thread),
				  begin_ns, end_ns, &growth, &covered_ns))
		return false;
	denial->wait_share = growth / covered_ns;
	if (sample_series_growth(sample_series_find(model, SAMPLE_cgroup_throttled_us, 0), begin_ns,
				 end_ns, &growth, &covered_ns)) {
		denial->throttled_share = growth * 1e3 / covered_ns;
		denial->is_throttling_known = true;
	}
	denial->runnable =
		mean(sample_series_find(model, SAMPLE_process_runnable, 0), begin_ns, end_ns);
	denial->cpus = cpus ? (unsigned int)strtoul(cpus, NULL, 10) : 0;
	return true;
}

static void explain(struct finding *finding, const struct denial *denial)
{
	bool is_crowded = denial->cpus && denial->runnable > denial->cpus;

	if (denial->throttled_share > 0.005)
		finding_fix(finding,
			    "Raise the CPU quota of the container or job (cpu.max, `--cpus`): it "
			    "stops the whole process when the quota is used up, or use fewer "
			    "threads (OMP_NUM_THREADS, loader workers).");
	else if (is_crowded)
		finding_fix(
			finding,
			"Use fewer threads (OMP_NUM_THREADS, loader workers) or give the job more "
			"CPUs: its own threads want more than it has.");
	else
		finding_fix(finding,
			    "Give the job CPUs of its own: other processes run on those of the "
			    "launching thread.");
}

static void raise(struct rule_context *context, const struct denial *denial)
{
	uint32_t call = MODEL_NONE;
	double wait_ms = denial->wait_share * context->step_ms;
	struct finding *finding;
	struct text summary;

	for (size_t i = 0; i < context->ledger->charge_count && call == MODEL_NONE; i++) {
		if (context->ledger->charges[i].part == LEDGER_IDLE_ISSUE ||
		    context->ledger->charges[i].part == LEDGER_IDLE_HOST_AWAY)
			call = context->ledger->charges[i].call;
	}
	finding = rule_raise(context, call);
	finding->cost_ms = wait_ms;
	/* Waiting while the GPU has work queued costs nothing. */
	finding->gain_low_ms = 0;
	finding->gain_high_ms = wait_ms;
	finding->draws_from = IDLE_OF_HOST;
	finding_number(finding, "waiting_percent", 100 * denial->wait_share);
	if (denial->is_throttling_known)
		finding_number(finding, "throttled_percent", 100 * denial->throttled_share);
	if (denial->runnable > 0)
		finding_number(finding, "runnable_threads", denial->runnable);
	if (denial->cpus)
		finding_number(finding, "cpus", denial->cpus);
	text_init(&summary);
	text_addf(&summary,
		  "The launching thread wanted to run and had no CPU for %.1f %% of the time, %.2f "
		  "ms "
		  "per %s.",
		  100 * denial->wait_share, wait_ms, context->unit);
	if (denial->is_throttling_known)
		text_addf(&summary, " The CPU quota of its cgroup stopped the job for %.1f %%.",
			  100 * denial->throttled_share);
	if (denial->runnable > 0 && denial->cpus)
		text_addf(&summary, " %s %s of the job %s runnable on %u CPU%s.",
			  text_count(denial->runnable).text,
			  text_noun(denial->runnable, "thread", "threads"),
			  text_noun(denial->runnable, "was", "were"), denial->cpus,
			  denial->cpus == 1 ? "" : "s");
	finding_summary(finding, "%s", text_string(&summary));
	text_fini(&summary);
	explain(finding, denial);
	rule_settle(context, finding);
}

/* Of the step: idle time that a late host can have caused. */
static double idle_percent(const struct rule_context *context)
{
	double idle_ms = 0;

	for (int part = 0; part < LEDGER_PART_COUNT; part++) {
		if (IDLE_OF_HOST >> part & 1)
			idle_ms += ledger_part_ms(context->ledger, (enum ledger_part)part);
	}
	return rule_percent(context, idle_ms);
}

static void run(struct rule_context *context)
{
	struct denial denial;

	if (!context->host.has_thread)
		rule_not_judged(context, "the launches of this device are not in the file");
	else if (!measure(context, &denial))
		rule_not_judged(context, "the launching thread was sampled less than twice in the "
					 "steady steps");
	else if (100 * denial.wait_share < DENIED_PERCENT)
		rule_silent(context,
			    "the launching thread waited for a CPU for %.1f %% of the time (raised "
			    "from %.0f %%)",
			    100 * denial.wait_share, DENIED_PERCENT);
	else if (idle_percent(context) < IDLE_PERCENT)
		rule_silent(
			context,
			"the launching thread had no CPU for %.1f %% of the time, but the GPU had "
			"work queued: it was idle for %.1f %% of the %s (raised from %.0f %%)",
			100 * denial.wait_share, idle_percent(context), context->unit,
			IDLE_PERCENT);
	else
		raise(context, &denial);
}

/* clang-format off */
const struct rule rule_denied_cpu = {
	.name = "denied_cpu",
	.id = "GT509",
	.title = "launching thread denied CPU",
	.page =
"Raised when the thread that launches for a GPU was runnable but had no CPU for at least 3 % of the\n"
"time (the kernel's schedstat, which also counts the time that a cgroup's CPU quota stopped it).\n"
"\n"
"Cost: that share of the step. Gain: from nothing (waiting while the GPU still has work queued costs\n"
"nothing) up to all of it, within the step's idle time.\n"
"\n"
"The fix depends on the cause: the quota if the cgroup was throttled, the job's own threads if more\n"
"of them were runnable than it has CPUs, otherwise other processes on the same CPUs.\n"
"\n"
"Silent: below 3 %, or where the GPU was idle for less than 1 % of the step: it had work queued.\n"
"Not judged: recordings without samples, or shorter than two of them (2 s).\n"
"Wrong when: the thread that waited was in warm-up; samples are one second apart.\n",
	.run = run,
};
/* clang-format on */
