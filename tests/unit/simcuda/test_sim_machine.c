/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver on a described machine: which devices it shows and who reaches whom; and the files
 * that the machine has.
 */
#include "sim_machine_folder.h"

#include <strings.h>

#include "sim_machine.h"

/* ---- which devices ---- */

static void expect_bus(int ordinal, const char *expected)
{
	char bus[32];

	OK(cuDeviceGetPCIBusId(bus, sizeof(bus), ordinal));
	CHECK(strcasecmp(bus, expected) == 0);
}

static void see_four(void)
{
	int count, node;
	size_t bytes;
	char name[64];

	OK(cuInit(0));
	OK(cuDeviceGetCount(&count));
	CHECK(count == 4);
	expect_bus(0, "0000:18:00.0");
	expect_bus(3, "0000:a8:00.0");
	OK(cuDeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 1));
	CHECK(node == 0);
	OK(cuDeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 2));
	CHECK(node == 1);
	OK(cuDeviceTotalMem(&bytes, 0));
	CHECK(bytes == (size_t)80 << 30);
	OK(cuDeviceGetName(name, sizeof(name), 0));
	CHECK(strstr(name, "H100") != NULL);
}

static void see_the_one_of_the_tree(void)
{
	char text[256], *end, address[32];
	unsigned char *u;
	CUuuid uuid;
	int count;

	OK(cuInit(0));
	OK(cuDeviceGetCount(&count));
	CHECK(count == 2);
	expect_bus(0, "0000:98:00.0");
	expect_bus(1, "0000:18:00.0");
	/* The information file of the same address has the same UUID. */
	OK(cuDeviceGetUuid(&uuid, 0));
	u = (unsigned char *)uuid.bytes;
	snprintf(address, sizeof(address), "GPU-%02x%02x%02x%02x-", u[0], u[1], u[2], u[3]);
	{
		char path[256];
		FILE *file;
		int found = 0;

		snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/0000:98:00.0/information",
			 folder);
		file = fopen(path, "re");
		CHECK(file != NULL);
		while (fgets(text, sizeof(text), file)) {
			end = strstr(text, address);
			found += end != NULL;
		}
		fclose(file);
		CHECK(found == 1);
	}
}

static void devices_are_those_of_the_description(void **state)
{
	(void)state;
	make_machine("two-sockets");
	run_scenario(see_four, "SIMCUDA_MACHINE", folder, NULL);
	run_scenario(see_the_one_of_the_tree, "SIMCUDA_MACHINE", folder, "CUDA_VISIBLE_DEVICES",
		     "2,0", NULL);
	remove_machine();
}

static void see_uuid(void)
{
	int count;

	OK(cuInit(0));
	OK(cuDeviceGetCount(&count));
	CHECK(count == 1);
	expect_bus(0, "0000:a8:00.0");
}

static void visible_devices_may_be_uuids(void **state)
{
	struct sim_machine machine;
	char path[256], error[256], uuid[48];

	(void)state;
	make_machine("two-sockets");
	snprintf(path, sizeof(path), "%s/machine.tsv", folder);
	assert_true(sim_machine_read(&machine, path, error, sizeof(error)));
	sim_machine_format_uuid(uuid, sizeof(uuid), machine.gpus[3].uuid);
	run_scenario(see_uuid, "SIMCUDA_MACHINE", folder, "CUDA_VISIBLE_DEVICES", uuid, NULL);
	uuid[12] = '\0'; /* a beginning is enough */
	run_scenario(see_uuid, "SIMCUDA_MACHINE", folder, "CUDA_VISIBLE_DEVICES", uuid, NULL);
	remove_machine();
}

static void see_fast_first(void)
{
	OK(cuInit(0));
	expect_bus(0, "0000:02:00.0");
	expect_bus(1, "0000:01:00.0");
}

static void see_by_bus(void)
{
	OK(cuInit(0));
	expect_bus(0, "0000:01:00.0");
	expect_bus(1, "0000:02:00.0");
}

static const char unequal[] = "machine\tunequal\n"
			      "node\t0\tcpus=0-3\tdistances=10\n"
			      "port\t0000:00:01.0\tnode=0\tgen=4\n"
			      "port\t0000:00:02.0\tnode=0\tgen=4\n"
			      "gpu\t0000:01:00.0\tunder=0000:00:01.0\tmodel=rtx3060\n"
			      "gpu\t0000:02:00.0\tunder=0000:00:02.0\tmodel=rtx4090\n";

static void the_fastest_device_comes_first_unless_the_bus_decides(void **state)
{
	(void)state;
	write_machine(unequal);
	run_scenario(see_fast_first, "SIMCUDA_MACHINE", folder, NULL);
	run_scenario(see_by_bus, "SIMCUDA_MACHINE", folder, "CUDA_DEVICE_ORDER", "PCI_BUS_ID",
		     NULL);
	remove_machine();
}

static void a_bad_description_is_refused_with_its_line(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"machine\tm\npeer\t0\n", ":2: unknown kind of row: peer"},
		{"node\t0\tcpus=0\tdistances=10\ngpu\t0000:01:00.0\tmodel=rtx4090\n",
		 ":2: under must name"},
		{"node\t0\tcpus=0\tdistances=10\nport\t0:1\tgen=4\n", "not a PCI address"},
		{"node\t0\tcpus=0\tdistances=10\nport\t0000:00:01.0\tgen=9\n", "gen must be"},
		{"node\t1\tcpus=0\tdistances=10\n", "numbered from 0"},
		{"machine\tm\tpeers=some\n", "peers is none of"},
		{"# nothing\n", "at least one node"},
	};
	struct sim_machine machine;
	char path[128], error[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_machine(cases[i].text);
		snprintf(path, sizeof(path), "%s/machine.tsv", folder);
		assert_false(sim_machine_read(&machine, path, error, sizeof(error)));
		if (!strstr(error, cases[i].expected))
			fail_msg("\"%s\" does not say \"%s\"", error, cases[i].expected);
		remove_machine();
	}
}

/* ---- the tree ---- */

static void the_tree_is_laid_out_as_a_kernel_does(void **state)
{
	char path[512], target[512], text[64];
	ssize_t length;

	(void)state;
	make_machine("two-sockets");
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/0000:18:00.0", folder);
	length = readlink(path, target, sizeof(target) - 1);
	assert_true(length > 0);
	target[length] = '\0';
	assert_string_equal(target, "../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/"
				    "0000:17:00.0/0000:18:00.0");
	read_of_device("0000:18:00.0", "current_link_speed", text, sizeof(text));
	assert_string_equal(text, "2.5 GT/s PCIe");
	read_of_device("0000:18:00.0", "max_link_speed", text, sizeof(text));
	assert_string_equal(text, "32.0 GT/s PCIe");
	read_of_device("0000:18:00.0/..", "max_link_width", text, sizeof(text));
	assert_string_equal(text, "16");
	read_of_device("0000:98:00.0", "numa_node", text, sizeof(text));
	assert_string_equal(text, "1");
	read_of_device("0000:98:00.0", "local_cpulist", text, sizeof(text));
	assert_string_equal(text, "1,3,5,7,9,11,13,15");
	read_file("sys/devices/system/node/node1/distance", text, sizeof(text));
	assert_string_equal(text, "21 10");
	read_file("sys/devices/system/node/online", text, sizeof(text));
	assert_string_equal(text, "0-1");
	read_file("sys/devices/system/cpu/online", text, sizeof(text));
	assert_string_equal(text, "0-15");
	read_file("sys/bus/pci/devices/0000:18:00.0/driver/0000:18:00.0/class", text, sizeof(text));
	assert_string_equal(text, "0x030200");
	remove_machine();
}

/* ---- peers ---- */

static int peer_access(int first, int second)
{
	int can = -1, value = -1;

	OK(cuDeviceCanAccessPeer(&can, first, second));
	OK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, first,
				   second));
	CHECK(can == value);
	return can;
}

static void no_peers(void)
{
	CUcontext first = open_device(0), second = open_device(1);

	CHECK(peer_access(0, 1) == 0);
	OK(cuCtxSetCurrent(first));
	CHECK_RESULT(cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}

static void all_by_nvlink(void)
{
	int value = -1;

	OK(cuInit(0));
	CHECK(peer_access(0, 7) == 1);
	OK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 2, 5));
	CHECK(value == 1);
	CHECK_RESULT(
		cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 2, 2),
		CUDA_ERROR_INVALID_VALUE);
}

static void peers_follow_the_description(void **state)
{
	(void)state;
	make_machine("acs");
	run_scenario(no_peers, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
	make_machine("nvlink8");
	run_scenario(all_by_nvlink, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
}

/* ---- memory of others ---- */

static void less_is_free(void)
{
	size_t free_bytes, total;

	open_device(0);
	OK(cuMemGetInfo(&free_bytes, &total));
	CHECK(total - free_bytes == (size_t)5 << 30);
	CHECK_RESULT(cuMemAlloc(&(CUdeviceptr){0}, (size_t)4 << 30), CUDA_ERROR_OUT_OF_MEMORY);
}

static void memory_that_others_hold_is_missing(void **state)
{
	char path[128];
	FILE *file;

	(void)state;
	make_machine("laptop"); /* 8 GiB */
	snprintf(path, sizeof(path), "%s/held", folder);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs("0\t5120\n", file);
	fclose(file);
	run_scenario(less_is_free, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_are_those_of_the_description),
		cmocka_unit_test(visible_devices_may_be_uuids),
		cmocka_unit_test(the_fastest_device_comes_first_unless_the_bus_decides),
		cmocka_unit_test(a_bad_description_is_refused_with_its_line),
		cmocka_unit_test(the_tree_is_laid_out_as_a_kernel_does),
		cmocka_unit_test(peers_follow_the_description),
		cmocka_unit_test(memory_that_others_hold_is_missing),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
