/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's place in the tree is the target of its link in bus/pci/devices: the host bridge, then
 * every bridge down to it. What two paths share says how far apart the two are.
 */
#include "pci_devices.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine_file.h"
#include "small_file.h"

#define PCI_DIR	      "sys/bus/pci/devices"
#define VENDOR_NVIDIA 0x10de
#define CLASS_DISPLAY 0x03 /* 0x0300 VGA, 0x0302 3D controller */

static bool read_hex(const char *root, const char *address, const char *file, uint64_t *value)
{
	char text[32];
	const char *at = text + 2;

	return machine_file_line(root, text, sizeof(text), PCI_DIR "/%s/%s", address, file) &&
	       strncmp(text, "0x", 2) == 0 && small_file_number(&at, 16, value);
}

/* "0000:3b:00.0" */
static bool parse_address(const char *text, struct pci_device *device)
{
	uint64_t parts[4];
	static const char behind[4] = {':', ':', '.', '\0'};

	for (int i = 0; i < 4; i++) {
		if (!small_file_number(&text, 16, &parts[i]) || *text != behind[i])
			return false;
		text += i < 3;
	}
	device->domain = (uint32_t)parts[0];
	device->bus = (uint16_t)parts[1];
	device->device = (uint16_t)parts[2];
	return parts[0] <= UINT32_MAX && parts[1] <= 255 && parts[2] <= 31;
}

static void read_place(const char *root, struct pci_device *device)
{
	char target[700], text[32];
	const char *at;
	uint64_t node;

	device->numa_node = -1;
	if (machine_file_line(root, text, sizeof(text), PCI_DIR "/%s/numa_node", device->address)) {
		at = text; /* "-1" is no number here, and means unknown */
		if (small_file_number(&at, 10, &node) && node <= INT32_MAX)
			device->numa_node = (int32_t)node;
	}
	machine_file_line(root, device->cpus, sizeof(device->cpus), PCI_DIR "/%s/local_cpulist",
			  device->address);
	if (machine_file_link(root, target, sizeof(target), PCI_DIR "/%s", device->address) <= 0)
		return;
	at = strstr(target, "/pci");
	if (at)
		snprintf(device->path, sizeof(device->path), "%.511s", at + 1);
}

static void add_device(const char *root, struct pci_devices *devices, const char *address,
		       enum pci_device_type type, const char *name)
{
	struct pci_device *device = &devices->items[devices->count];
	char text[2048];
	uint64_t id;

	if (devices->count == PCI_MAX_DEVICES || strlen(address) >= sizeof(device->address))
		return;
	memset(device, 0, sizeof(*device));
	if (!parse_address(address, device))
		return;
	memcpy(device->address, address, strlen(address) + 1);
	device->type = (uint8_t)type;
	if (read_hex(root, address, "device", &id))
		device->device_id = (uint16_t)id;
	read_place(root, device);
	pci_link_read(root, address, &device->link);
	if (name)
		snprintf(device->name, sizeof(device->name), "%.63s", name);
	else if (machine_file_read(root, text, sizeof(text),
				   "proc/driver/nvidia/gpus/%s/information", address) > 0)
		machine_field(text, "Model", device->name, sizeof(device->name));
	devices->count++;
}

static DIR *open_dir(const char *root, const char *path)
{
	char full[MACHINE_PATH_BYTES];
	int length = snprintf(full, sizeof(full), "%s/%s", root, path);

	return length > 0 && length < (int)sizeof(full) ? opendir(full) : NULL;
}

static void add_gpus(const char *root, struct pci_devices *devices)
{
	DIR *dir = open_dir(root, PCI_DIR);
	const struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		uint64_t vendor, class_code;

		if (read_hex(root, entry->d_name, "vendor", &vendor) && vendor == VENDOR_NVIDIA &&
		    read_hex(root, entry->d_name, "class", &class_code) &&
		    class_code >> 16 == CLASS_DISPLAY)
			add_device(root, devices, entry->d_name, PCI_DEVICE_GPU, NULL);
	}
	closedir(dir);
}

/* Cards that RDMA can use; what a plain network card does is not on a GPU's way. */
static void add_networks(const char *root, struct pci_devices *devices)
{
	DIR *dir = open_dir(root, "sys/class/infiniband");
	const struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		char target[700];
		const char *address;

		if (entry->d_name[0] == '.' || strlen(entry->d_name) > 63 ||
		    machine_file_link(root, target, sizeof(target),
				      "sys/class/infiniband/%s/device", entry->d_name) <= 0)
			continue;
		address = strrchr(target, '/');
		if (address)
			add_device(root, devices, address + 1, PCI_DEVICE_NET, entry->d_name);
	}
	closedir(dir);
}

static int compare(const void *left, const void *right)
{
	const struct pci_device *one = left, *two = right;

	if (one->type != two->type)
		return one->type < two->type ? -1 : 1;
	return strcmp(one->type == PCI_DEVICE_NET ? one->name : one->address,
		      two->type == PCI_DEVICE_NET ? two->name : two->address);
}

void pci_devices_read(const char *root, struct pci_devices *devices)
{
	devices->count = 0;
	add_gpus(root, devices);
	add_networks(root, devices);
	qsort(devices->items, devices->count, sizeof(devices->items[0]), compare);
}

int pci_devices_find(const struct pci_devices *devices, uint32_t domain, uint16_t bus,
		     uint16_t device)
{
	for (size_t i = 0; i < devices->count; i++) {
		const struct pci_device *item = &devices->items[i];

		if (item->type == PCI_DEVICE_GPU && item->domain == domain && item->bus == bus &&
		    item->device == device)
			return (int)i;
	}
	return -1;
}

static unsigned int count_bridges(const char *below)
{
	unsigned int count = 0;

	for (; *below; below++)
		count += *below == '/';
	return count;
}

enum pci_path pci_devices_path(const struct pci_device *one, const struct pci_device *two)
{
	size_t common = 0, components = 0;

	if (strcmp(one->address, two->address) == 0)
		return PCI_PATH_SELF;
	if (!one->path[0] || !two->path[0])
		return PCI_PATH_UNKNOWN;
	for (size_t i = 0; one->path[i] && one->path[i] == two->path[i]; i++) {
		if (one->path[i] == '/') {
			common = i + 1;
			components++;
		}
	}
	if (components > 1) {
		/* Below the bridge that both hang on; a switch has one more in front of each. */
		return count_bridges(one->path + common) <= 1 &&
				       count_bridges(two->path + common) <= 1
			       ? PCI_PATH_PIX
			       : PCI_PATH_PXB;
	}
	if (components == 1)
		return PCI_PATH_PHB;
	if (one->numa_node < 0 || two->numa_node < 0)
		return PCI_PATH_UNKNOWN;
	return one->numa_node == two->numa_node ? PCI_PATH_NODE : PCI_PATH_SYS;
}

const char *pci_path_name(enum pci_path path)
{
	static const char *const names[] = {"?", "X", "PIX", "PXB", "PHB", "NODE", "SYS"};

	return names[path];
}
