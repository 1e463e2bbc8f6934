/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link is told under load and idle alike; samples say when, and only what was seen under load
 * enters the device record. NVML starts when the session has a GPU and is given up when it does not
 * answer.
 */
#include "gpu_sampler.h"

#include <stdio.h>
#include <string.h>

#include "device_link.h"
#include "pci_link.h"
#include "small_file.h"
#include "trace_writer.h"

#define ANSWER_NS 15000000000ull /* loading a driver's library on a large machine takes seconds */

static const struct {
	enum nvml_number number;
	enum sample_metric metric;
} sampled[] = {
	{NVML_sm_clock_mhz, SAMPLE_sm_clock_mhz},
	{NVML_memory_clock_mhz, SAMPLE_memory_clock_mhz},
	{NVML_power_mw, SAMPLE_power_mw},
	{NVML_temperature_c, SAMPLE_temperature_c},
	{NVML_throttle_reasons, SAMPLE_throttle_reasons},
	{NVML_gpu_busy_percent, SAMPLE_gpu_busy_percent},
	{NVML_memory_used_bytes, SAMPLE_memory_used_bytes},
	{NVML_memory_own_bytes, SAMPLE_memory_own_bytes},
	{NVML_memory_free_bytes, SAMPLE_memory_free_bytes},
	{NVML_other_processes, SAMPLE_other_processes},
	{NVML_ecc_errors, SAMPLE_ecc_errors},
	{NVML_pcie_replays, SAMPLE_pcie_replays},
	{NVML_link_rx_kbps, SAMPLE_link_rx_kbps},
	{NVML_link_tx_kbps, SAMPLE_link_tx_kbps},
};

/* What does not change, as info "gpu.ADDRESS.NAME". */
static const struct {
	enum nvml_number number;
	const char *name;
} facts[] = {
	{NVML_mig_enabled, "mig_enabled"},
	{NVML_compute_mode, "compute_mode"},
	{NVML_ecc_enabled, "ecc_enabled"},
	{NVML_remapped_rows, "remapped_rows"},
	{NVML_remap_failed, "remap_failed"},
	{NVML_sm_clock_max_mhz, "sm_clock_max_mhz"},
	{NVML_power_limit_mw, "power_limit_mw"},
	{NVML_link_gen_max, "link_gen_max"},
	{NVML_link_gen_device_max, "link_gen_device_max"},
	{NVML_link_width_max, "link_width_max"},
};

void gpu_sampler_init(struct gpu_sampler *sampler, const struct sample_sink *sink, const char *root,
		      struct drain *drain, const struct gpu_probe *probe, const char *library,
		      pid_t pid)
{
	memset(sampler, 0, sizeof(*sampler));
	sampler->root = root;
	sampler->sink = *sink;
	sampler->drain = drain;
	sampler->probe = probe;
	sampler->library = library;
	sampler->pid = pid;
}

static struct record_device *device_at(const struct gpu_sampler *sampler, uint32_t index)
{
	return (struct record_device *)sampler->drain->devices[index];
}

void gpu_sampler_note_work(struct gpu_sampler *sampler, uint32_t ordinal)
{
	for (uint32_t i = 0; i < sampler->drain->device_count; i++) {
		if (device_at(sampler, i)->ordinal == ordinal)
			sampler->busy |= 1u << i;
	}
}

static void sample_link(const struct gpu_sampler *sampler, const struct record_device *device)
{
	struct pci_link_end now;
	char address[32];

	snprintf(address, sizeof(address), "%04x:%02x:%02x.0", (unsigned int)device->pci_domain,
		 (unsigned int)device->pci_bus, (unsigned int)device->pci_device);
	now = pci_link_now(sampler->root, address);
	if (now.gen)
		sample_emit(&sampler->sink, SAMPLE_link_gen, device->ordinal, now.gen);
	if (now.width)
		sample_emit(&sampler->sink, SAMPLE_link_width, device->ordinal, now.width);
}

void gpu_sampler_look_at_links(struct gpu_sampler *sampler)
{
	for (uint32_t i = 0; i < sampler->drain->device_count; i++) {
		struct record_device *device = device_at(sampler, i);

		if (!(sampler->busy >> i & 1))
			continue;
		sample_link(sampler, device);
		if (device_link_update(device, sampler->root, true))
			trace_writer_add(sampler->sink.writer, 0, device, device->head.size_bytes,
					 NULL);
	}
	sampler->busy = 0;
}

/* ---- NVML ---- */

static void tell(const struct gpu_sampler *sampler, const char *key, const char *value)
{
	if (value[0])
		trace_writer_info(sampler->sink.writer, key, value, NULL);
}

static void start_probe(struct gpu_sampler *sampler, uint64_t now_ns, const char *cuda_folder)
{
	const char *library = sampler->library;
	const char *reason = NULL;
	char path[1024];

	sampler->is_started = true;
	sampler->started_ns = now_ns;
	if (!sampler->probe)
		reason = "the collector runs inside the job";
	else if (library && strcmp(library, "off") == 0)
		reason = "GPUTRACE_NVML=off";
	else if (!library && sampler->root[0])
		reason = "the files of the machine are not this machine's";
	if (!reason) {
		snprintf(path, sizeof(path), "%.900s%s%s", library ? library : cuda_folder,
			 library || !cuda_folder[0] ? "" : "/", library ? "" : NVML_LIBRARY);
		sampler->probe->start(sampler->probe->context, path, (uint32_t)sampler->pid,
				      &reason);
	}
	if (reason) {
		sampler->probe = NULL;
		tell(sampler, "nvml.reason", reason);
	}
}

static void tell_facts(struct gpu_sampler *sampler)
{
	const struct nvml_state *state = &sampler->state;
	char key[96], value[32];

	sampler->is_told = true;
	tell(sampler, "nvml.reason", state->reason);
	tell(sampler, "nvml.version", state->version);
	tell(sampler, "nvml.simulated", state->is_simulated ? "1" : "");
	tell(sampler, "driver.version", state->driver);
	if (state->cuda_version) {
		snprintf(value, sizeof(value), "%d", state->cuda_version);
		tell(sampler, "driver.cuda_version", value);
	}
	for (uint32_t i = 0; i < state->gpu_count; i++) {
		const struct nvml_gpu *gpu = &state->gpus[i];
		char links[256] = "";
		size_t used = 0;

		for (size_t f = 0; f < sizeof(facts) / sizeof(facts[0]); f++) {
			if (!nvml_has(gpu, facts[f].number))
				continue;
			snprintf(key, sizeof(key), "gpu.%s.%s", gpu->address, facts[f].name);
			snprintf(value, sizeof(value), "%lld",
				 (long long)gpu->values[facts[f].number]);
			tell(sampler, key, value);
		}
		for (uint32_t other = 0; other < state->gpu_count; other++) {
			if (gpu->nvlinks[other] && used + 32 < sizeof(links))
				used += (size_t)snprintf(links + used, sizeof(links) - used,
							 "%s%s=NV%u", used ? " " : "",
							 state->gpus[other].address,
							 gpu->nvlinks[other]);
		}
		snprintf(key, sizeof(key), "gpu.%s.nvlinks", gpu->address);
		tell(sampler, key, links);
	}
}

static const struct nvml_gpu *find_gpu(const struct nvml_state *state,
				       const struct record_device *device)
{
	for (uint32_t i = 0; i < state->gpu_count; i++) {
		if (state->gpus[i].domain == device->pci_domain &&
		    state->gpus[i].bus == device->pci_bus &&
		    state->gpus[i].device == device->pci_device)
			return &state->gpus[i];
	}
	return NULL;
}

static void sample_gpu(const struct gpu_sampler *sampler, const struct record_device *device)
{
	const struct nvml_gpu *gpu = find_gpu(&sampler->state, device);

	for (size_t i = 0; gpu && i < sizeof(sampled) / sizeof(sampled[0]); i++) {
		if (nvml_has(gpu, sampled[i].number))
			sample_emit(&sampler->sink, sampled[i].metric, device->ordinal,
				    gpu->values[sampled[i].number]);
	}
}

static void ask_probe(struct gpu_sampler *sampler, uint64_t now_ns)
{
	if (sampler->probe->take(sampler->probe->context, &sampler->state)) {
		if (!sampler->is_told || sampler->state.reason[0])
			tell_facts(sampler);
		for (uint32_t i = 0; i < sampler->drain->device_count; i++)
			sample_gpu(sampler, device_at(sampler, i));
		if (!sampler->state.reason[0])
			return;
	} else if (sampler->is_told || now_ns - sampler->started_ns < ANSWER_NS) {
		return;
	} else {
		tell(sampler, "nvml.reason", "NVML did not answer");
	}
	sampler->probe->stop(sampler->probe->context);
	sampler->probe = NULL;
}

void gpu_sampler_run(struct gpu_sampler *sampler, uint64_t now_ns, const char *cuda_folder)
{
	if (!sampler->drain->device_count)
		return;
	for (uint32_t i = 0; i < sampler->drain->device_count; i++) {
		if (!(sampler->busy >> i & 1))
			sample_link(sampler, device_at(sampler, i));
	}
	if (!sampler->is_started)
		start_probe(sampler, now_ns, cuda_folder);
	if (sampler->probe)
		ask_probe(sampler, now_ns);
}

void gpu_sampler_finish(struct gpu_sampler *sampler)
{
	char value[32];

	if (!sampler->probe || !sampler->is_started)
		return;
	/* What came in the last second, and everything of a run that was shorter. */
	ask_probe(sampler, sampler->started_ns);
	if (!sampler->probe)
		return;
	if (!sampler->is_told)
		tell(sampler, "nvml.reason", "the session ended before NVML answered");
	sampler->probe->stop(sampler->probe->context);
	snprintf(value, sizeof(value), "%llu", (unsigned long long)sampler->state.cpu_us);
	tell(sampler, "collector.nvml_cpu_us", value);
}
