/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT109: copies from GPU to GPU that are much slower than the link between them: through host
 * memory because peer access is off, across the sockets, or redirected by ACS or an IOMMU.
 */
#include <string.h>

#include "rule.h"

#define COST_PERCENT 1.0
#define FRACTION     0.6 /* of what an unexceptional system reaches on the slower link */
#define LARGE_BYTES  (1024u * 1024)
#define PEERS	     16

struct peer {
	uint16_t ordinal;
	uint64_t bytes, copies; /* steady steps, large copies */
	int64_t busy_ns;
	double best_gbs;
	uint32_t call;
};

struct peers {
	const struct model *model;
	struct peer items[PEERS];
	size_t count;
};

static void add_copy(void *context, const struct gpu_op *op)
{
	struct peers *peers = context;
	const struct transfer *transfer;
	int64_t busy_ns = op->end_ns - op->begin_ns;
	struct peer *peer;
	size_t i = 0;

	if (op->type != GPU_OP_COPY)
		return;
	transfer = &peers->model->transfers[op->detail];
	if (transfer->direction != COPY_PEER || transfer->peer == MODEL_NO_DEVICE ||
	    transfer->size_bytes < LARGE_BYTES)
		return;
	while (i < peers->count && peers->items[i].ordinal != transfer->peer)
		i++;
	if (i == PEERS)
		return;
	peer = &peers->items[i];
	if (i == peers->count) {
		*peer = (struct peer){.ordinal = transfer->peer, .call = op->call};
		peers->count++;
	}
	peer->bytes += transfer->size_bytes;
	peer->copies++;
	peer->busy_ns += busy_ns;
	if (copy_rate_gbs(transfer->size_bytes, busy_ns) > peer->best_gbs)
		peer->best_gbs = copy_rate_gbs(transfer->size_bytes, busy_ns);
}

static const struct record_device *device_of(const struct model *model, uint16_t ordinal)
{
	for (size_t i = 0; i < model->device_count; i++) {
		if (model->devices[i].ordinal == ordinal)
			return model->devices[i].record;
	}
	return NULL;
}

static bool has_enabled_peers(const struct model *model)
{
	for (size_t i = 0; i < model->api_count; i++) {
		if (strstr(model->apis[i], "EnablePeerAccess"))
			return true;
	}
	return false;
}

static void raise(struct rule_context *context, const struct peer *peer,
		  const struct link_rate *link, const struct record_device *other)
{
	const struct model_device *self = &context->model->devices[context->device];
	struct finding *finding = rule_raise(context, peer->call);
	double rate = copy_rate_gbs(peer->bytes, peer->busy_ns);
	double busy_ms = rule_ms(context, peer->busy_ns);
	bool is_across = self->record->numa_node >= 0 && other->numa_node >= 0 &&
			 self->record->numa_node != other->numa_node;
	bool is_enabled = has_enabled_peers(context->model);

	finding->cost_ms = busy_ms;
	finding->per_step = (double)peer->copies / context->steady_steps;
	finding->gain_high_ms = busy_ms * (1 - rate / link->attainable_gbs);
	finding->gain_low_ms = finding->gain_high_ms / 2;
	finding->draws_from = 1u << LEDGER_COMM;
	finding_number(finding, "from_gpu", self->ordinal);
	finding_number(finding, "to_gpu", peer->ordinal);
	finding_number(finding, "bytes_per_step", (double)peer->bytes / context->steady_steps);
	finding_number(finding, "achieved_gbs", rate);
	finding_number(finding, "best_gbs", peer->best_gbs);
	finding_number(finding, "link_attainable_gbs", link->attainable_gbs);
	finding_text(finding, "path", is_across ? "across NUMA nodes" : "within a node or unknown");
	finding_text(finding, "peer_access",
		     is_enabled ? "enabled by the program" : "not enabled in this recording");
	finding_summary(finding,
			"Copies from GPU %u to GPU %u run at %.1f GB/s; the slower of their links "
			"attains %.1f GB/s (%.2f ms per %s, %.1f %%)%s.",
			self->ordinal, peer->ordinal, rate, link->attainable_gbs, busy_ms,
			context->unit, rule_percent(context, busy_ms),
			is_across ? "; they are on different NUMA nodes" : "");
	if (!is_enabled)
		finding_fix(finding, "Enable peer access (cudaDeviceEnablePeerAccess) where "
				     "cudaDeviceCanAccessPeer allows it; without it the driver "
				     "stages copies in host memory.");
	else if (is_across)
		finding_fix(finding, "Pair GPUs of one NUMA node (nvidia-smi topo -m): between "
				     "sockets the copies go through the processors.");
	else
		finding_fix(
			finding,
			"Check nvidia-smi topo -m: if both sit under one PCIe switch, ACS or an "
			"IOMMU sends the copies through the host bridge (lspci -vvv, ACSCtl).");
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	const struct model *model = context->model;
	struct peers peers = {.model = model};
	size_t raised = 0, unknown = 0;

	work_visit_steady(model, context->device, add_copy, &peers);
	for (size_t i = 0; i < peers.count; i++) {
		const struct peer *peer = &peers.items[i];
		const struct record_device *other = device_of(model, peer->ordinal);
		struct link_rate link = context->link, far = {0, 0, 0};

		if (other)
			far = link_rate_of(other->link_gen, other->link_width);
		if (link.raw_gbs <= 0 || far.raw_gbs <= 0) {
			unknown++;
			continue;
		}
		if (far.raw_gbs < link.raw_gbs)
			link = far;
		if (rule_share(context, peer->busy_ns) < COST_PERCENT ||
		    peer->best_gbs >= FRACTION * link.minimum_gbs)
			continue;
		raise(context, peer, &link, other);
		raised++;
	}
	if (!raised && unknown)
		rule_not_judged(context, "GPUs copy to each other, but their links were not "
					 "recorded");
	else if (!raised)
		rule_silent(context, peers.count
					     ? "copies between GPUs are as fast as their links or "
					       "below 1 %% of the step"
					     : "no large copies from this GPU to another one");
}

/* clang-format off */
const struct rule rule_staged_peer_copy = {
	.name = "staged_peer_copy",
	.id = "GT109",
	.title = "peer copies staged through the host",
	.page =
"Raised when copies of at least 1 MiB from this GPU to another one take at least 1 % of the mean\n"
"steady step, and even the fastest of them stays below 60 % of what an unexceptional system\n"
"reaches on the slower of the two PCIe links (24 GB/s on gen 4 x16). NVLink is faster still.\n"
"\n"
"Causes, in the order in which to look: peer access not enabled, so that the driver stages in\n"
"host memory; GPUs on different sockets; ACS or an IOMMU that sends copies between two devices\n"
"under one switch through the host bridge.\n"
"\n"
"Gain: up to the difference to the link's attainable rate; at least half of it.\n"
"Silent: fast or rare copies. Not judged: a link that was not recorded.\n"
"Wrong when: something else uses the same link at the same time (GT111).\n",
	.run = run,
};
/* clang-format on */
