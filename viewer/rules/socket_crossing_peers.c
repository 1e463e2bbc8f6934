/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT306: GPUs that exchange data directly although they are on different sockets and no NVLink is
 * between them: copies of the program, or NCCL where it was told to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_info.h"
#include "device_paths.h"
#include "rule.h"

#define COST_PERCENT	1.0
#define EXPOSED_PERCENT 2.0 /* from which on NCCL's setting matters */
#define LARGE_BYTES	(1024u * 1024)
#define PEERS		16

struct peer_traffic {
	uint16_t ordinal;
	uint64_t bytes, copies; /* steady steps */
	int64_t busy_ns;
	double best_gbs; /* of large copies */
	uint32_t call;
	int distance; /* device_path_distance(), 0 unknown */
};

struct traffic {
	const struct model *model;
	struct peer_traffic items[PEERS];
	size_t count;
	uint64_t nameless; /* copies whose other GPU is not recorded */
};

static void add_copy(void *context, const struct gpu_op *op)
{
	struct traffic *traffic = context;
	const struct transfer *transfer;
	struct peer_traffic *peer;
	double rate;
	size_t i = 0;

	if (op->type != GPU_OP_COPY)
		return;
	transfer = &traffic->model->transfers[op->detail];
	if (transfer->direction != COPY_PEER)
		return;
	while (i < traffic->count && traffic->items[i].ordinal != transfer->peer)
		i++;
	if (transfer->peer == MODEL_NO_DEVICE || i == PEERS) {
		traffic->nameless++;
		return;
	}
	peer = &traffic->items[i];
	if (i == traffic->count) {
		*peer = (struct peer_traffic){.ordinal = transfer->peer, .call = op->call};
		traffic->count++;
	}
	peer->bytes += transfer->size_bytes;
	peer->copies++;
	peer->busy_ns += op->end_ns - op->begin_ns;
	rate = copy_rate_gbs(transfer->size_bytes, op->end_ns - op->begin_ns);
	if (transfer->size_bytes >= LARGE_BYTES && rate > peer->best_gbs)
		peer->best_gbs = rate;
}

static void find_distances(const struct rule_context *context, struct traffic *traffic)
{
	const struct model *model = context->model;
	struct device_path path;

	for (size_t i = 0; i < traffic->count; i++) {
		for (size_t d = 0; d < model->device_count; d++) {
			if (model->devices[d].ordinal == traffic->items[i].ordinal &&
			    device_path_between(model, context->device, d, &path))
				traffic->items[i].distance = device_path_distance(&path);
		}
	}
}

/* The fastest large copy to a GPU that is nearer, 0 none. */
static double nearer_gbs(const struct traffic *traffic)
{
	double best = 0;

	for (size_t i = 0; i < traffic->count; i++) {
		if (traffic->items[i].distance && traffic->items[i].distance < DEVICE_PATH_SYS &&
		    traffic->items[i].best_gbs > best)
			best = traffic->items[i].best_gbs;
	}
	return best;
}

/* The other GPUs of the machine that are nearer, as text for a sentence. */
static void add_nearer(const struct rule_context *context, char *text, size_t size)
{
	const char *at = device_info_text(context->model, context->device, "paths");
	struct device_path path;
	size_t used = 0;

	text[0] = '\0';
	while (device_path_next(&at, &path)) {
		int distance = device_path_distance(&path);

		if (path.is_gpu && distance && distance < DEVICE_PATH_SYS &&
		    used + sizeof(path.to) + 20 < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s (%s)",
						 used ? ", " : "", path.to, path.way);
	}
}

static void raise_copies(struct rule_context *context, const struct traffic *traffic,
			 const struct peer_traffic *peer)
{
	const struct model_device *self = &context->model->devices[context->device];
	struct finding *finding = rule_raise(context, peer->call);
	double rate = copy_rate_gbs(peer->bytes, peer->busy_ns), near = nearer_gbs(traffic);
	double busy_ms = rule_ms(context, peer->busy_ns);
	char nearer[512];

	finding->cost_ms = busy_ms;
	finding->per_step = (double)peer->copies / context->steady_steps;
	finding->draws_from = 1u << LEDGER_COMM;
	if (near > rate) {
		finding->gain_high_ms = busy_ms * (1 - rate / near);
		finding->gain_low_ms = finding->gain_high_ms / 2;
	}
	finding_number(finding, "from_gpu", self->ordinal);
	finding_number(finding, "to_gpu", peer->ordinal);
	finding_number(finding, "bytes_per_step", (double)peer->bytes / context->steady_steps);
	finding_number(finding, "achieved_gbs", rate);
	if (near > 0)
		finding_number(finding, "nearer_pair_gbs", near);
	finding_text(finding, "path", "SYS");
	finding_summary(finding,
			"GPU %u sends %.2f MiB per %s to GPU %u on another socket, at %.1f GB/s "
			"(%.2f ms, %.1f %%); no NVLink is between them.",
			self->ordinal, (double)peer->bytes / context->steady_steps / 1048576,
			context->unit, peer->ordinal, rate, busy_ms,
			rule_percent(context, busy_ms));
	add_nearer(context, nearer, sizeof(nearer));
	if (nearer[0])
		finding_fix(
			finding,
			"Let GPUs exchange data that are on one socket; nearer to this one: %s.",
			nearer);
	else
		finding_fix(finding, "No GPU of this machine is nearer to this one: exchange less, "
				     "or overlap the copies with work.");
	rule_settle(context, finding);
}

/* NCCL goes directly from GPU to GPU across sockets only where it is told to. */
static bool is_nccl_told(const struct model *model)
{
	const char *level = model->source.info(model->source.context, "env.NCCL_P2P_LEVEL");

	return level && (!strcmp(level, "SYS") || strtol(level, NULL, 10) >= 5);
}

/* Ways to GPUs of other sockets, without NVLinks. */
static size_t far_gpus(const struct rule_context *context, size_t *known)
{
	const struct model *model = context->model;
	const char *at = device_info_text(model, context->device, "paths");
	const char *links = device_info_text(model, context->device, "nvlinks");
	struct device_path path;
	size_t far = 0;

	*known = 0;
	while (device_path_next(&at, &path)) {
		if (!path.is_gpu || !device_path_distance(&path))
			continue;
		(*known)++;
		far += device_path_distance(&path) == DEVICE_PATH_SYS &&
		       !(links && strstr(links, path.to));
	}
	return far;
}

/* Whether it raised something. */
static bool judge_nccl(struct rule_context *context)
{
	double exposed_ms = ledger_part_ms(context->ledger, LEDGER_COMM);
	struct finding *finding;
	size_t known, far = far_gpus(context, &known);

	if (!far || !context->comm.all.kernels || !is_nccl_told(context->model) ||
	    rule_percent(context, exposed_ms) < EXPOSED_PERCENT)
		return false;
	finding = rule_raise(context, context->comm.call);
	finding->cost_ms = exposed_ms;
	finding->draws_from = 1u << LEDGER_COMM;
	finding_text(finding, "path", "SYS");
	finding_text(finding, "setting", "NCCL_P2P_LEVEL");
	finding_number(finding, "gpus_on_other_sockets", (double)far);
	finding_number(finding, "exposed_ms_per_step", exposed_ms);
	finding_summary(finding,
			"NCCL_P2P_LEVEL makes NCCL copy directly between GPUs of different sockets "
			"(%zu of the other %zu GPUs are on another one, without NVLink). On many "
			"machines that is slower than through host memory. The GPU only "
			"communicates for %.2f ms per %s (%.1f %%).",
			far, known, exposed_ms, context->unit, rule_percent(context, exposed_ms));
	finding_fix(finding, "Compare the step with NCCL_P2P_LEVEL unset: NCCL then goes through "
			     "host memory between sockets.");
	rule_settle(context, finding);
	if (finding->severity > SEVERITY_MEDIUM) /* the cost is all communication */
		finding->severity = SEVERITY_MEDIUM;
	return true;
}

static void run(struct rule_context *context)
{
	struct traffic traffic = {.model = context->model};
	size_t raised = 0, unknown = 0, crossing = 0;

	work_visit_steady(context->model, context->device, add_copy, &traffic);
	find_distances(context, &traffic);
	for (size_t i = 0; i < traffic.count; i++) {
		const struct peer_traffic *peer = &traffic.items[i];

		unknown += !peer->distance;
		if (peer->distance < DEVICE_PATH_SYS)
			continue;
		crossing++;
		if (rule_share(context, peer->busy_ns) < COST_PERCENT)
			continue;
		raise_copies(context, &traffic, peer);
		raised++;
	}
	raised += judge_nccl(context);
	if (raised)
		return;
	if (unknown || traffic.nameless)
		rule_not_judged(context, "GPUs copy to each other, but the ways between them are "
					 "not recorded");
	else if (crossing)
		rule_silent(context,
			    "copies to GPUs on other sockets take less than %.0f %% of the %s",
			    COST_PERCENT, context->unit);
	else if (traffic.count)
		rule_silent(context, "the GPUs that copy to each other are on one socket or "
				     "connected by NVLink");
	else if (context->comm.all.kernels && is_nccl_told(context->model) &&
		 !device_info_text(context->model, context->device, "paths"))
		rule_not_judged(context, "NCCL_P2P_LEVEL allows direct copies between sockets, but "
					 "the ways between GPUs are not recorded");
	else
		rule_silent(context, "no copies to other GPUs, and NCCL is not told to go directly "
				     "between sockets");
}

/* clang-format off */
const struct rule rule_socket_crossing_peers = {
	.name = "socket_crossing_peers",
	.id = "GT306",
	.title = "peer traffic across sockets",
	.page =
"Raised when copies from this GPU to one on another socket (SYS in the table of gputrace doctor),\n"
"without an NVLink between them, take at least 1 % of the mean steady step. Also raised when\n"
"NCCL_P2P_LEVEL makes NCCL copy directly between such GPUs (by itself it goes through host\n"
"memory there, except on AMD hosts with two GPUs) and exposed communication takes at least 2 %.\n"
"\n"
"Gain: up to the difference to the fastest copy to a nearer GPU in the same run, at least half of\n"
"it; without such a copy no gain is announced. For NCCL the cost is all exposed communication, no gain is announced, and\n"
"the severity is medium at most: what the other way would take must be tried.\n"
"Silent: pairs with NVLink or on one socket; rare copies.\n"
"Not judged: recordings without the machine's topology, copies whose other GPU is not recorded.\n"
"Wrong when: the sockets' interconnect is as fast as the GPUs' links. GT109 tells copies that are\n"
"slower than the links by much, whatever the way.\n",
	.run = run,
};
/* clang-format on */
