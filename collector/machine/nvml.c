/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of NVML's binary interface that is used, and how its answers become struct nvml_state.
 * All functions return 0 for success; "not supported" is an ordinary answer.
 */
#include "nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINK_TO_GPU    0
#define LINK_TO_SWITCH 2
#define UNCORRECTED    1
#define VOLATILE       0

typedef void *device_handle;

struct pci_info {
	char legacy_address[16];
	unsigned int domain, bus, device, id, subsystem_id;
	char address[32];
};

struct memory_info {
	unsigned long long total, free, used;
};

struct busy_info {
	unsigned int gpu, memory;
};

struct process_info {
	unsigned int pid;
	unsigned long long used_bytes; /* all ones: unknown */
	unsigned int gpu_instance, compute_instance;
};

typedef void any_fn(void);
typedef int plain_fn(device_handle, unsigned int *);
typedef int select_fn(device_handle, unsigned int, unsigned int *);
typedef int wide_fn(device_handle, unsigned long long *);
typedef int two_fn(device_handle, unsigned int *, unsigned int *);
typedef int text_fn(device_handle, char *, unsigned int);
typedef int link_pci_fn(device_handle, unsigned int, struct pci_info *);

enum form { PLAIN, SELECT, WIDE };
enum kind { SAMPLED, FIXED };

static const struct number {
	const char *function;
	enum form form;
	unsigned int selector;
	enum kind kind;
} numbers[] = {
#define NUMBER(name, function, form, selector, kind) {function, form, selector, kind},
#include "nvml_number.def"
#undef NUMBER
};
#define TABLE_NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

struct nvml {
	void *library;
	uint32_t watched_pid;
	device_handle devices[NVML_MAX_GPUS];
	any_fn *table[TABLE_NUMBERS];
	int (*memory)(device_handle, struct memory_info *);
	int (*busy)(device_handle, struct busy_info *);
	int (*ecc)(device_handle, unsigned int, unsigned int, unsigned long long *);
	int (*processes)(device_handle, unsigned int *, struct process_info *);
};

static any_fn *find(const struct nvml *nvml, const char *names)
{
	while (*names) {
		char name[80];
		size_t length = strcspn(names, "|");
		any_fn *function;
		void *found;

		snprintf(name, sizeof(name), "%.*s", (int)length, names);
		found = dlsym(nvml->library, name);
		if (found) {
			memcpy(&function, &found, sizeof(function));
			return function;
		}
		names += length + (names[length] == '|');
	}
	return NULL;
}

static void set(struct nvml_gpu *gpu, enum nvml_number number, uint64_t value)
{
	gpu->values[number] = (int64_t)value;
	gpu->known |= 1u << number;
}

/* ---- what does not change ---- */

static int start(struct nvml *nvml, struct nvml_state *state)
{
	int (*init)(void) = (int (*)(void))find(nvml, "nvmlInit_v2|nvmlInit");
	int (*count)(unsigned int *) =
		(int (*)(unsigned int *))find(nvml, "nvmlDeviceGetCount_v2|nvmlDeviceGetCount");
	const char *(*explain)(int) = (const char *(*)(int))find(nvml, "nvmlErrorString");
	int rc;

	if (!init || !count) {
		snprintf(state->reason, sizeof(state->reason), "the library lacks nvmlInit");
		return -1;
	}
	rc = init();
	if (rc == 0)
		rc = count(&state->gpu_count);
	if (rc != 0) {
		snprintf(state->reason, sizeof(state->reason), "NVML says: %.150s (%d)",
			 explain ? explain(rc) : "error", rc);
		state->gpu_count = 0;
		return -1;
	}
	if (state->gpu_count > NVML_MAX_GPUS)
		state->gpu_count = NVML_MAX_GPUS;
	return 0;
}

static void read_versions(const struct nvml *nvml, struct nvml_state *state)
{
	int (*driver)(char *, unsigned int) =
		(int (*)(char *, unsigned int))find(nvml, "nvmlSystemGetDriverVersion");
	int (*version)(char *, unsigned int) =
		(int (*)(char *, unsigned int))find(nvml, "nvmlSystemGetNVMLVersion");
	int (*cuda)(int *) = (int (*)(int *))find(
		nvml, "nvmlSystemGetCudaDriverVersion_v2|nvmlSystemGetCudaDriverVersion");

	if (driver && driver(state->driver, sizeof(state->driver)) != 0)
		state->driver[0] = '\0';
	if (version && version(state->version, sizeof(state->version)) != 0)
		state->version[0] = '\0';
	if (cuda && cuda(&state->cuda_version) != 0)
		state->cuda_version = 0;
}

static void read_identity(const struct nvml *nvml, device_handle device, struct nvml_gpu *gpu)
{
	text_fn *name = (text_fn *)find(nvml, "nvmlDeviceGetName");
	text_fn *uuid = (text_fn *)find(nvml, "nvmlDeviceGetUUID");
	int (*pci)(device_handle, struct pci_info *) =
		(int (*)(device_handle, struct pci_info *))find(nvml, "nvmlDeviceGetPciInfo_v3");
	int (*capability)(device_handle, int *, int *) = (int (*)(device_handle, int *, int *))find(
		nvml, "nvmlDeviceGetCudaComputeCapability");
	struct pci_info info;
	int major, minor;

	if (!name || name(device, gpu->name, sizeof(gpu->name)) != 0)
		gpu->name[0] = '\0';
	if (!uuid || uuid(device, gpu->uuid, sizeof(gpu->uuid)) != 0)
		gpu->uuid[0] = '\0';
	if (pci && pci(device, &info) == 0) {
		gpu->domain = info.domain;
		gpu->bus = (uint16_t)info.bus;
		gpu->device = (uint16_t)info.device;
		snprintf(gpu->address, sizeof(gpu->address), "%04x:%02x:%02x.0",
			 info.domain & 0xffffff, info.bus & 0xff, info.device & 0x1f);
	}
	if (capability && capability(device, &major, &minor) == 0) {
		gpu->cc_major = (uint16_t)major;
		gpu->cc_minor = (uint16_t)minor;
	}
}

static void read_modes(const struct nvml *nvml, device_handle device, struct nvml_gpu *gpu)
{
	two_fn *ecc = (two_fn *)find(nvml, "nvmlDeviceGetEccMode");
	two_fn *mig = (two_fn *)find(nvml, "nvmlDeviceGetMigMode");
	int (*remapped)(device_handle, unsigned int *, unsigned int *, unsigned int *,
			unsigned int *) =
		(int (*)(device_handle, unsigned int *, unsigned int *, unsigned int *,
			 unsigned int *))find(nvml, "nvmlDeviceGetRemappedRows");
	unsigned int now, pending, corrected, uncorrected, is_pending, failed;

	if (ecc && ecc(device, &now, &pending) == 0)
		set(gpu, NVML_ecc_enabled, now);
	if (mig && mig(device, &now, &pending) == 0)
		set(gpu, NVML_mig_enabled, now);
	if (remapped && remapped(device, &corrected, &uncorrected, &is_pending, &failed) == 0) {
		set(gpu, NVML_remapped_rows, uncorrected);
		set(gpu, NVML_remap_failed, failed);
	}
}

static int find_gpu(const struct nvml_state *state, const struct pci_info *info)
{
	for (uint32_t i = 0; i < state->gpu_count; i++) {
		if (state->gpus[i].domain == info->domain && state->gpus[i].bus == info->bus &&
		    state->gpus[i].device == info->device)
			return (int)i;
	}
	return -1;
}

/* Links to another GPU count for that one; links to a switch lead to all GPUs that have such. */
static void read_links(const struct nvml *nvml, struct nvml_state *state)
{
	select_fn *is_active = (select_fn *)find(nvml, "nvmlDeviceGetNvLinkState");
	select_fn *remote_type = (select_fn *)find(nvml, "nvmlDeviceGetNvLinkRemoteDeviceType");
	link_pci_fn *remote = (link_pci_fn *)find(
		nvml, "nvmlDeviceGetNvLinkRemotePciInfo_v2|nvmlDeviceGetNvLinkRemotePciInfo");
	uint8_t to_switch[NVML_MAX_GPUS] = {0};

	for (uint32_t i = 0; is_active && i < state->gpu_count; i++) {
		for (unsigned int link = 0; link < NVML_MAX_LINKS; link++) {
			unsigned int active, type = LINK_TO_GPU;
			struct pci_info info;
			int other;

			if (is_active(nvml->devices[i], link, &active) != 0)
				continue;
			state->gpus[i].nvlinks_total++;
			if (!active)
				continue;
			state->gpus[i].nvlinks_active++;
			if (remote_type && remote_type(nvml->devices[i], link, &type) != 0)
				type = LINK_TO_GPU;
			if (type == LINK_TO_SWITCH) {
				to_switch[i]++;
				continue;
			}
			if (!remote || remote(nvml->devices[i], link, &info) != 0)
				continue;
			other = find_gpu(state, &info);
			if (other >= 0)
				state->gpus[i].nvlinks[other]++;
			else if (!remote_type)
				to_switch[i]++; /* not one of the GPUs: a switch */
		}
	}
	for (uint32_t i = 0; i < state->gpu_count; i++) {
		for (uint32_t j = 0; j < state->gpu_count; j++) {
			if (i != j && to_switch[i] && to_switch[j])
				state->gpus[i].nvlinks[j] +=
					to_switch[i] < to_switch[j] ? to_switch[i] : to_switch[j];
		}
	}
}

static void read_numbers(const struct nvml *nvml, device_handle device, struct nvml_gpu *gpu,
			 enum kind kind)
{
	for (size_t i = 0; i < TABLE_NUMBERS; i++) {
		unsigned int value = 0;
		unsigned long long wide = 0;
		int rc;

		if (numbers[i].kind != kind || !nvml->table[i])
			continue;
		if (numbers[i].form == PLAIN)
			rc = ((plain_fn *)nvml->table[i])(device, &value);
		else if (numbers[i].form == SELECT)
			rc = ((select_fn *)nvml->table[i])(device, numbers[i].selector, &value);
		else
			rc = ((wide_fn *)nvml->table[i])(device, &wide);
		gpu->known &= ~(1u << i);
		if (rc == 0)
			set(gpu, (enum nvml_number)i, numbers[i].form == WIDE ? wide : value);
	}
}

static void find_functions(struct nvml *nvml)
{
	for (size_t i = 0; i < TABLE_NUMBERS; i++)
		nvml->table[i] = find(nvml, numbers[i].function);
	nvml->memory =
		(int (*)(device_handle, struct memory_info *))find(nvml, "nvmlDeviceGetMemoryInfo");
	nvml->busy = (int (*)(device_handle, struct busy_info *))find(
		nvml, "nvmlDeviceGetUtilizationRates");
	nvml->ecc = (int (*)(device_handle, unsigned int, unsigned int, unsigned long long *))find(
		nvml, "nvmlDeviceGetTotalEccErrors");
	nvml->processes = (int (*)(device_handle, unsigned int *, struct process_info *))find(
		nvml, "nvmlDeviceGetComputeRunningProcesses_v3|"
		      "nvmlDeviceGetComputeRunningProcesses_v2");
}

struct nvml *nvml_open(const char *library, uint32_t watched_pid, struct nvml_state *state)
{
	struct nvml *nvml = calloc(1, sizeof(*nvml));
	int (*by_index)(unsigned int, device_handle *);

	memset(state, 0, sizeof(*state));
	if (!nvml)
		return NULL;
	nvml->watched_pid = watched_pid;
	nvml->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!nvml->library) {
		const char *why = dlerror();

		snprintf(state->reason, sizeof(state->reason), "NVML could not be loaded: %.160s",
			 why ? why : library);
		free(nvml);
		return NULL;
	}
	by_index = (int (*)(unsigned int, device_handle *))find(
		nvml, "nvmlDeviceGetHandleByIndex_v2|nvmlDeviceGetHandleByIndex");
	if (start(nvml, state) != 0 || !by_index) {
		nvml_close(nvml);
		return NULL;
	}
	find_functions(nvml);
	state->is_simulated = find(nvml, "gputrace_simulated_nvml") != NULL;
	read_versions(nvml, state);
	for (uint32_t i = 0; i < state->gpu_count; i++) {
		if (by_index(i, &nvml->devices[i]) != 0)
			continue; /* lost: it keeps a row without an address */
		read_identity(nvml, nvml->devices[i], &state->gpus[i]);
		read_modes(nvml, nvml->devices[i], &state->gpus[i]);
		read_numbers(nvml, nvml->devices[i], &state->gpus[i], FIXED);
	}
	read_links(nvml, state);
	return nvml;
}

/* ---- what changes ---- */

/* The driver counts processes as the host numbers them: where the watched one is not among them
 * (a container), nobody can say which of them is another. */
static void read_processes(const struct nvml *nvml, device_handle device, struct nvml_gpu *gpu)
{
	struct process_info infos[64];
	unsigned int count = sizeof(infos) / sizeof(infos[0]);
	bool has_own = nvml->watched_pid == 0;

	gpu->process_count = 0;
	gpu->known &= ~(1u << NVML_other_processes | 1u << NVML_memory_own_bytes);
	if (!nvml->processes || nvml->processes(device, &count, infos) != 0)
		return;
	for (unsigned int i = 0; i < count && i < sizeof(infos) / sizeof(infos[0]); i++) {
		if (infos[i].pid == nvml->watched_pid && nvml->watched_pid) {
			has_own = true;
			if (infos[i].used_bytes != ~0ull)
				set(gpu, NVML_memory_own_bytes, infos[i].used_bytes);
		}
		if (gpu->process_count < NVML_MAX_PROCESSES)
			gpu->processes[gpu->process_count++] =
				(struct nvml_process){infos[i].pid, infos[i].used_bytes};
	}
	if (has_own || count == 0)
		set(gpu, NVML_other_processes, count - (nvml->watched_pid && count ? 1 : 0));
}

static void read_gpu(const struct nvml *nvml, device_handle device, struct nvml_gpu *gpu)
{
	struct memory_info memory;
	struct busy_info busy;
	unsigned long long errors;

	gpu->known &= ~(1u << NVML_memory_used_bytes | 1u << NVML_memory_free_bytes |
			1u << NVML_memory_total_bytes | 1u << NVML_gpu_busy_percent |
			1u << NVML_ecc_errors);
	read_numbers(nvml, device, gpu, SAMPLED);
	if (nvml->memory && nvml->memory(device, &memory) == 0) {
		set(gpu, NVML_memory_used_bytes, memory.used);
		set(gpu, NVML_memory_free_bytes, memory.free);
		set(gpu, NVML_memory_total_bytes, memory.total);
	}
	if (nvml->busy && nvml->busy(device, &busy) == 0)
		set(gpu, NVML_gpu_busy_percent, busy.gpu);
	if (nvml->ecc && nvml->ecc(device, UNCORRECTED, VOLATILE, &errors) == 0)
		set(gpu, NVML_ecc_errors, errors);
	read_processes(nvml, device, gpu);
}

void nvml_read(struct nvml *nvml, struct nvml_state *state)
{
	struct timespec now;

	for (uint32_t i = 0; i < state->gpu_count; i++) {
		if (nvml->devices[i])
			read_gpu(nvml, nvml->devices[i], &state->gpus[i]);
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	state->taken_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void nvml_close(struct nvml *nvml)
{
	if (!nvml)
		return;
	/* Not unloaded: the driver's library keeps threads in some versions. */
	free(nvml);
}
