/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the health of the file, the loss records and the model for what makes results doubtful.
 */
#include "quality.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "array.h"
#include "array_len.h"
#include "quality_precision.h"
#include "text.h"
#include "trace_file.h"

struct quality_kind {
	const char *id, *title, *page;
};

static const struct quality_kind kinds[] = {
	{"GT901", "events lost",
	 "Records were dropped: a ring was full, a thread had no ring, CUPTI dropped its own, or "
	 "the\n"
	 "disk was full. Every dropped record is counted by kind. Counts per step and sums of "
	 "time\n"
	 "are too low by up to that many events.\n"
	 "Cure: larger rings (GPUTRACE_RING_MAX_KIB), or GPUTRACE_ON_FULL=wait.\n"},
	{"GT902", "GPU times absent",
	 "The file has no times of GPU work: CUPTI was not found, another tool holds it, or "
	 "enabling\n"
	 "it failed; the reason is printed. The ledger and every rule that rests on it are not "
	 "judged;\n"
	 "what the host called is complete. With GPUTRACE_GPU=events only some operations have "
	 "times;\n"
	 "while a profiler of the program's own had CUPTI, none has.\n"},
	{"GT903", "zero or impossible timestamps",
	 "CUPTI delivered records without times or with an end before their begin. They are "
	 "counted\n"
	 "and left out.\n"},
	{"GT904", "trace cut short",
	 "The file ends without its end mark, or parts of it are damaged. What is before is "
	 "complete:\n"
	 "host calls up to the first time printed, GPU times up to the second.\n"},
	{"GT905", "clock error larger than the effect",
	 "Operations begin before the call that launched them, which cannot be: the clocks of host "
	 "and\n"
	 "GPU differ by at least the longest such distance. Judging gaps allows for 20 us. Printed "
	 "when\n"
	 "at least one operation in a thousand is earlier than that and gaps shorter than the "
	 "distance\n"
	 "are at least 1 % of the time: which idle part they are charged to is not certain. Their "
	 "sum is.\n"},
	{"GT906", "profiler overhead above 2 %",
	 "The collector used at least 2 % of the CPU time that the job could have had (the length "
	 "of the\n"
	 "recording, one second or more, times the CPUs it may run on), as the collector measured "
	 "of itself. What "
	 "recording\n"
	 "costs each call is not in the file: compare the step time with and without the shim.\n"
	 "Cure: GPUTRACE_GPU=off where GPU times are not needed, or leave the collector a CPU of "
	 "its own.\n"},
	{"GT907", "GPU work without a launch in the file",
	 "Operations whose launching call was not recorded: launched before recording began, by a\n"
	 "thread without a ring, or their call was lost. They count in the ledger; the idle time "
	 "before\n"
	 "them is \"unknown\".\n"},
	{"GT908", "not recorded all the time",
	 "Recording was switched off for a while (gputrace capture off), or kernels were timed in "
	 "windows\n"
	 "only (GPUTRACE_DUTY), or launches came faster than GPUTRACE_SAMPLE_RATE allows and were\n"
	 "sampled. Steps that touch such a time are \"partial\": they are in no mean "
	 "and no\n"
	 "finding. Idle time there is \"unknown\". Sums over the whole run are too low.\n"},
	{"GT909", "beginning dropped",
	 "GPUTRACE_MAX_SIZE or GPUTRACE_KEEP_LAST made the recorder drop the oldest part of the "
	 "file.\n"
	 "Names and facts of the session are kept. Start-up is not in the file, and allocations "
	 "that "
	 "live\n"
	 "since then are not counted.\n"},
	{"GT910", "file was recovered",
	 "gputrace recover wrote this file from a damaged one. What it could not save is counted; "
	 "calls\n"
	 "and GPU work may be missing anywhere.\n"},
	{"GT911", "some calls not seen",
	 "The recorder was loaded by the driver (CUDA_INJECTION64_PATH), not preloaded. What CUPTI "
	 "tells\n"
	 "is in the file: the driver's calls and the GPU's work. Shapes of matrix products, "
	 "collectives and\n"
	 "what allocators report are not, and rules that need them find nothing.\n"
	 "Cure: preload the recorder where the program lets you.\n"},
	{"GT912", "a counter is unavailable",
	 "NVML said that the GPU was idle in every sample that was taken while its operations ran. "
	 "The\n"
	 "counter is broken (seen after an error of the driver, Xid), not the GPU idle. Nothing in "
	 "a report\n"
	 "rests on it.\n"
	 "Cure: look for Xid errors in the kernel's log; gputrace doctor.\n"},
	{"GT913", "calls that went past the recorder",
	 "Libraries of the program call CUDA without coming by the preloaded recorder: they were "
	 "opened with\n"
	 "RTLD_DEEPBIND, and so see the libraries that they depend on first. Those calls are not "
	 "in the file.\n"
	 "Cure: gputrace record --no-deepbind, which takes the flag away; its man page says what "
	 "that may change.\n"},
	{"GT914", "totals instead of single records",
	 "The session summed calls and GPU work (GPUTRACE_MODE=summary), or recorded only one of "
	 "N\n"
	 "launches singly (GPUTRACE_SAMPLE_LAUNCHES). The totals that the report prints are exact "
	 "and\n"
	 "measured: every call and every piece of GPU work is in them, unless the file has no end: "
	 "then they\n"
	 "lack what came after the time that the report says. Whatever needs to know "
	 "what\n"
	 "happened when (ledger, steps, idle time, most rules) is not judged. Allocations are "
	 "recorded\n"
	 "singly all the same, so memory is judged as always.\n"},
	{"GT915", "CUPTI failed in part",
	 "GPU times were recorded, but calls of CUPTI failed beside that. A kind of GPU work that "
	 "CUPTI does\n"
	 "not record is not in the file: the ledger counts its time as idle, and rules about it "
	 "find\n"
	 "nothing. Other failed calls are named with CUPTI's own answer; what they were to fetch "
	 "or\n"
	 "to switch may be missing.\n"
	 "Cure: a CUPTI of the driver's version or older (GPUTRACE_CUPTI), and a look for other "
	 "tools in the process.\n"},
	{"GT916", "a second CUPTI in the process",
	 "Another module brings CUPTI's functions, as a library that was linked with a static "
	 "CUPTI does,\n"
	 "or a second libcupti is loaded. The recorder shares CUPTI with what uses the same one, "
	 "and does\n"
	 "not see what uses the other. While that is at work either side may get no records; where "
	 "GPU times\n"
	 "are whole, as many operations as launches, it was not.\n"
	 "Cure: let the program and the recorder use one CUPTI (GPUTRACE_CUPTI, "
	 "LD_LIBRARY_PATH).\n"},
	{"GT917", "launches without GPU times",
	 "CUPTI was in use the whole time and told of no loss, yet launches have no kernel in the "
	 "file.\n"
	 "Somebody else in the process took CUPTI over, perhaps a library with a static copy of "
	 "it, whose\n"
	 "names are not visible; or CUPTI failed without saying so. The ledger counts the time of "
	 "such kernels\n"
	 "as idle. A few launches just before the end do not count.\n"
	 "Cure: switch the other profiler off, or record with GPUTRACE_GPU=events, which needs no "
	 "CUPTI.\n"},
};

static const struct quality_kind *kind_of(const char *id)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (!strcasecmp(kinds[i].id, id))
			return &kinds[i];
	}
	return NULL;
}

const char *quality_page(const char *id)
{
	const struct quality_kind *kind = kind_of(id);

	return kind ? kind->page : NULL;
}

const char *quality_id(size_t index, const char **title)
{
	*title = index < ARRAY_LEN(kinds) ? kinds[index].title : NULL;
	return index < ARRAY_LEN(kinds) ? kinds[index].id : NULL;
}

void quality_add(struct quality *quality, const char *id, const char *value_key, double value,
		 char *text)
{
	if (quality->count == quality->capacity)
		quality->lines =
			array_grow(quality->lines, &quality->capacity, sizeof(*quality->lines));
	quality->lines[quality->count++] =
		(struct quality_line){kind_of(id)->id, kind_of(id)->title, text, value, value_key};
}

struct loss_sums {
	uint64_t zero_times, bad_times, cupti, ring_full, no_ring, damaged, write, import;
};

static int sum_losses(void *context, const struct trace_batch *batch)
{
	struct loss_sums *sums = context;

	for (uint32_t i = 0; i < batch->count; i++) {
		const struct record_loss *loss =
			(const void *)((const char *)batch->rows + (size_t)i * batch->row_bytes);
		uint64_t *const by_reason[] = {
			[LOSS_RING_FULL] = &sums->ring_full, [LOSS_NO_RING] = &sums->no_ring,
			[LOSS_CUPTI] = &sums->cupti,	     [LOSS_ZERO_TIME] = &sums->zero_times,
			[LOSS_BAD_TIME] = &sums->bad_times,  [LOSS_DAMAGED] = &sums->damaged,
			[LOSS_WRITE] = &sums->write,	     [LOSS_IMPORT] = &sums->import,
		};

		if (loss->reason < ARRAY_LEN(by_reason) && by_reason[loss->reason])
			*by_reason[loss->reason] += loss->count;
	}
	return 0;
}

static void check_losses(const struct model *model, struct quality *quality)
{
	const struct trace_health *health = model->source.health;
	struct loss_sums sums = {0};
	uint64_t bad_times, lost = health->lost_total;
	struct text text;

	/* Sources without loss records simply have none. */
	model->source.read(model->source.context, 1ull << RECORD_KIND_loss, sum_losses, NULL, &sums,
			   NULL);
	bad_times = sums.zero_times + sums.bad_times;
	if (lost > bad_times) {
		text_init(&text);
		text_addf(&text, "%llu %s lost", (unsigned long long)(lost - bad_times),
			  text_noun((double)(lost - bad_times), "event was", "events were"));
		if (sums.ring_full)
			text_addf(&text, ", %llu because a ring was full",
				  (unsigned long long)sums.ring_full);
		if (sums.no_ring)
			text_addf(&text, ", %llu of threads without a ring",
				  (unsigned long long)sums.no_ring);
		if (sums.cupti)
			text_addf(&text, ", %llu dropped by CUPTI", (unsigned long long)sums.cupti);
		if (sums.damaged)
			text_addf(&text, ", %llu invalid", (unsigned long long)sums.damaged);
		if (sums.write)
			text_addf(&text, ", %llu that could not be written",
				  (unsigned long long)sums.write);
		if (sums.import)
			text_addf(&text, ", %llu that could not be imported",
				  (unsigned long long)sums.import);
		text_add(&text, "; counts and sums are too low by up to that many.");
		quality_add(quality, "GT901", "lost_events", (double)(lost - bad_times),
			    text_take(&text));
	}
	if (bad_times)
		quality_add(
			quality, "GT903", "bad_timestamps", (double)bad_times,
			text_format(
				"%llu GPU records had no times and %llu impossible ones; they are "
				"left out.",
				(unsigned long long)sums.zero_times,
				(unsigned long long)sums.bad_times));
}

/* All the time: then it is no matter of some steps. */
static void check_totals(const struct model *model, struct quality *quality)
{
	const char *mode = model->source.info(model->source.context, "recording.mode");
	const struct totals_span span = call_totals_span(model);
	struct text text;

	text_init(&text);
	if (model->recording == RECORDED_SUMS)
		text_add(&text, "Calls and GPU work were summed, not recorded singly "
				"(GPUTRACE_MODE=summary).");
	else
		text_addf(&text, "Launches were not all recorded singly (%s).",
			  mode ? mode : "sampled");
	if (!span.has_end)
		text_add(&text, " The totals may lack what came last (GT904);");
	else if (!span.has_begin)
		text_add(&text, " The totals are of what was kept (GT909);");
	else
		text_add(&text, " The totals are exact;");
	text_add(&text, " ledger, steps and what rests on them are not judged.");
	quality_add(quality, "GT914", "totals", (double)model->total_count, text_take(&text));
}

static void check_blind(const struct model *model, struct quality *quality)
{
	double percent = blind_span_percent(model);

	if (call_totals_replace_calls(model)) {
		check_totals(model, quality);
		return;
	}
	if (!model->blind_count)
		return;
	quality_add(quality, "GT908", "blind_percent", percent,
		    text_format("%s %zu %s, %.1f %% of the time; %zu of %zu steps are partial "
				"and in no mean.",
				model->recording == RECORDED_BY_RATE
					? "Recording or the times of kernels were off, or launches "
					  "were sampled,"
					: "Recording, or the times of kernels, were off",
				model->blind_count,
				text_noun((double)model->blind_count, "time", "times"), percent,
				model->steps.partial_count, model->steps.count));
}

/* Up to when totals are whole, where that is not to the end. */
static void add_totals_ending(struct text *text, const struct model *model)
{
	const struct totals_span span = call_totals_span(model);

	if (model->recording == RECORDED_ALL || span.has_end)
		return;
	if (span.until_ns > 0)
		text_addf(text,
			  ", totals up to %.3f s: what was called or done later is missing from "
			  "them",
			  (double)span.until_ns / 1e9);
	else
		text_add(text, "; no total is complete for sure");
}

static void check_ending(const struct model *model, struct quality *quality)
{
	const struct trace_health *health = model->source.health;
	struct text text;

	if (health->session_end && health->session_end != SESSION_KILLED &&
	    !health->damaged_bytes && !health->damaged_chunks)
		return;
	text_init(&text);
	if (health->session_end == SESSION_KILLED)
		text_add(&text, "The process was killed.");
	else if (!health->session_end)
		text_add(&text,
			 "The file has no end: process and collector died together, or the job "
			 "is still running.");
	else
		text_add(&text, "The file is damaged.");
	if (health->host_complete_ns > 0)
		text_addf(&text, " %s are complete up to %.3f s",
			  model->recording == RECORDED_SUMS ? "Records of single calls"
							    : "Host calls",
			  (double)health->host_complete_ns / 1e9);
	else if (!health->session_end)
		text_add(&text, " It is cut inside its first group of records: whole kinds of them "
				"may be missing, and nothing is complete for sure");
	if (health->gpu_complete_ns > 0 ||
	    (health->gpu_complete_ns == 0 && health->host_complete_ns > 0))
		text_addf(&text, ", GPU times up to %.3f s", (double)health->gpu_complete_ns / 1e9);
	add_totals_ending(&text, model);
	if (health->damaged_bytes || health->damaged_chunks)
		text_addf(&text, "; %llu bytes and %u chunks could not be read",
			  (unsigned long long)health->damaged_bytes, health->damaged_chunks);
	text_add(&text, ".");
	quality_add(quality, "GT904", "damaged_bytes", (double)health->damaged_bytes,
		    text_take(&text));
}

void quality_check(const struct model *model, struct quality *quality)
{
	uint64_t unlinked = 0;

	memset(quality, 0, sizeof(*quality));
	check_losses(model, quality);
	quality_check_times(model, quality);
	quality_check_launches(model, quality);
	check_ending(model, quality);
	quality_check_dropped(model, quality);
	quality_check_recovered(model, quality);
	quality_check_unseen(model, quality);
	quality_check_counters(model, quality);
	quality_check_past(model, quality);
	quality_check_clocks(model, quality);
	quality_check_overhead(model, quality);
	check_blind(model, quality);
	for (size_t i = 0; i < model->device_count; i++)
		unlinked += model->devices[i].unlinked_ops;
	if (unlinked)
		quality_add(
			quality, "GT907", "unlinked_operations", (double)unlinked,
			text_format(
				"%llu of %zu GPU operations have no launch in the file; idle time "
				"before them is \"unknown\".",
				(unsigned long long)unlinked, model->op_count));
}

void quality_free(struct quality *quality)
{
	for (size_t i = 0; i < quality->count; i++)
		free(quality->lines[i].text);
	free(quality->lines);
	memset(quality, 0, sizeof(*quality));
}
