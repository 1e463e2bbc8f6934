/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of CPUs, NUMA nodes and the PCI tree, of files as a kernel writes them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cpu_list.h"
#include "machine_file.h"
#include "numa_nodes.h"
#include "pci_devices.h"

static char root[64];

static int make_root(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/gputrace-machine-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	return system(command);
}

static void make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

static void put(const char *name, const char *text)
{
	char path[700];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	make_folders(path);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void put_gpu(const char *path, const char *vendor, const char *class_code, const char *node)
{
	const char *address = strrchr(path, '/') + 1;
	char name[512], target[512];

	snprintf(name, sizeof(name), "sys/devices/%s/vendor", path);
	put(name, vendor);
	snprintf(name, sizeof(name), "sys/devices/%s/class", path);
	put(name, class_code);
	snprintf(name, sizeof(name), "sys/devices/%s/numa_node", path);
	put(name, node);
	snprintf(name, sizeof(name), "%s/sys/bus/pci/devices/%s", root, address);
	make_folders(name);
	snprintf(target, sizeof(target), "../../../devices/%s", path);
	assert_int_equal(symlink(target, name), 0);
}

static void lists_are_read_as_the_kernel_writes_them(void **state)
{
	(void)state;
	assert_int_equal(cpu_list_count("0-3,8"), 5);
	assert_int_equal(cpu_list_count("0"), 1);
	assert_int_equal(cpu_list_count(""), 0);
	assert_true(cpu_list_has("0-3,8", 8));
	assert_true(cpu_list_has("0-3,8", 2));
	assert_false(cpu_list_has("0-3,8", 4));
	assert_true(cpu_list_overlap("0-3,8", "4-9"));
	assert_false(cpu_list_overlap("0,2,4", "1,3,5"));
	assert_false(cpu_list_overlap("", "0"));
}

static void damaged_lists_end_and_never_run_away(void **state)
{
	(void)state;
	assert_int_equal(cpu_list_count("3-1"), 0);
	assert_int_equal(cpu_list_count("0-99999999999"), 0);
	assert_int_equal(cpu_list_count("0,x,5"), 1);
	assert_int_equal(cpu_list_count("-5"), 0);
	assert_int_equal(cpu_list_count("1-"), 0);
}

static void fields_are_found_at_the_start_of_lines_only(void **state)
{
	static const char text[] = "nr_throttled 7\nthrottled_usec 9\nName:\t two words\n";
	uint64_t number;
	char value[32];

	(void)state;
	assert_true(machine_field_number(text, "throttled_usec", &number));
	assert_int_equal(number, 9);
	assert_false(machine_field_number(text, "throttled", &number) && number == 7);
	assert_false(machine_field_number(text, "usec", &number));
	assert_true(machine_field(text, "Name", value, sizeof(value)));
	assert_string_equal(value, "two words");
	assert_true(machine_field(text, "Name", value, 4));
	assert_string_equal(value, "two");
}

static void nodes_have_gaps_in_their_numbers(void **state)
{
	struct numa_nodes nodes;

	(void)state;
	put("sys/devices/system/node/online", "0,2\n");
	put("sys/devices/system/node/node0/cpulist", "0-7\n");
	put("sys/devices/system/node/node0/distance", "10 32\n");
	put("sys/devices/system/node/node2/cpulist", "8-15\n");
	put("sys/devices/system/node/node2/distance", "32 10\n");
	put("sys/devices/system/node/node2/meminfo", "Node 2 MemTotal:       1024 kB\n");
	numa_nodes_read(root, &nodes);
	assert_int_equal(nodes.count, 2);
	assert_int_equal(numa_nodes_of_cpu(&nodes, 9), 2);
	assert_int_equal(numa_nodes_of_cpu(&nodes, 16), -1);
	assert_int_equal(numa_nodes_distance(&nodes, 0, 2), 32);
	assert_int_equal(numa_nodes_distance(&nodes, 2, 2), 10);
	assert_int_equal(numa_nodes_distance(&nodes, 0, 1), 0);
	assert_int_equal(nodes.nodes[1].memory_bytes, 1024 * 1024);
}

static enum pci_path path_of(const struct pci_devices *devices, const char *one, const char *two)
{
	const struct pci_device *found[2] = {NULL, NULL};

	for (size_t i = 0; i < devices->count; i++) {
		if (strcmp(devices->items[i].address, one) == 0)
			found[0] = &devices->items[i];
		if (strcmp(devices->items[i].address, two) == 0)
			found[1] = &devices->items[i];
	}
	assert_non_null(found[0]);
	assert_non_null(found[1]);
	assert_int_equal(pci_devices_path(found[0], found[1]),
			 pci_devices_path(found[1], found[0]));
	return pci_devices_path(found[0], found[1]);
}

static void paths_are_what_topo_calls_them(void **state)
{
	/* Two below one switch, one below a switch behind it, one at another root port, one at
	 * another host bridge of the node, one at the other node, one whose node nobody knows. */
	static const char *const places[][2] = {
		{"pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0", "0\n"},
		{"pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:19:00.0", "0\n"},
		{"pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:20:00.0/0000:21:00.0/"
		 "0000:22:00.0",
		 "0\n"},
		{"pci0000:15/0000:15:02.0/0000:30:00.0", "0\n"},
		{"pci0000:40/0000:40:01.0/0000:41:00.0", "0\n"},
		{"pci0000:97/0000:97:01.0/0000:98:00.0", "1\n"},
		{"pci0000:d7/0000:d7:01.0/0000:d8:00.0", "-1\n"},
	};
	struct pci_devices devices;

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		put_gpu(places[i][0], "0x10de\n", "0x030200\n", places[i][1]);
	put_gpu("pci0000:15/0000:15:03.0/0000:50:00.0", "0x10de\n", "0x040300\n",
		"0\n"); /* sound */
	put_gpu("pci0000:15/0000:15:04.0/0000:51:00.0", "0x1002\n", "0x030000\n", "0\n"); /* AMD */
	pci_devices_read(root, &devices);
	assert_int_equal(devices.count, 7);
	assert_int_equal(path_of(&devices, "0000:18:00.0", "0000:18:00.0"), PCI_PATH_SELF);
	assert_int_equal(path_of(&devices, "0000:18:00.0", "0000:19:00.0"), PCI_PATH_PIX);
	assert_int_equal(path_of(&devices, "0000:18:00.0", "0000:22:00.0"), PCI_PATH_PXB);
	assert_int_equal(path_of(&devices, "0000:18:00.0", "0000:30:00.0"), PCI_PATH_PHB);
	assert_int_equal(path_of(&devices, "0000:18:00.0", "0000:41:00.0"), PCI_PATH_NODE);
	assert_int_equal(path_of(&devices, "0000:18:00.0", "0000:98:00.0"), PCI_PATH_SYS);
	assert_int_equal(path_of(&devices, "0000:18:00.0", "0000:d8:00.0"), PCI_PATH_UNKNOWN);
	assert_int_equal(pci_devices_find(&devices, 0, 0x98, 0), 5);
	assert_int_equal(pci_devices_find(&devices, 0, 0x99, 0), -1);
}

static void a_machine_without_files_has_nothing(void **state)
{
	static struct pci_devices devices;
	static struct numa_nodes nodes;

	(void)state;
	numa_nodes_read("/nonexistent", &nodes);
	pci_devices_read("/nonexistent", &devices);
	assert_int_equal(nodes.count, 0);
	assert_int_equal(devices.count, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_read_as_the_kernel_writes_them),
		cmocka_unit_test(damaged_lists_end_and_never_run_away),
		cmocka_unit_test(fields_are_found_at_the_start_of_lines_only),
		cmocka_unit_test_setup_teardown(nodes_have_gaps_in_their_numbers, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(paths_are_what_topo_calls_them, make_root,
						remove_root),
		cmocka_unit_test(a_machine_without_files_has_nothing),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
