/* SPDX-License-Identifier: Apache-2.0 */
/* The same as the tables; units are in the keys, what is unknown is null. */
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "json.h"

static const struct {
	enum nvml_number number;
	const char *key;
} numbers[] = {
	{NVML_sm_clock_mhz, "sm_clock_mhz"},
	{NVML_sm_clock_max_mhz, "sm_clock_max_mhz"},
	{NVML_memory_clock_mhz, "memory_clock_mhz"},
	{NVML_power_mw, "power_mw"},
	{NVML_power_limit_mw, "power_limit_mw"},
	{NVML_temperature_c, "temperature_c"},
	{NVML_gpu_busy_percent, "busy_percent"},
	{NVML_throttle_reasons, "throttle_reason_bits"},
	{NVML_memory_total_bytes, "memory_bytes"},
	{NVML_memory_used_bytes, "memory_used_bytes"},
	{NVML_other_processes, "processes"},
	{NVML_ecc_enabled, "ecc_enabled"},
	{NVML_ecc_errors, "ecc_errors"},
	{NVML_remapped_rows, "remapped_rows"},
	{NVML_mig_enabled, "mig_enabled"},
	{NVML_compute_mode, "compute_mode"},
	{NVML_pcie_replays, "pcie_replays"},
};

static void add_known(struct json *json, const char *key, const char *text)
{
	json_text(json, key, text && text[0] ? text : NULL);
}

static void add_link(struct json *json, const char *key, struct pci_link_end end)
{
	json_object(json, key);
	if (end.gen)
		json_unsigned(json, "gen", end.gen);
	else
		json_null(json, "gen");
	if (end.width)
		json_unsigned(json, "width", end.width);
	else
		json_null(json, "width");
	json_end_object(json);
}

static void add_paths(const struct doctor *doctor, struct json *json, size_t index)
{
	const struct pci_device *pci = doctor->gpus[index].pci;

	json_object(json, "paths");
	for (size_t i = 0; i < doctor->gpu_count; i++) {
		char key[24], path[16];

		snprintf(key, sizeof(key), "GPU%zu", i);
		doctor_path_name(doctor, index, i, path, sizeof(path));
		json_text(json, key, path);
	}
	for (size_t n = 0; n < doctor->devices.count; n++) {
		const struct pci_device *net = &doctor->devices.items[n];

		if (net->type == PCI_DEVICE_NET)
			json_text(json, net->name,
				  pci ? pci_path_name(pci_devices_path(pci, net)) : "?");
	}
	json_end_object(json);
}

static void add_gpu(const struct doctor *doctor, struct json *json, size_t index)
{
	const struct doctor_gpu *gpu = &doctor->gpus[index];
	const struct pci_device *pci = gpu->pci;

	json_object(json, NULL);
	json_unsigned(json, "index", index);
	json_text(json, "address", pci ? pci->address : gpu->nvml->address);
	add_known(json, "name", gpu->name);
	add_known(json, "uuid", gpu->nvml ? gpu->nvml->uuid : NULL);
	if (gpu->cc_major) {
		json_unsigned(json, "cc_major", gpu->cc_major);
		json_unsigned(json, "cc_minor", gpu->cc_minor);
	} else {
		json_null(json, "cc_major");
		json_null(json, "cc_minor");
	}
	if (pci && pci->numa_node >= 0)
		json_integer(json, "numa_node", pci->numa_node);
	else
		json_null(json, "numa_node");
	add_known(json, "cpus", pci ? pci->cpus : NULL);
	if (pci) {
		add_link(json, "link_now", pci->link.now);
		add_link(json, "link_device", pci->link.device_max);
		add_link(json, "link_slot", pci->link.port_max);
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (gpu->nvml && nvml_has(gpu->nvml, numbers[i].number))
			json_integer(json, numbers[i].key, gpu->nvml->values[numbers[i].number]);
		else
			json_null(json, numbers[i].key);
	}
	add_paths(doctor, json, index);
	json_end_object(json);
}

static void add_machine(const struct doctor *doctor, struct json *json)
{
	add_known(json, "driver", doctor->driver);
	if (doctor->nvml.cuda_version)
		json_integer(json, "driver_cuda_version", doctor->nvml.cuda_version);
	else
		json_null(json, "driver_cuda_version");
	add_known(json, "nvml", doctor->nvml.version);
	add_known(json, "nvml_missing_because", doctor->nvml_reason);
	json_flag(json, "simulated", doctor->nvml.is_simulated);
	json_flag(json, "virtual_machine", doctor->is_virtual);
	json_array(json, "numa_nodes");
	for (size_t i = 0; i < doctor->nodes.count; i++) {
		const struct numa_node *node = &doctor->nodes.nodes[i];

		json_object(json, NULL);
		json_integer(json, "node", node->id);
		json_text(json, "cpus", node->cpus);
		json_unsigned(json, "memory_bytes", node->memory_bytes);
		json_text(json, "distances", node->distances);
		json_end_object(json);
	}
	json_end_array(json);
}

static void add_binary(const struct doctor_binary *binary, struct json *json)
{
	json_object(json, NULL);
	json_text(json, "path", binary->path);
	json_unsigned(json, "unreadable_parts", binary->code.damaged);
	json_array(json, "images");
	for (size_t i = 0; i < binary->code.image_count; i++) {
		const struct fat_image *image = &binary->code.images[i];
		char target[24];

		snprintf(target, sizeof(target), "%s%u%.1s",
			 image->kind == FAT_IMAGE_PTX ? "compute_" : "sm_", image->cc,
			 (char[2]){image->suffix, '\0'});
		json_object(json, NULL);
		json_text(json, "target", target);
		json_unsigned(json, "count", image->count);
		json_unsigned(json, "stored_bytes", image->bytes);
		if (image->ptx_isa)
			json_number(json, "ptx_version", image->ptx_isa / 10.0);
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}

void doctor_print_json(const struct doctor *doctor, FILE *to)
{
	struct json *json = json_new("gputrace.doctor/1", false);

	add_machine(doctor, json);
	json_array(json, "gpus");
	for (size_t i = 0; i < doctor->gpu_count; i++)
		add_gpu(doctor, json, i);
	json_end_array(json);
	json_array(json, "libraries");
	for (size_t i = 0; i < doctor->library_count; i++) {
		json_object(json, NULL);
		json_text(json, "name", doctor->libraries[i].name);
		json_text(json, "version", doctor->libraries[i].version);
		json_text(json, "path", doctor->libraries[i].path);
		json_end_object(json);
	}
	json_end_array(json);
	json_array(json, "binaries");
	for (size_t i = 0; i < doctor->binary_count; i++)
		add_binary(&doctor->binaries[i], json);
	json_end_array(json);
	json_array(json, "findings");
	for (size_t i = 0; i < doctor->finding_count; i++) {
		const struct doctor_finding *finding = &doctor->findings[i];

		json_object(json, NULL);
		json_text(json, "id", finding->id);
		json_text(json, "subject", finding->subject);
		json_text(json, "verdict", finding->verdict == MACHINE_FAULT ? "fault" : "info");
		json_text(json, "summary", finding->what);
		json_text(json, "fix", finding->fix);
		json_end_object(json);
	}
	json_end_array(json);
	json_finish(json, to);
}
