/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link can do what the slower of its two ends can do: the device's own maximum and that of the
 * port above it. The number of lanes does not change with the load, so that is told at once.
 */
#include "device_link.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "machine_file.h"
#include "pci_link.h"
#include "record.h"
#include "small_file.h"

static int32_t read_node(const char *root, const char *address)
{
	char text[32];
	const char *at = text;
	uint64_t node;

	if (!machine_file_line(root, text, sizeof(text), "sys/bus/pci/devices/%s/numa_node",
			       address) ||
	    !small_file_number(&at, 10, &node) || node > INT32_MAX)
		return -1; /* "-1" is no number here, and means unknown */
	return (int32_t)node;
}

bool device_link_update(struct record_device *device, const char *root, bool is_busy)
{
	struct record_device old;
	struct pci_link link;
	char address[32];

	memcpy(&old, device, offsetof(struct record_device, name));
	snprintf(address, sizeof(address), "%04x:%02x:%02x.0", (unsigned int)device->pci_domain,
		 (unsigned int)device->pci_bus, (unsigned int)device->pci_device);
	pci_link_read(root, address, &link);
	device->numa_node = read_node(root, address);
	if (link.able.gen)
		device->link_gen_max = link.able.gen;
	if (link.able.width)
		device->link_width_max = link.able.width;
	if (is_busy && link.now.gen > device->link_gen)
		device->link_gen = link.now.gen;
	if (link.now.width > device->link_width)
		device->link_width = link.now.width;
	return memcmp(&old, device, offsetof(struct record_device, name)) != 0;
}
