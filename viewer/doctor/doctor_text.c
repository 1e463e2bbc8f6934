/* SPDX-License-Identifier: Apache-2.0 */
/* The machine as tables for people. What is unknown is a dash, never a guess. */
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "printable.h"
#include "text.h"

#define WIDTH 96

static int64_t number_of(const struct doctor_gpu *gpu, enum nvml_number number)
{
	return gpu->nvml && nvml_has(gpu->nvml, number) ? gpu->nvml->values[number] : -1;
}

/* Everything foreign goes through here: names of files, of the driver, of kernel messages. */
static void print_printable(FILE *to, const char *string)
{
	struct text text;

	text_init(&text);
	text_add_printable(&text, string);
	fputs(text_string(&text), to);
	text_fini(&text);
}

static void print_wrapped(FILE *to, const char *indent, const char *string)
{
	struct text text;
	const char *at;
	size_t column = 0;

	text_init(&text);
	text_add_printable(&text, string);
	at = text_string(&text);
	fputs(indent, to);
	while (*at) {
		size_t word = strcspn(at, " ");

		if (column && column + 1 + word > WIDTH - strlen(indent)) {
			fprintf(to, "\n%s", indent);
			column = 0;
		}
		column += (size_t)fprintf(to, "%s%.*s", column ? " " : "", (int)word, at);
		at += word;
		at += strspn(at, " ");
	}
	fputc('\n', to);
	text_fini(&text);
}

static void print_machine(const struct doctor *doctor, FILE *to)
{
	fprintf(to, "Machine%s%s\n", doctor->options->root[0] ? " in " : "", doctor->options->root);
	fputs("  driver      ", to);
	print_printable(to, doctor->driver[0] ? doctor->driver : "-");
	if (doctor->nvml.cuda_version)
		fprintf(to, ", supports CUDA up to %d.%d", doctor->nvml.cuda_version / 1000,
			doctor->nvml.cuda_version % 1000 / 10);
	fputs("\n  NVML        ", to);
	if (doctor->nvml_reason[0]) {
		fputs("not available: ", to);
		print_printable(to, doctor->nvml_reason);
		fputc('\n', to);
	} else {
		print_printable(to, doctor->nvml.version[0] ? doctor->nvml.version : "-");
		fputs(doctor->nvml.is_simulated ? " [simulated: nothing of it is measured]\n"
						: "\n",
		      to);
	}
	for (size_t i = 0; i < doctor->nodes.count; i++) {
		const struct numa_node *node = &doctor->nodes.nodes[i];

		fprintf(to, "  NUMA node %d ", node->id);
		fprintf(to, "CPUs %s, ", node->cpus[0] ? node->cpus : "-");
		if (node->memory_bytes)
			fprintf(to, "%.1f GiB, ", (double)node->memory_bytes / 1073741824);
		fprintf(to, "distances %s\n", node->distances[0] ? node->distances : "-");
	}
}

static void format_link(char *text, size_t size, struct pci_link_end end)
{
	if (end.gen && end.width)
		snprintf(text, size, "gen%u x%u", end.gen, end.width);
	else
		snprintf(text, size, "-");
}

static void print_gpu_row(const struct doctor *doctor, size_t index, FILE *to)
{
	const struct doctor_gpu *gpu = &doctor->gpus[index];
	char now[24] = "-", device[24] = "-", slot[24] = "-", cc[16] = "-", node[16] = "-";
	struct text name;

	if (gpu->pci) {
		format_link(now, sizeof(now), gpu->pci->link.now);
		format_link(device, sizeof(device), gpu->pci->link.device_max);
		format_link(slot, sizeof(slot), gpu->pci->link.port_max);
		if (gpu->pci->numa_node >= 0)
			snprintf(node, sizeof(node), "%d", gpu->pci->numa_node);
	} else if (number_of(gpu, NVML_link_width) > 0) {
		snprintf(now, sizeof(now), "gen%d x%d", (int)number_of(gpu, NVML_link_gen),
			 (int)number_of(gpu, NVML_link_width));
	}
	if (gpu->cc_major)
		snprintf(cc, sizeof(cc), "%u.%u", gpu->cc_major, gpu->cc_minor);
	text_init(&name);
	text_add_printable(&name, gpu->name[0] ? gpu->name : "-");
	fprintf(to, "  %-3zu %-13s %-30.30s %-5s %-5s %-9s %-9s %-9s\n", index,
		gpu->pci ? gpu->pci->address : gpu->nvml->address, text_string(&name), cc, node,
		now, device, slot);
	text_fini(&name);
}

static void print_gpus(const struct doctor *doctor, FILE *to)
{
	fputs("\nGPUs\n", to);
	if (!doctor->gpu_count) {
		fputs("  none found\n", to);
		return;
	}
	fprintf(to, "  %-3s %-13s %-30s %-5s %-5s %-9s %-9s %-9s\n", "", "address", "name", "cc",
		"NUMA", "link now", "device", "slot");
	for (size_t i = 0; i < doctor->gpu_count; i++)
		print_gpu_row(doctor, i, to);
	fputs("  An idle link may show a lower generation than it has under load.\n", to);
}

static void print_state_row(const struct doctor *doctor, size_t index, FILE *to)
{
	const struct doctor_gpu *gpu = &doctor->gpus[index];
	int64_t clock = number_of(gpu, NVML_sm_clock_mhz), power = number_of(gpu, NVML_power_mw);
	int64_t used = number_of(gpu, NVML_memory_used_bytes);
	int64_t total = number_of(gpu, NVML_memory_total_bytes);
	int64_t reasons = number_of(gpu, NVML_throttle_reasons);
	int64_t ecc = number_of(gpu, NVML_ecc_errors);
	struct text why;

	fprintf(to, "  %-3zu ", index);
	if (clock >= 0)
		fprintf(to, "%5lld/%-5lld ", (long long)clock,
			(long long)number_of(gpu, NVML_sm_clock_max_mhz));
	else
		fprintf(to, "%-11s ", "    -");
	if (power >= 0)
		fprintf(to, "%4.0f/%-4.0f ", (double)power / 1000,
			(double)number_of(gpu, NVML_power_limit_mw) / 1000);
	else
		fprintf(to, "%-9s ", "   -");
	fprintf(to, "%4lld ", (long long)number_of(gpu, NVML_temperature_c));
	if (used >= 0)
		fprintf(to, "%6.1f/%-6.1f ", (double)used / 1073741824, (double)total / 1073741824);
	else
		fprintf(to, "%-13s ", "     -");
	fprintf(to, "%5lld ", (long long)number_of(gpu, NVML_other_processes));
	if (ecc >= 0)
		fprintf(to, "%5lld ", (long long)ecc);
	else
		fprintf(to, "%5s ", "-");
	fprintf(to, "%-4s ",
		number_of(gpu, NVML_mig_enabled) < 0	? "-"
		: number_of(gpu, NVML_mig_enabled) == 0 ? "off"
							: "on");
	text_init(&why);
	if (reasons >= 0)
		machine_add_reasons(&why, (uint64_t)reasons);
	fprintf(to, "%s\n", reasons >= 0 ? text_string(&why) : "-");
	text_fini(&why);
}

static void print_states(const struct doctor *doctor, FILE *to)
{
	if (!doctor->nvml.gpu_count)
		return;
	fprintf(to, "\n  %-3s %-11s %-9s %4s %-13s %5s %5s %-4s %s\n", "", "SM MHz/max", "W/limit",
		"C", "GiB used/all", "procs", "ECC", "MIG", "clocks held by");
	for (size_t i = 0; i < doctor->gpu_count; i++) {
		if (doctor->gpus[i].nvml)
			print_state_row(doctor, i, to);
	}
}

static void print_topology(const struct doctor *doctor, FILE *to)
{
	if (!doctor->gpu_count)
		return;
	fprintf(to, "\nTopology\n  %-8s", "");
	for (size_t i = 0; i < doctor->gpu_count; i++)
		fprintf(to, "GPU%-4zu", i);
	for (size_t n = 0; n < doctor->devices.count; n++) {
		if (doctor->devices.items[n].type == PCI_DEVICE_NET)
			fprintf(to, "%-8.8s", doctor->devices.items[n].name);
	}
	fputs("CPUs nearby\n", to);
	for (size_t i = 0; i < doctor->gpu_count; i++) {
		const struct pci_device *pci = doctor->gpus[i].pci;

		fprintf(to, "  GPU%-5zu", i);
		for (size_t j = 0; j < doctor->gpu_count; j++) {
			char path[16];

			doctor_path_name(doctor, i, j, path, sizeof(path));
			fprintf(to, "%-7s", path);
		}
		for (size_t n = 0; n < doctor->devices.count; n++) {
			if (doctor->devices.items[n].type == PCI_DEVICE_NET)
				fprintf(to, "%-8s",
					pci ? pci_path_name(pci_devices_path(
						      pci, &doctor->devices.items[n]))
					    : "?");
		}
		fprintf(to, "%s\n", pci && pci->cpus[0] ? pci->cpus : "-");
	}
	fputs("  NV# NVLinks; PIX one PCIe switch; PXB several; PHB a host bridge; NODE bridges of "
	      "one "
	      "NUMA node;\n  SYS between nodes; ? unknown.\n",
	      to);
}

static void print_libraries(const struct doctor *doctor, FILE *to)
{
	fputs("\nLibraries found\n", to);
	if (!doctor->library_count)
		fputs("  none in the usual places\n", to);
	for (size_t i = 0; i < doctor->library_count; i++) {
		fprintf(to, "  %-10s %-14s ", doctor->libraries[i].name,
			doctor->libraries[i].version);
		print_printable(to, doctor->libraries[i].path);
		fputc('\n', to);
	}
}

static void print_binaries(const struct doctor *doctor, FILE *to)
{
	for (size_t i = 0; i < doctor->binary_count; i++) {
		const struct fat_binary *code = &doctor->binaries[i].code;

		fputs("\nCode in ", to);
		print_printable(to, doctor->binaries[i].path);
		fputc('\n', to);
		if (!code->image_count)
			fputs("  no GPU code\n", to);
		for (size_t n = 0; n < code->image_count; n++) {
			const struct fat_image *image = &code->images[n];
			char target[24];

			snprintf(target, sizeof(target), "%s%u%.1s",
				 image->kind == FAT_IMAGE_PTX ? "compute_" : "sm_", image->cc,
				 (char[2]){image->suffix, '\0'});
			fprintf(to, "  %-12s %-12s %6llu image%s %10.1f KiB",
				image->kind == FAT_IMAGE_PTX ? "PTX" : "machine code", target,
				(unsigned long long)image->count, image->count == 1 ? " " : "s",
				(double)image->bytes / 1024);
			if (image->ptx_isa)
				fprintf(to, ", PTX %u.%u", image->ptx_isa / 10,
					image->ptx_isa % 10);
			fputc('\n', to);
		}
		if (code->damaged)
			fprintf(to, "  %llu parts could not be read\n",
				(unsigned long long)code->damaged);
	}
}

static void print_findings(const struct doctor *doctor, FILE *to)
{
	fputs("\nFindings\n", to);
	if (!doctor->finding_count)
		fputs(doctor->gpu_count ? "  none\n"
					: "  none; without a GPU there is little to "
					  "judge\n",
		      to);
	for (size_t i = 0; i < doctor->finding_count; i++) {
		const struct doctor_finding *finding = &doctor->findings[i];

		fprintf(to, "  %s %s [%s]\n", finding->id, finding->subject,
			finding->verdict == MACHINE_FAULT ? "fault" : "info");
		print_wrapped(to, "     ", finding->what);
		fputs("     -> ", to);
		print_wrapped(to, "", finding->fix);
	}
}

void doctor_print_text(const struct doctor *doctor, FILE *to)
{
	print_machine(doctor, to);
	print_gpus(doctor, to);
	print_states(doctor, to);
	print_topology(doctor, to);
	print_libraries(doctor, to);
	print_binaries(doctor, to);
	print_findings(doctor, to);
}
