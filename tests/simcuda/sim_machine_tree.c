/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_machine FILE DIR: writes the files that a machine as described would have under /sys and
 * /proc, as far as somebody looks at them, into DIR/sys and DIR/proc, and the description itself
 * into DIR/machine.tsv. SIMCUDA_MACHINE=DIR then makes the simulated driver this machine's, and
 * GPUTRACE_ROOT=DIR lets the collector read its files. Names, places and texts are a kernel's.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim_gpu_table.h"
#include "sim_machine.h"

static struct sim_machine machine;
static const char *root;

static void stop(const char *what, const char *path)
{
	fprintf(stderr, "sim_machine: cannot %s %s: %s\n", what, path, strerror(errno));
	exit(1);
}

/* Makes the folders above the last part of `path`. */
static void make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0777) && errno != EEXIST)
			stop("make", path);
		*slash = '/';
	}
}

static void write_file(const char *name, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void write_file(const char *name, const char *format, ...)
{
	char path[PATH_MAX];
	va_list list;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	make_folders(path);
	file = fopen(path, "we");
	if (!file)
		stop("write", path);
	va_start(list, format);
	vfprintf(file, format, list);
	va_end(list);
	if (fclose(file))
		stop("write", path);
}

static void link_file(const char *name, const char *target)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	make_folders(path);
	if (unlink(path) && errno != ENOENT)
		stop("replace", path);
	if (symlink(target, path))
		stop("link", path);
}

/* sys/devices/pci0000:00/0000:00:01.0/... of a port, or of the host bridge above all of them. */
static void port_folder(char *folder, size_t size, int port)
{
	char name[16];
	size_t used;

	if (machine.ports[port].parent == SIM_MACHINE_NONE)
		snprintf(folder, size, "sys/devices/pci%04x:%02x",
			 machine.ports[port].address.domain, machine.ports[port].address.bus);
	else
		port_folder(folder, size, machine.ports[port].parent);
	sim_machine_format_address(name, sizeof(name), &machine.ports[port].address);
	used = strlen(folder);
	snprintf(folder + used, size - used, "/%s", name);
}

static const char *speed_text(int generation)
{
	static const char *const speeds[] = {"Unknown",	      "2.5 GT/s PCIe",	"5.0 GT/s PCIe",
					     "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe",
					     "64.0 GT/s PCIe"};

	return speeds[generation];
}

struct function {
	const char *folder, *driver;
	unsigned vendor, device, class;
	int node, generation, width, generation_now, width_now;
};

static void put(const struct function *function, const char *file, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void put(const struct function *function, const char *file, const char *format, ...)
{
	char name[PATH_MAX], text[512];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	snprintf(name, sizeof(name), "%s/%s", function->folder, file);
	write_file(name, "%s\n", text);
}

/* How many folders down from `sys` the function's is, as "../../..". */
static void way_up(char *up, size_t size, const char *folder)
{
	size_t used = 0;

	up[0] = '\0';
	for (const char *c = strchr(folder, '/'); c && used + 4 < size; c = strchr(c + 1, '/'))
		used += (size_t)snprintf(up + used, size - used, "%s..", used ? "/" : "");
}

static void write_function(const struct function *function)
{
	const char *address = strrchr(function->folder, '/') + 1;
	char name[PATH_MAX], target[PATH_MAX], up[128];

	put(function, "vendor", "0x%04x", function->vendor);
	put(function, "device", "0x%04x", function->device);
	put(function, "subsystem_vendor", "0x%04x", function->vendor);
	put(function, "class", "0x%06x", function->class);
	put(function, "revision", "0xa1");
	put(function, "enable", "1");
	put(function, "numa_node", "%d", function->node);
	put(function, "local_cpulist", "%s", machine.nodes[function->node].cpus);
	put(function, "current_link_speed", "%s", speed_text(function->generation_now));
	put(function, "current_link_width", "%d", function->width_now);
	put(function, "max_link_speed", "%s", speed_text(function->generation));
	put(function, "max_link_width", "%d", function->width);
	put(function, "uevent", "DRIVER=%s\nPCI_CLASS=%X\nPCI_ID=%04X:%04X\nPCI_SLOT_NAME=%s",
	    function->driver, function->class, function->vendor, function->device, address);
	way_up(up, sizeof(up), function->folder);
	snprintf(name, sizeof(name), "%s/subsystem", function->folder);
	snprintf(target, sizeof(target), "%s/bus/pci", up);
	link_file(name, target);
	snprintf(name, sizeof(name), "sys/bus/pci/drivers/%s/%s", function->driver, address);
	snprintf(target, sizeof(target), "../../../../%s", function->folder + strlen("sys/"));
	link_file(name, target);
	snprintf(name, sizeof(name), "%s/driver", function->folder);
	snprintf(target, sizeof(target), "%s/bus/pci/drivers/%s", up, function->driver);
	link_file(name, target);
	snprintf(name, sizeof(name), "sys/bus/pci/devices/%s", address);
	snprintf(target, sizeof(target), "../../../%s", function->folder + strlen("sys/"));
	link_file(name, target);
}

/* The link above a GPU, which its device file and that of its port both describe. */
static void link_of_port(int port, int *generation, int *width)
{
	*generation = machine.ports[port].generation;
	*width = machine.ports[port].width;
	for (int i = 0; i < machine.gpu_count; i++) {
		if (machine.gpus[i].port == port)
			sim_machine_link(&machine, i, false, generation, width);
	}
}

static void write_ports(void)
{
	for (int i = 0; i < machine.port_count; i++) {
		const struct sim_machine_port *port = &machine.ports[i];
		bool is_root = port->parent == SIM_MACHINE_NONE;
		char folder[512];
		struct function function = {
			.folder = folder,
			.driver = "pcieport",
			/* Intel's root ports, Broadcom's switches. */
			.vendor = is_root ? 0x8086 : 0x1000,
			.device = is_root ? 0x352a : 0xc030,
			.class = 0x060400,
			.node = port->node,
			.generation = port->generation,
			.width = port->width,
		};

		port_folder(folder, sizeof(folder), i);
		link_of_port(i, &function.generation_now, &function.width_now);
		write_function(&function);
	}
}

static void write_information(const struct sim_machine_gpu *gpu, int index, const char *device_name)
{
	char name[128], address[16], uuid[48];
	bool is_prefixed = strncmp(device_name, "NVIDIA ", 7) == 0;

	sim_machine_format_address(address, sizeof(address), &gpu->address);
	sim_machine_format_uuid(uuid, sizeof(uuid), gpu->uuid);
	snprintf(name, sizeof(name), "proc/driver/nvidia/gpus/%s/information", address);
	write_file(
		name,
		"Model: \t\t %s%s\nIRQ:   \t\t %d\nGPU UUID: \t %s\nVideo BIOS: \t 00.00.00.00.00\n"
		"Bus Type: \t PCIe\nDMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\n"
		"Bus Location: \t %s\nDevice Minor: \t %d\nGPU Firmware: \t %s\n"
		"GPU Excluded:\t No\n",
		is_prefixed ? "" : "NVIDIA ", device_name, 100 + index, uuid, address, index,
		machine.driver);
}

static void write_gpus(void)
{
	for (int i = 0; i < machine.gpu_count; i++) {
		const struct sim_machine_gpu *gpu = &machine.gpus[i];
		char folder[512], address[16];
		size_t used;
		struct function function = {
			.folder = folder,
			.driver = "nvidia",
			.vendor = 0x10de,
			.device = gpu->pci_device_id,
			.class = gpu->is_headless ? 0x030200 : 0x030000,
			.node = gpu->node,
			.generation = gpu->generation,
			.width = gpu->width,
		};

		port_folder(folder, sizeof(folder), gpu->port);
		sim_machine_format_address(address, sizeof(address), &gpu->address);
		used = strlen(folder);
		snprintf(folder + used, sizeof(folder) - used, "/%s", address);
		sim_machine_link(&machine, i, false, &function.generation_now, &function.width_now);
		write_function(&function);
		write_information(gpu, i, sim_gpu_table_find(gpu->model)->device_name);
	}
}

/* The numbers of a list of CPUs, one call each. */
static void for_each_cpu(const char *list, void (*visit)(int cpu, int node), int node)
{
	while (*list) {
		char *end;
		long first = strtol(list, &end, 10), last = first;

		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (long cpu = first; cpu <= last; cpu++)
			visit((int)cpu, node);
		if (*end != ',')
			break;
		list = end + 1;
	}
}

static bool has_cpu[4096];

static void write_cpu(int cpu, int node)
{
	char name[128], target[64];

	if (cpu < 0 || cpu >= (int)(sizeof(has_cpu) / sizeof(has_cpu[0])))
		return;
	has_cpu[cpu] = true;
	snprintf(name, sizeof(name), "sys/devices/system/cpu/cpu%d/topology/physical_package_id",
		 cpu);
	write_file(name, "%d\n", node);
	snprintf(name, sizeof(name), "sys/devices/system/cpu/cpu%d/node%d", cpu, node);
	snprintf(target, sizeof(target), "../../node/node%d", node);
	link_file(name, target);
	snprintf(name, sizeof(name), "sys/devices/system/node/node%d/cpu%d", node, cpu);
	snprintf(target, sizeof(target), "../../cpu/cpu%d", cpu);
	link_file(name, target);
}

static void write_online(void)
{
	const int most = (int)(sizeof(has_cpu) / sizeof(has_cpu[0]));
	char list[4096];
	size_t used = 0;

	for (int cpu = 0; cpu < most; cpu++) {
		int last = cpu;

		if (!has_cpu[cpu])
			continue;
		while (last + 1 < most && has_cpu[last + 1])
			last++;
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%d", used ? "," : "",
					 cpu);
		if (last > cpu)
			used += (size_t)snprintf(list + used, sizeof(list) - used, "-%d", last);
		if (used >= sizeof(list))
			break;
		cpu = last;
	}
	write_file("sys/devices/system/cpu/online", "%s\n", list);
	write_file("sys/devices/system/cpu/possible", "%s\n", list);
	write_file("sys/devices/system/cpu/present", "%s\n", list);
}

static void write_nodes(void)
{
	char name[128], text[256];

	for (int i = 0; i < machine.node_count; i++) {
		const struct sim_machine_node *node = &machine.nodes[i];
		unsigned long kib = (unsigned long)node->memory_gib << 20;
		size_t used = 0;

		for_each_cpu(node->cpus, write_cpu, i);
		snprintf(name, sizeof(name), "sys/devices/system/node/node%d/cpulist", i);
		write_file(name, "%s\n", node->cpus);
		for (int other = 0; other < machine.node_count; other++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u",
						 other ? " " : "", node->distances[other]);
		snprintf(name, sizeof(name), "sys/devices/system/node/node%d/distance", i);
		write_file(name, "%s\n", text);
		snprintf(name, sizeof(name), "sys/devices/system/node/node%d/meminfo", i);
		write_file(name,
			   "Node %d MemTotal:       %lu kB\nNode %d MemFree:        %lu kB\n"
			   "Node %d MemUsed:        %lu kB\n",
			   i, kib, i, kib / 2, i, kib - kib / 2);
	}
	if (machine.node_count > 1)
		snprintf(text, sizeof(text), "0-%d", machine.node_count - 1);
	else
		snprintf(text, sizeof(text), "0");
	write_file("sys/devices/system/node/online", "%s\n", text);
	write_file("sys/devices/system/node/possible", "%s\n", text);
	write_file("sys/devices/system/node/has_cpu", "%s\n", text);
	write_file("sys/devices/system/node/has_memory", "%s\n", text);
	write_online();
}

static void write_driver(void)
{
	write_file("sys/module/nvidia/version", "%s\n", machine.driver);
	write_file("proc/driver/nvidia/version",
		   "NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  (simulated by gputrace)\n"
		   "GCC version:  simulated\n",
		   machine.driver);
}

static void copy_description(const char *from)
{
	char path[PATH_MAX], block[4096];
	FILE *in = fopen(from, "re"), *out;
	size_t bytes;

	snprintf(path, sizeof(path), "%s/machine.tsv", root);
	out = fopen(path, "we");
	if (!in || !out)
		stop("copy", in ? path : from);
	while ((bytes = fread(block, 1, sizeof(block), in)) > 0)
		fwrite(block, 1, bytes, out);
	fclose(in);
	if (fclose(out))
		stop("write", path);
}

int main(int argc, char **argv)
{
	char error[512];

	if (argc != 3) {
		fprintf(stderr, "usage: sim_machine DESCRIPTION DIRECTORY\n");
		return 2;
	}
	if (!sim_machine_read(&machine, argv[1], error, sizeof(error))) {
		fprintf(stderr, "sim_machine: %s\n", error);
		return 2;
	}
	root = argv[2];
	write_driver();
	write_nodes();
	write_ports();
	write_gpus();
	copy_description(argv[1]);
	return 0;
}
