/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a machine: files first, then NVML in a process of its own, then binaries and libraries.
 */
#include "doctor.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "machine_file.h"
#include "nvml_watch.h"
#include "xmalloc.h"

#define NVML_WAIT_MS 15000

static void ask_nvml(struct doctor *doctor)
{
	const char *library = doctor->options->nvml;
	const char *reason = NULL;
	struct nvml_watch watch;
	bool is_taken = false;

	if (!library && doctor->options->root[0])
		reason = "these files are of another machine";
	else if (library && !strcmp(library, "off"))
		reason = "not asked (off)";
	/* A simulated library finds its machine by it. */
	if (!reason && doctor->options->root[0])
		setenv("GPUTRACE_ROOT", doctor->options->root, 1);
	if (!reason && nvml_watch_start(&watch, library ? library : NVML_LIBRARY, 0, &reason)) {
		for (int ms = 0; ms < NVML_WAIT_MS && !is_taken; ms += 5) {
			const struct timespec pause = {0, 5000000};

			nanosleep(&pause, NULL);
			is_taken = nvml_watch_take(&watch, &doctor->nvml);
			if (is_taken || nvml_watch_is_alive(&watch))
				continue;
			/* It may have answered with its last breath. */
			nvml_watch_take(&watch, &doctor->nvml);
			is_taken = true;
		}
		nvml_watch_stop(&watch);
		if (!is_taken)
			reason = "NVML did not answer within 15 s";
		else if (doctor->nvml.reason[0])
			reason = doctor->nvml.reason;
		else if (!doctor->nvml.taken_ns)
			reason = "the process that asked NVML died";
	}
	snprintf(doctor->nvml_reason, sizeof(doctor->nvml_reason), "%s", reason ? reason : "");
	if (reason)
		doctor->nvml.gpu_count = 0;
}

static void read_driver(struct doctor *doctor)
{
	char text[1024];
	const char *root = doctor->options->root;

	if (doctor->nvml.driver[0]) {
		snprintf(doctor->driver, sizeof(doctor->driver), "%s", doctor->nvml.driver);
	} else if (machine_file_line(root, text, sizeof(text), "sys/module/nvidia/version")) {
		snprintf(doctor->driver, sizeof(doctor->driver), "%.39s", text);
	} else if (machine_file_read(root, text, sizeof(text), "proc/driver/nvidia/version") > 0) {
		/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 ..." */
		const char *at = strstr(text, "Module");

		at = at ? at + strcspn(at, "0123456789") : "";
		snprintf(doctor->driver, sizeof(doctor->driver), "%.*s",
			 (int)strspn(at, "0123456789."), at);
	}
	if (doctor->driver[0])
		cuda_version_parse(doctor->driver, &doctor->driver_version);
	doctor->is_virtual =
		machine_file_read(root, text, sizeof(text), "sys/hypervisor/type") > 0 ||
		(machine_file_line(root, text, sizeof(text), "sys/class/dmi/id/sys_vendor") &&
		 (strstr(text, "QEMU") || strstr(text, "Amazon") || strstr(text, "Google") ||
		  strstr(text, "VMware") || strstr(text, "Xen")));
}

static void describe(struct doctor_gpu *gpu)
{
	const char *name = gpu->nvml && gpu->nvml->name[0] ? gpu->nvml->name
			   : gpu->pci			   ? gpu->pci->name
							   : "";

	snprintf(gpu->name, sizeof(gpu->name), "%s", name);
	gpu->table = gpu_table_find(gpu->name, 0);
	if (gpu->nvml && gpu->nvml->cc_major) {
		gpu->cc_major = gpu->nvml->cc_major;
		gpu->cc_minor = gpu->nvml->cc_minor;
	} else if (gpu->table.row) {
		gpu->cc_major = gpu->table.row->cc_major;
		gpu->cc_minor = gpu->table.row->cc_minor;
	}
}

static void join_gpus(struct doctor *doctor)
{
	bool is_used[NVML_MAX_GPUS] = {false};

	for (size_t i = 0; i < doctor->devices.count && doctor->gpu_count < NVML_MAX_GPUS; i++) {
		const struct pci_device *pci = &doctor->devices.items[i];
		struct doctor_gpu *gpu = &doctor->gpus[doctor->gpu_count];

		if (pci->type != PCI_DEVICE_GPU)
			continue;
		gpu->pci = pci;
		for (uint32_t n = 0; n < doctor->nvml.gpu_count; n++) {
			if (strcmp(doctor->nvml.gpus[n].address, pci->address) != 0)
				continue;
			gpu->nvml = &doctor->nvml.gpus[n];
			is_used[n] = true;
		}
		describe(gpu);
		doctor->gpu_count++;
	}
	/* In a container /sys may show less than NVML. */
	for (uint32_t n = 0; n < doctor->nvml.gpu_count; n++) {
		if (is_used[n] || doctor->gpu_count == NVML_MAX_GPUS)
			continue;
		doctor->gpus[doctor->gpu_count].nvml = &doctor->nvml.gpus[n];
		describe(&doctor->gpus[doctor->gpu_count++]);
	}
}

void doctor_path_name(const struct doctor *doctor, size_t one, size_t two, char *text, size_t size)
{
	const struct doctor_gpu *a = &doctor->gpus[one], *b = &doctor->gpus[two];

	if (one == two) {
		snprintf(text, size, "X");
		return;
	}
	for (uint32_t n = 0; a->nvml && b->nvml && n < doctor->nvml.gpu_count; n++) {
		if (b->nvml == &doctor->nvml.gpus[n] && a->nvml->nvlinks[n]) {
			snprintf(text, size, "NV%u", a->nvml->nvlinks[n]);
			return;
		}
	}
	snprintf(text, size, "%s",
		 a->pci && b->pci ? pci_path_name(pci_devices_path(a->pci, b->pci)) : "?");
}

static int read_binaries(struct doctor *doctor, struct error *err)
{
	const struct doctor_options *options = doctor->options;

	for (size_t i = 0; i < options->binary_count; i++) {
		struct doctor_binary *binary = &doctor->binaries[doctor->binary_count];
		int rc = fat_binary_read(options->binaries[i], &binary->code, err);

		if (rc < 0)
			return rc;
		binary->path = options->binaries[i];
		doctor->binary_count++;
	}
	return 0;
}

int doctor_look(const struct doctor_options *options, struct doctor **out, struct error *err)
{
	struct doctor *doctor = xcalloc(1, sizeof(*doctor));
	int rc;

	doctor->options = options;
	numa_nodes_read(options->root, &doctor->nodes);
	pci_devices_read(options->root, &doctor->devices);
	ask_nvml(doctor);
	read_driver(doctor);
	join_gpus(doctor);
	rc = read_binaries(doctor, err);
	if (rc == 0 && options->dmesg)
		rc = doctor_read_dmesg(doctor, err);
	if (rc < 0) {
		doctor_free(doctor);
		return rc;
	}
	doctor_find_libraries(doctor);
	doctor_find_faults(doctor);
	*out = doctor;
	return 0;
}

void doctor_free(struct doctor *doctor)
{
	if (!doctor)
		return;
	for (size_t i = 0; i < doctor->finding_count; i++) {
		free(doctor->findings[i].what);
		free(doctor->findings[i].fix);
	}
	free(doctor->findings);
	free(doctor->libraries);
	free(doctor);
}
