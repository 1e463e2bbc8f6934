/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong, by the verdicts of rules/machine_verdict.h: the ids are those of the rules that
 * say the same about a recording.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "doctor.h"
#include "text.h"

static void add(struct doctor *doctor, const char *id, const char *subject,
		enum machine_verdict verdict, struct text *what, struct text *fix)
{
	struct doctor_finding *finding;

	if (verdict == MACHINE_INFO || verdict == MACHINE_FAULT) {
		if (doctor->finding_count == doctor->finding_capacity)
			doctor->findings = array_grow(doctor->findings, &doctor->finding_capacity,
						      sizeof(*doctor->findings));
		finding = &doctor->findings[doctor->finding_count++];
		memset(finding, 0, sizeof(*finding));
		finding->id = id;
		finding->verdict = verdict;
		snprintf(finding->subject, sizeof(finding->subject), "%s", subject);
		finding->what = text_take(what);
		finding->fix = text_take(fix);
	}
	text_clear(what);
	text_clear(fix);
}

static int64_t number_of(const struct doctor_gpu *gpu, enum nvml_number number)
{
	return gpu->nvml && nvml_has(gpu->nvml, number) ? gpu->nvml->values[number] : -1;
}

static struct machine_link link_of(const struct doctor_gpu *gpu)
{
	struct machine_link link = {0};

	if (gpu->pci) {
		link.gen = gpu->pci->link.now.gen;
		link.width = gpu->pci->link.now.width;
		link.gen_able = gpu->pci->link.able.gen;
		link.width_able = gpu->pci->link.able.width;
	} else if (number_of(gpu, NVML_link_width) > 0) {
		link.gen = (uint16_t)number_of(gpu, NVML_link_gen);
		link.width = (uint16_t)number_of(gpu, NVML_link_width);
		link.gen_able = (uint16_t)number_of(gpu, NVML_link_gen_max);
		link.width_able = (uint16_t)number_of(gpu, NVML_link_width_max);
	}
	return link;
}

/* Whether a network card is on the GPU's own socket; NCCL takes the nearest one. */
static void judge_network(struct doctor *doctor, size_t index, struct text *what, struct text *fix)
{
	const struct pci_device *gpu = doctor->gpus[index].pci;
	char subject[32];
	size_t far = 0;

	for (size_t i = 0; gpu && i < doctor->devices.count; i++) {
		const struct pci_device *card = &doctor->devices.items[i];

		if (card->type != PCI_DEVICE_NET)
			continue;
		if (pci_devices_path(gpu, card) != PCI_PATH_SYS) {
			text_clear(what);
			return; /* near, or nobody knows */
		}
		text_addf(what, "%s%s",
			  far++ ? ", "
				: "Network cards with RDMA are on other "
				  "sockets only: ",
			  card->name);
	}
	if (!far)
		return;
	text_add(what, ". What the GPU sends to other machines crosses the processors' "
		       "interconnect.");
	text_add(fix, "Use GPUs of the cards' own socket first for jobs of several machines.");
	snprintf(subject, sizeof(subject), "GPU %zu", index);
	add(doctor, "GT305", subject, MACHINE_INFO, what, fix);
}

static void judge_gpu(struct doctor *doctor, size_t index, struct text *what, struct text *fix)
{
	const struct doctor_gpu *gpu = &doctor->gpus[index];
	struct machine_link link = link_of(gpu);
	struct machine_health health = {.ecc_errors = number_of(gpu, NVML_ecc_errors),
					.ecc_growth = -1,
					.remapped_rows = number_of(gpu, NVML_remapped_rows),
					.remap_failed = number_of(gpu, NVML_remap_failed),
					.pcie_replays = number_of(gpu, NVML_pcie_replays)};
	struct machine_tenants tenants = {.other_processes = number_of(gpu, NVML_other_processes),
					  .has_mig = number_of(gpu, NVML_mig_enabled) == 1};
	uint64_t reasons = number_of(gpu, NVML_throttle_reasons) < 0
				   ? 0
				   : (uint64_t)number_of(gpu, NVML_throttle_reasons);
	char subject[32];

	snprintf(subject, sizeof(subject), "GPU %zu", index);
	if (tenants.other_processes > 0 && number_of(gpu, NVML_memory_used_bytes) > 0)
		tenants.other_bytes = (uint64_t)number_of(gpu, NVML_memory_used_bytes);
	add(doctor, "GT106", subject,
	    machine_judge_link(&link, number_of(gpu, NVML_gpu_busy_percent) > 0, what, fix), what,
	    fix);
	add(doctor, "GT701", subject, machine_judge_clocks(reasons, what, fix), what, fix);
	add(doctor, "GT703", subject, machine_judge_health(&health, what, fix), what, fix);
	add(doctor, "GT704", subject, machine_judge_tenants(&tenants, what, fix), what, fix);
	if (gpu->pci && gpu->pci->numa_node < 0 && doctor->nodes.count > 1) {
		text_add(what,
			 "The kernel does not know the GPU's NUMA node, so nothing can be bound "
			 "to it.");
		text_add(fix, "Check the firmware's settings; in a virtual machine, have the host "
			      "pass the node on.");
		add(doctor, "GT301", subject, MACHINE_INFO, what, fix);
	}
}

/* Whether a GPU before this one has the same compute capability. */
static bool is_of_seen_kind(const struct doctor *doctor, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (doctor->gpus[i].cc_major == doctor->gpus[index].cc_major &&
		    doctor->gpus[i].cc_minor == doctor->gpus[index].cc_minor)
			return true;
	}
	return false;
}

/* One toolkit against the driver and every kind of GPU; the worst is told. */
static void judge_toolkit(struct doctor *doctor, const struct doctor_library *library,
			  struct text *what, struct text *fix)
{
	struct machine_versions versions = {.driver = doctor->driver_version};
	char subject[96];

	if (!strchr(library->version, '.') ||
	    !cuda_version_parse(library->version, &versions.toolkit))
		return;
	snprintf(subject, sizeof(subject), "%s %s", library->name, library->version);
	if (!doctor->gpu_count)
		add(doctor, "GT702", subject, machine_judge_versions(&versions, what, fix), what,
		    fix);
	for (size_t i = 0; i < doctor->gpu_count; i++) {
		if (is_of_seen_kind(doctor, i))
			continue;
		versions.cc_major = doctor->gpus[i].cc_major;
		versions.cc_minor = doctor->gpus[i].cc_minor;
		add(doctor, "GT702", subject, machine_judge_versions(&versions, what, fix), what,
		    fix);
	}
}

static void judge_binary(struct doctor *doctor, const struct doctor_binary *binary,
			 struct text *what, struct text *fix)
{
	if (!binary->code.image_count)
		return; /* no GPU code at all is no fault: a library may do the work */
	for (size_t i = 0; i < doctor->gpu_count; i++) {
		const struct doctor_gpu *gpu = &doctor->gpus[i];
		enum fat_support support;
		char subject[96];

		if (!gpu->cc_major || is_of_seen_kind(doctor, i))
			continue;
		support = fat_binary_support(&binary->code, gpu->cc_major, gpu->cc_minor);
		snprintf(subject, sizeof(subject), "GPU %zu and its kind", i);
		if (support == FAT_FAILS) {
			text_addf(what,
				  "%s has no code for compute capability %u.%u: launches fail "
				  "with error 209.",
				  binary->path, gpu->cc_major, gpu->cc_minor);
			text_addf(fix, "Build it with -gencode arch=compute_%u%u,code=sm_%u%u.",
				  gpu->cc_major, gpu->cc_minor, gpu->cc_major, gpu->cc_minor);
			add(doctor, "GT702", subject, MACHINE_FAULT, what, fix);
		} else if (support == FAT_COMPILES) {
			text_addf(what,
				  "%s has only PTX for compute capability %u.%u: the driver "
				  "compiles it when it is loaded.",
				  binary->path, gpu->cc_major, gpu->cc_minor);
			text_addf(fix,
				  "Build it with -gencode arch=compute_%u%u,code=sm_%u%u as "
				  "well.",
				  gpu->cc_major, gpu->cc_minor, gpu->cc_major, gpu->cc_minor);
			add(doctor, "GT506", subject, MACHINE_INFO, what, fix);
		}
	}
}

static void judge_xids(struct doctor *doctor, struct text *what, struct text *fix)
{
	for (size_t i = 0; i < doctor->xid_count; i++) {
		const struct doctor_xid *xid = &doctor->xids[i];
		const char *meaning = doctor_xid_meaning(xid->number);
		const char *action = doctor_xid_action(xid->number);
		char subject[96];

		snprintf(subject, sizeof(subject), "Xid %u on %s", xid->number, xid->address);
		text_addf(what, "%llu time%s: %s.", (unsigned long long)xid->times,
			  xid->times == 1 ? "" : "s",
			  meaning ? meaning : "a number that is not in the table");
		text_addf(fix, "%s.",
			  action ? action : "Look the number up in the driver's manual");
		add(doctor, "GT703", subject,
		    doctor_xid_is_fault(xid->number) ? MACHINE_FAULT : MACHINE_INFO, what, fix);
	}
}

static int compare(const void *left, const void *right)
{
	const struct doctor_finding *one = left, *two = right;

	if (one->verdict != two->verdict)
		return one->verdict > two->verdict ? -1 : 1;
	if (strcmp(one->id, two->id))
		return strcmp(one->id, two->id);
	return strcmp(one->subject, two->subject);
}

void doctor_find_faults(struct doctor *doctor)
{
	struct text what, fix;

	text_init(&what);
	text_init(&fix);
	for (size_t i = 0; i < doctor->gpu_count; i++)
		judge_gpu(doctor, i, &what, &fix);
	for (size_t i = 0; i < doctor->gpu_count; i++)
		judge_network(doctor, i, &what, &fix);
	for (size_t i = 0; i < doctor->library_count; i++) {
		if (!strcmp(doctor->libraries[i].name, "libcudart") ||
		    !strcmp(doctor->libraries[i].name, "toolkit"))
			judge_toolkit(doctor, &doctor->libraries[i], &what, &fix);
	}
	for (size_t i = 0; i < doctor->binary_count; i++)
		judge_binary(doctor, &doctor->binaries[i], &what, &fix);
	judge_xids(doctor, &what, &fix);
	text_fini(&what);
	text_fini(&fix);
	if (doctor->finding_count)
		qsort(doctor->findings, doctor->finding_count, sizeof(*doctor->findings), compare);
}
