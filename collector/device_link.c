/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link can do what the slower of its two ends can do: the device's own maximum and that of the
 * port above it, whose directory is the parent in sysfs.
 */
#include "device_link.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "record.h"
#include "small_file.h"

struct link_end {
	uint16_t gen, width;
};

/* "16.0 GT/s PCIe" */
static uint16_t speed_to_gen(const char *text)
{
	static const struct {
		const char *speed;
		uint16_t gen;
	} speeds[] = {{"2.5 ", 1}, {"5.0 ", 2},	 {"5 ", 2},  {"8.0 ", 3},  {"8 ", 3}, {"16.0 ", 4},
		      {"16 ", 4},  {"32.0 ", 5}, {"32 ", 5}, {"64.0 ", 6}, {"64 ", 6}};

	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		if (strncmp(text, speeds[i].speed, strlen(speeds[i].speed)) == 0)
			return speeds[i].gen;
	}
	return 0;
}

static struct link_end read_end(const char *dir, const char *which)
{
	struct link_end end = {0};
	char path[512], text[64];
	const char *at = text;
	uint64_t width;

	snprintf(path, sizeof(path), "%s/%s_link_speed", dir, which);
	if (small_file_line(path, text, sizeof(text)))
		end.gen = speed_to_gen(text);
	snprintf(path, sizeof(path), "%s/%s_link_width", dir, which);
	/* A function without a link says 255. */
	if (small_file_line(path, text, sizeof(text)) && small_file_number(&at, 10, &width) &&
	    width <= 32)
		end.width = (uint16_t)width;
	return end;
}

static uint16_t smaller_known(uint16_t one, uint16_t two)
{
	if (one == 0 || two == 0)
		return one ? one : two;
	return one < two ? one : two;
}

static int32_t read_node(const char *dir)
{
	char path[512], text[32];
	const char *at = text;
	uint64_t node;

	snprintf(path, sizeof(path), "%s/numa_node", dir);
	if (!small_file_line(path, text, sizeof(text)) || !small_file_number(&at, 10, &node) ||
	    node > INT32_MAX)
		return -1; /* "-1" is no number here, and means unknown */
	return (int32_t)node;
}

bool device_link_update(struct record_device *device, const char *sysfs_dir)
{
	struct link_end now, most, port;
	char dir[384], above[400];
	struct record_device old;

	memcpy(&old, device, offsetof(struct record_device, name));
	snprintf(dir, sizeof(dir), "%.256s/bus/pci/devices/%04x:%02x:%02x.0", sysfs_dir,
		 (unsigned int)device->pci_domain, (unsigned int)device->pci_bus,
		 (unsigned int)device->pci_device);
	snprintf(above, sizeof(above), "%s/..", dir);
	now = read_end(dir, "current");
	most = read_end(dir, "max");
	if (now.gen == 0 && most.gen == 0)
		return false;
	port = read_end(above, "max");
	device->numa_node = read_node(dir);
	device->link_gen_max = smaller_known(most.gen, port.gen);
	device->link_width_max = smaller_known(most.width, port.width);
	if (now.gen > device->link_gen)
		device->link_gen = now.gen;
	if (now.width > device->link_width)
		device->link_width = now.width;
	return memcmp(&old, device, offsetof(struct record_device, name)) != 0;
}
