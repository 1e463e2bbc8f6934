/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes from a model what outlives it.
 */
#include "rank_summary.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "text.h"
#include "xmalloc.h"

static const char *info(const struct model *model, const char *key)
{
	return model->source.info(model->source.context, key);
}

static char *copy_info(const struct model *model, const char *key)
{
	const char *value = info(model, key);

	return value && *value ? xstrdup(value) : NULL;
}

static int64_t number_info(const struct model *model, const char *key, int64_t otherwise)
{
	const char *value = info(model, key);

	return value && *value ? strtoll(value, NULL, 10) : otherwise;
}

/* The device with most operations stands for the process. */
static size_t main_device(const struct model *model)
{
	size_t main = 0;

	for (size_t i = 1; i < model->device_count; i++) {
		if (model->devices[i].op_count > model->devices[main].op_count)
			main = i;
	}
	return main;
}

static void add_device(const struct model *model, size_t index, struct rank_summary *out)
{
	const struct model_device *device = &model->devices[index];
	const struct device_ledger *ledger = &device->ledger;
	const struct record_device *record = device->record;

	out->gpu = xstrdup(device->name);
	out->ordinal = device->ordinal;
	out->is_simulated = device->is_simulated;
	out->steady_count = ledger->steady_count;
	out->has_ledger = ledger->steady_count > 0 && ledger->steady.length_ns > 0;
	out->is_whole_run = model->steps.source == STEPS_NONE;
	out->step_ms = ledger_step_ms(ledger);
	for (int part = 0; part < LEDGER_PART_COUNT; part++) {
		out->part_ms[part] = ledger_part_ms(ledger, (enum ledger_part)part);
		if (part < LEDGER_COMPUTE_PARTS)
			out->compute_ms += out->part_ms[part];
	}
	out->gpu_node = record ? record->numa_node : -1;
	if (record && (record->pci_domain || record->pci_bus || record->pci_device))
		out->pci = text_format("%04x:%02x:%02x.0", record->pci_domain, record->pci_bus,
				       record->pci_device);
}

static bool is_in_steady(const struct model *model, size_t device, int64_t at_ns)
{
	const struct step_window *windows = model->devices[device].ledger.windows;
	size_t low = 0, high = model->steps.count;

	if (!windows)
		return false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (windows[middle].end_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < model->steps.count && at_ns >= windows[low].begin_ns &&
	       model->steps.items[low].kind == STEP_STEADY;
}

static struct rank_collective *grow(struct rank_summary *out, size_t *capacity)
{
	if (out->collective_count == *capacity)
		out->collectives =
			array_grow(out->collectives, capacity, sizeof(*out->collectives));
	return &out->collectives[out->collective_count++];
}

static void add_calls(const struct model *model, size_t device, struct rank_summary *out)
{
	size_t capacity = 0;

	for (size_t i = 0; i < model->collective_count; i++) {
		const struct model_collective *one = &model->collectives[i];
		const struct gpu_op *op = one->op == MODEL_NONE ? NULL : &model->ops[one->op];

		if (collective_is_message(one->kind) || !one->hash || !one->sequence ||
		    (model->calls[one->call].flags & CALL_REDUNDANT))
			continue;
		*grow(out, &capacity) = (struct rank_collective){
			.hash = one->hash,
			.size_bytes = one->size_bytes,
			.call_ns = model->calls[one->call].begin_ns,
			.begin_ns = op ? op->begin_ns : 0,
			.end_ns = op ? op->end_ns : 0,
			.sequence = one->sequence,
			.rank_count = one->rank_count,
			.peer = one->peer,
			.kind = one->kind,
			.element = one->element,
			.reduction = one->reduction,
			.is_steady = op && is_in_steady(model, device, op->begin_ns),
		};
	}
}

/* Recordings of other tools have no calls to NCCL: the kernels in their order stand for them. */
static void add_kernels(const struct model *model, size_t device, struct rank_summary *out)
{
	const struct model_device *of = &model->devices[device];
	size_t capacity = 0;

	out->is_from_kernels = true;
	for (size_t i = of->first_op; i < of->first_op + of->op_count; i++) {
		const struct gpu_op *op = &model->ops[i];
		struct comm_kernel kernel;

		if (op->type != GPU_OP_KERNEL || op->kernel_class != KERNEL_COMMUNICATION)
			continue;
		kernel = comm_kernel_of(model->kernels[op->detail].name);
		*grow(out, &capacity) = (struct rank_collective){
			.hash = 1,
			.call_ns = op->begin_ns,
			.begin_ns = op->begin_ns,
			.end_ns = op->end_ns,
			.sequence = (uint32_t)out->collective_count,
			.peer = MARK_NO_PEER,
			.kind = kernel.kind,
			.is_steady = is_in_steady(model, device, op->begin_ns),
		};
	}
}

static void add_cpus_used(const struct model *model, struct rank_summary *out)
{
	uint64_t seen[16] = {0}; /* CPUs below 1024 */
	struct text text;
	uint32_t first = 0;

	for (size_t i = 0; i < model->series_count; i++) {
		const struct sample_series *series = &model->series[i];

		for (size_t k = 0; series->metric == SAMPLE_thread_cpu && k < series->count; k++) {
			int64_t cpu = series->points[k].value;

			if (cpu >= 0 && cpu < 1024)
				seen[cpu / 64] |= 1ull << (cpu % 64);
		}
	}
	text_init(&text);
	while (first < 1024) {
		uint32_t last = first;

		while (last < 1024 && seen[last / 64] >> (last % 64) & 1)
			last++;
		if (last > first + 1)
			text_addf(&text, "%s%u-%u", text.length ? "," : "", first, last - 1);
		else if (last > first)
			text_addf(&text, "%s%u", text.length ? "," : "", first);
		first = last + 1;
	}
	if (text.length)
		out->cpus_used = text_take(&text);
	else
		text_fini(&text);
}

static void find_last(const struct model *model, struct rank_summary *out)
{
	out->last_ns = model->end_ns;
	for (size_t i = 0; i < model->series_count; i++) {
		const struct sample_series *series = &model->series[i];

		if (series->count && series->points[series->count - 1].time_ns > out->last_ns)
			out->last_ns = series->points[series->count - 1].time_ns;
	}
}

void rank_summary_build(const struct model *model, struct rank_summary *out)
{
	size_t device = main_device(model);

	memset(out, 0, sizeof(*out));
	out->path = xstrdup(model->source.path);
	out->host = copy_info(model, "host.name");
	out->cpus_allowed = copy_info(model, "process.cpus_allowed");
	out->nodes_allowed = copy_info(model, "process.numa_nodes_allowed");
	out->rank = model->rank;
	out->pid = number_info(model, "process.pid", -1);
	out->host_cpus = (uint32_t)number_info(model, "host.cpus", 0);
	out->world_size = (uint32_t)number_info(model, "world_size", 0);
	out->gpu_node = -1;
	if (communicator_largest(model) &&
	    communicator_largest(model)->rank_count > out->world_size)
		out->world_size = communicator_largest(model)->rank_count;
	find_last(model, out);
	add_cpus_used(model, out);
	if (model->device_count)
		add_device(model, device, out);
	if (model->communicator_count) {
		out->communicators =
			xmalloc(model->communicator_count * sizeof(*out->communicators));
		memcpy(out->communicators, model->communicators,
		       model->communicator_count * sizeof(*out->communicators));
		out->communicator_count = model->communicator_count;
	}
	if (model->collective_count)
		add_calls(model, device, out);
	else if (model->device_count)
		add_kernels(model, device, out);
}

void rank_summary_free(struct rank_summary *summary)
{
	free(summary->path);
	free(summary->host);
	free(summary->gpu);
	free(summary->pci);
	free(summary->cpus_allowed);
	free(summary->cpus_used);
	free(summary->nodes_allowed);
	free(summary->communicators);
	free(summary->collectives);
}
