/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What doctor says of machines made by hand: files in a folder, a state as NVML would give it,
 * kernel messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "error.h"
#include "xmalloc.h"

static struct doctor_options options = {.root = "/nonexistent"};

/* A healthy A100 at work. */
static struct doctor *healthy(void)
{
	struct doctor *doctor = xcalloc(1, sizeof(*doctor));
	struct pci_device *pci = &doctor->devices.items[0];
	struct nvml_gpu *nvml = &doctor->nvml.gpus[0];

	doctor->options = &options;
	doctor->devices.count = 1;
	doctor->nvml.gpu_count = 1;
	doctor->gpu_count = 1;
	*pci = (struct pci_device){.type = PCI_DEVICE_GPU, .address = "0000:3b:00.0"};
	pci->link.now = (struct pci_link_end){4, 16};
	pci->link.able = (struct pci_link_end){4, 16};
	nvml->known = 1u << NVML_gpu_busy_percent | 1u << NVML_throttle_reasons |
		      1u << NVML_ecc_errors | 1u << NVML_other_processes | 1u << NVML_mig_enabled;
	nvml->values[NVML_gpu_busy_percent] = 100;
	doctor->gpus[0] = (struct doctor_gpu){.pci = pci, .nvml = nvml, .cc_major = 8};
	cuda_version_parse("580.65.06", &doctor->driver_version);
	return doctor;
}

static const struct doctor_finding *only(struct doctor *doctor)
{
	doctor_find_faults(doctor);
	assert_int_equal(doctor->finding_count, 1);
	return &doctor->findings[0];
}

static void a_healthy_gpu_has_no_findings(void **state)
{
	struct doctor *doctor = healthy();

	(void)state;
	doctor_find_faults(doctor);
	assert_int_equal(doctor->finding_count, 0);
	doctor_free(doctor);
}

/* Behind the GPU's own root complex, or behind that of the other node. */
static void add_card(struct doctor *doctor, const char *name, const char *path, int32_t node)
{
	struct pci_device *card = &doctor->devices.items[doctor->devices.count++];
	struct pci_device *gpu = &doctor->devices.items[0];

	*card = (struct pci_device){.type = PCI_DEVICE_NET, .numa_node = node};
	snprintf(card->name, sizeof(card->name), "%s", name);
	snprintf(card->path, sizeof(card->path), "%s", path);
	snprintf(gpu->path, sizeof(gpu->path), "pci0000:3a/0000:3a:00.0/0000:3b:00.0");
}

static void network_cards_on_other_sockets_are_told(void **state)
{
	struct doctor *doctor = healthy();

	(void)state;
	add_card(doctor, "mlx5_0", "pci0000:a0/0000:a0:01.0/0000:a1:00.0", 1);
	add_card(doctor, "mlx5_1", "pci0000:b0/0000:b0:01.0/0000:b1:00.0", 1);
	assert_string_equal(only(doctor)->id, "GT305");
	assert_int_equal(doctor->findings[0].verdict, MACHINE_INFO);
	assert_non_null(strstr(doctor->findings[0].what, "mlx5_0, mlx5_1"));
	doctor_free(doctor);
}

static void one_near_network_card_is_no_finding(void **state)
{
	struct doctor *doctor = healthy();

	(void)state;
	add_card(doctor, "mlx5_0", "pci0000:a0/0000:a0:01.0/0000:a1:00.0", 1);
	add_card(doctor, "mlx5_1", "pci0000:3a/0000:3a:02.0/0000:3c:00.0", 0);
	doctor_find_faults(doctor);
	assert_int_equal(doctor->finding_count, 0);
	doctor_free(doctor);
}

static void a_network_card_of_an_unknown_node_is_no_finding(void **state)
{
	struct doctor *doctor = healthy();

	(void)state;
	add_card(doctor, "mlx5_0", "pci0000:a0/0000:a0:01.0/0000:a1:00.0", -1);
	doctor_find_faults(doctor);
	assert_int_equal(doctor->finding_count, 0);
	doctor_free(doctor);
}

static void lost_lanes_are_a_fault_even_when_idle(void **state)
{
	struct doctor *doctor = healthy();

	(void)state;
	doctor->devices.items[0].link.now = (struct pci_link_end){1, 8};
	doctor->nvml.gpus[0].values[NVML_gpu_busy_percent] = 0;
	assert_string_equal(only(doctor)->id, "GT106");
	assert_int_equal(doctor->findings[0].verdict, MACHINE_FAULT);
	doctor_free(doctor);
}

static void an_idle_link_of_generation_one_is_no_finding(void **state)
{
	struct doctor *doctor = healthy();

	(void)state;
	doctor->devices.items[0].link.now.gen = 1;
	doctor->nvml.gpus[0].values[NVML_gpu_busy_percent] = 0;
	doctor_find_faults(doctor);
	assert_int_equal(doctor->finding_count, 0);
	doctor_free(doctor);
}

static void a_low_generation_at_work_is_a_fault(void **state)
{
	struct doctor *doctor = healthy();

	(void)state;
	doctor->devices.items[0].link.now.gen = 3;
	assert_string_equal(only(doctor)->id, "GT106");
	assert_non_null(strstr(doctor->findings[0].what, "gen 3 x16"));
	doctor_free(doctor);
}

static void heat_is_a_fault_and_a_power_cap_an_information(void **state)
{
	struct doctor *doctor = healthy();

	(void)state;
	doctor->nvml.gpus[0].values[NVML_throttle_reasons] = THROTTLE_THERMAL | THROTTLE_POWER_CAP;
	assert_string_equal(only(doctor)->id, "GT701");
	assert_int_equal(doctor->findings[0].verdict, MACHINE_FAULT);
	doctor_free(doctor);
	doctor = healthy();
	doctor->nvml.gpus[0].values[NVML_throttle_reasons] = THROTTLE_POWER_CAP;
	assert_int_equal(only(doctor)->verdict, MACHINE_INFO);
	doctor_free(doctor);
}

static void memory_errors_and_tenants_are_informations(void **state)
{
	struct doctor *doctor = healthy();

	(void)state;
	doctor->nvml.gpus[0].values[NVML_ecc_errors] = 4;
	assert_string_equal(only(doctor)->id, "GT703");
	assert_int_equal(doctor->findings[0].verdict, MACHINE_INFO);
	doctor_free(doctor);
	doctor = healthy();
	doctor->nvml.gpus[0].values[NVML_other_processes] = 2;
	assert_string_equal(only(doctor)->id, "GT704");
	doctor_free(doctor);
}

static void a_driver_too_old_for_a_toolkit_is_a_fault(void **state)
{
	struct doctor *doctor = healthy();

	(void)state;
	doctor->libraries = xcalloc(1, sizeof(*doctor->libraries));
	doctor->library_count = 1;
	strcpy(doctor->libraries[0].name, "libcudart");
	strcpy(doctor->libraries[0].version, "12.4.127");
	cuda_version_parse("470.82.01", &doctor->driver_version);
	assert_string_equal(only(doctor)->id, "GT702");
	assert_int_equal(doctor->findings[0].verdict, MACHINE_FAULT);
	doctor_free(doctor);
}

static void a_binary_without_code_for_the_gpu_is_a_fault(void **state)
{
	struct doctor *doctor = healthy();

	(void)state;
	doctor->binary_count = 1;
	doctor->binaries[0].path = "train";
	doctor->binaries[0].code.image_count = 1;
	doctor->binaries[0].code.images[0] =
		(struct fat_image){.kind = FAT_IMAGE_MACHINE_CODE, .cc = 90};
	assert_string_equal(only(doctor)->id, "GT702");
	assert_non_null(strstr(doctor->findings[0].fix, "code=sm_80"));
	doctor_free(doctor);
}

static void xid_lines_of_old_and_new_drivers_are_counted_and_explained(void **state)
{
	static const char text[] =
		"[ 1.0] NVRM: Xid (PCI:0000:3b:00): 79, pid=1896, GPU has fallen off the bus.\n"
		"[ 2.0] NVRM: Xid (0000:3b:00): 31, Ch 0000000b, engmask 00000101\n"
		"[ 3.0] NVRM: Xid (0000:3b:00): 31, Ch 0000000c\n"
		"[ 4.0] NVRM: Xid (PCI:0000:3b:00\n"
		"[ 5.0] NVRM: Xid (PCI:0000:3b:00): what\n"
		"[ 6.0] something else\n";
	struct doctor_options with = options;
	struct doctor *doctor = healthy();
	char path[] = "/tmp/gputrace-dmesg-XXXXXX";
	struct error err = {0};
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");

	(void)state;
	fputs(text, file);
	fclose(file);
	with.dmesg = path;
	doctor->options = &with;
	assert_int_equal(doctor_read_dmesg(doctor, &err), 0);
	remove(path);
	assert_int_equal(doctor->xid_count, 2);
	assert_int_equal(doctor->xids[1].times, 2);
	doctor_find_faults(doctor);
	assert_int_equal(doctor->finding_count, 2);
	assert_int_equal(doctor->findings[0].verdict, MACHINE_FAULT);
	assert_non_null(strstr(doctor->findings[0].what, "bus"));
	assert_int_equal(doctor->findings[1].verdict, MACHINE_INFO);
	doctor_free(doctor);
}

static void every_xid_has_a_meaning_and_an_action(void **state)
{
	static const unsigned int known[] = {13, 31, 43, 45, 48, 63, 64, 74, 79, 94, 95, 119};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_non_null(doctor_xid_meaning(known[i]));
		assert_non_null(doctor_xid_action(known[i]));
	}
	assert_null(doctor_xid_meaning(9999));
	assert_false(doctor_xid_is_fault(43));
	assert_true(doctor_xid_is_fault(79));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_healthy_gpu_has_no_findings),
		cmocka_unit_test(network_cards_on_other_sockets_are_told),
		cmocka_unit_test(one_near_network_card_is_no_finding),
		cmocka_unit_test(a_network_card_of_an_unknown_node_is_no_finding),
		cmocka_unit_test(lost_lanes_are_a_fault_even_when_idle),
		cmocka_unit_test(an_idle_link_of_generation_one_is_no_finding),
		cmocka_unit_test(a_low_generation_at_work_is_a_fault),
		cmocka_unit_test(heat_is_a_fault_and_a_power_cap_an_information),
		cmocka_unit_test(memory_errors_and_tenants_are_informations),
		cmocka_unit_test(a_driver_too_old_for_a_toolkit_is_a_fault),
		cmocka_unit_test(a_binary_without_code_for_the_gpu_is_a_fault),
		cmocka_unit_test(xid_lines_of_old_and_new_drivers_are_counted_and_explained),
		cmocka_unit_test(every_xid_has_a_meaning_and_an_action),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
