/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT305: a job of several machines whose GPU has no network card on its own socket, so that what it
 * sends crosses the processors' interconnect.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_info.h"
#include "device_paths.h"
#include "rule.h"

#define EXPOSED_PERCENT 2.0

struct cards {
	size_t count, unknown;
	struct device_path nearest;
	char names[160]; /* of all that may be used */
};

/* Whether NCCL may use the card: NCCL_IB_HCA is a list of prefixes, "=" in front makes them names,
 * "^" excludes instead; ":1" is a port. */
static bool is_chosen(const char *list, const char *card)
{
	bool is_excluding, is_exact, is_named = false;

	if (!list || !*list)
		return true;
	is_excluding = *list == '^';
	list += is_excluding;
	is_exact = *list == '=';
	list += is_exact;
	while (*list && !is_named) {
		size_t length = strcspn(list, ","), name = strcspn(list, ",:");

		is_named = name && !strncmp(list, card, name) && (!is_exact || !card[name]);
		list += length;
		list += *list == ',';
	}
	return is_named != is_excluding;
}

static void find_cards(const struct rule_context *context, struct cards *cards)
{
	const struct model *model = context->model;
	const char *at = device_info_text(model, context->device, "paths");
	const char *chosen = model->source.info(model->source.context, "env.NCCL_IB_HCA");
	struct device_path path;

	while (device_path_next(&at, &path)) {
		int distance = device_path_distance(&path);
		size_t used = strlen(cards->names);

		if (path.is_gpu || !is_chosen(chosen, path.to))
			continue;
		cards->count++;
		if (used + strlen(path.to) + 3 < sizeof(cards->names))
			snprintf(cards->names + used, sizeof(cards->names) - used, "%s%s",
				 used ? ", " : "", path.to);
		if (!distance)
			cards->unknown++;
		else if (!cards->nearest.to[0] || distance < device_path_distance(&cards->nearest))
			cards->nearest = path;
	}
}

/* GPUs of this machine that the collector saw, this one counted. */
static uint32_t gpus_here(const struct rule_context *context)
{
	const char *at = device_info_text(context->model, context->device, "paths");
	struct device_path path;
	uint32_t count = 1;

	while (device_path_next(&at, &path))
		count += path.is_gpu;
	return count;
}

static uint32_t number_of(const struct model *model, const char *key)
{
	const char *text = model->source.info(model->source.context, key);
	long value = text ? strtol(text, NULL, 10) : 0;

	return value > 0 && value < 1 << 24 ? (uint32_t)value : 0;
}

static void raise(struct rule_context *context, const struct cards *cards, uint32_t ranks,
		  double exposed_ms)
{
	const struct model *model = context->model;
	const struct model_device *device = &model->devices[context->device];
	struct finding *finding = rule_raise(context, context->comm.call);
	const char *chosen = model->source.info(model->source.context, "env.NCCL_IB_HCA");

	finding->cost_ms = exposed_ms;
	finding->draws_from = 1u << LEDGER_COMM;
	finding_text(finding, "network_cards", cards->names);
	finding_text(finding, "nearest_path", cards->nearest.way);
	finding_number(finding, "gpu_node", device->record->numa_node);
	finding_number(finding, "ranks", ranks);
	finding_number(finding, "exposed_ms_per_step", exposed_ms);
	finding_summary(finding,
			"Every network card that the job may use (%s%s) is on another socket than "
			"GPU %u: what it sends to other machines crosses the processors' "
			"interconnect, and GPUDirect RDMA is not used that far by default. The GPU "
			"only communicates for %.2f ms per %s (%.1f %%); how much of that the way "
			"costs is not measured.",
			cards->names, chosen && *chosen ? ", by NCCL_IB_HCA" : "", device->ordinal,
			exposed_ms, context->unit, rule_percent(context, exposed_ms));
	if (chosen && *chosen)
		finding_fix(finding, "Unset NCCL_IB_HCA, or name a card in it that is near the GPU "
				     "(gputrace doctor shows the paths).");
	else
		finding_fix(finding,
			    "Use GPUs of the cards' own socket first (CUDA_VISIBLE_DEVICES, the "
			    "scheduler's GPU binding), or put a card into a slot of this one.");
	rule_settle(context, finding);
	if (finding->severity > SEVERITY_MEDIUM) /* the cost is all communication, not the way's */
		finding->severity = SEVERITY_MEDIUM;
}

/* True when there is nothing to judge; the rule has then said why. */
static bool is_settled(struct rule_context *context, uint32_t ranks)
{
	const struct model *model = context->model;
	uint32_t here = number_of(model, "env.LOCAL_WORLD_SIZE");

	if (!context->comm.all.kernels) {
		rule_silent(context, "there are no communication kernels");
	} else if (!device_info_text(model, context->device, "paths")) {
		rule_not_judged(context, "the ways from the GPU to network cards are not recorded");
	} else if (!ranks) {
		rule_not_judged(context, "how many ranks communicate is not recorded");
	} else if (here ? ranks <= here : ranks == 1) {
		rule_silent(context, "all ranks are on this machine and need no network card");
	} else if (!here && ranks <= gpus_here(context)) {
		rule_not_judged(context, "whether the ranks are on several machines is not "
					 "recorded (LOCAL_WORLD_SIZE)");
	} else {
		return false;
	}
	return true;
}

static void run(struct rule_context *context)
{
	const struct model_communicator *largest = communicator_largest(context->model);
	uint32_t ranks = number_of(context->model, "world_size");
	double exposed_ms = ledger_part_ms(context->ledger, LEDGER_COMM);
	struct cards cards = {0};

	if (largest && largest->rank_count > ranks)
		ranks = largest->rank_count;
	if (is_settled(context, ranks))
		return;
	find_cards(context, &cards);
	if (!cards.count)
		rule_not_judged(context,
				"no network card with RDMA is in the recording, and others "
				"are not recorded");
	else if (!cards.nearest.to[0])
		rule_not_judged(context, "the ways from the GPU to network cards are unknown");
	else if (device_path_distance(&cards.nearest) < DEVICE_PATH_SYS)
		rule_silent(context, "%s is near the GPU (%s), and NCCL prefers near cards",
			    cards.nearest.to, cards.nearest.way);
	else if (cards.unknown)
		rule_not_judged(context, "the ways to some network cards are unknown");
	else if (rule_percent(context, exposed_ms) < EXPOSED_PERCENT)
		rule_silent(context,
			    "the nearest card, %s, is on another socket, but exposed "
			    "communication is only %.1f %% of the %s (raised from %.0f %%)",
			    cards.nearest.to, rule_percent(context, exposed_ms), context->unit,
			    EXPOSED_PERCENT);
	else
		raise(context, &cards, ranks, exposed_ms);
}

/* clang-format off */
const struct rule rule_distant_network_card = {
	.name = "distant_network_card",
	.id = "GT305",
	.title = "network card and GPU apart",
	.page =
"Raised when ranks of the job are on other machines, exposed communication takes at least 2 % of\n"
"the mean steady step, and every network card with RDMA that the job may use is on another\n"
"socket than the GPU (SYS in the table of gputrace doctor). NCCL takes the nearest card by\n"
"itself, so one near card makes this silent; NCCL_IB_HCA takes cards away.\n"
"\n"
"Which card was really used is not in a recording: what is said follows from there being no near\n"
"one. Ranks are on other machines when there are more of them than LOCAL_WORLD_SIZE, or more\n"
"than the machine has GPUs.\n"
"\n"
"Cost: all exposed communication, of which the way is a part that one recording cannot tell; no\n"
"gain is announced, and the severity is medium at most.\n"
"Silent: a near card; ranks of one machine; communication that is hidden.\n"
"Not judged: recordings without the machine's topology (imports, many containers), cards without\n"
"RDMA, jobs that may be of one machine or of several.\n"
"Wrong when: most ranks talk within the machine only (tensor parallelism), or the cards that are\n"
"seen belong to another network.\n",
	.run = run,
};
/* clang-format on */
